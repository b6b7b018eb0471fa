#if Valkey
  public import Foundation
  import NIOCore
  import NIOPosix
  import NIOSSL
  public import ReactorFleet
  import Synchronization

  /// The commands that a ``ValkeyStore`` needs of a client.
  public protocol ValkeyCommands: Sendable {
    /// Sends a command, and returns its reply, which may be an error of the server.
    ///
    /// Cancelling the task must not close a connection that others use, so a command that was sent
    /// is carried out.
    ///
    /// - Parameters:
    ///   - arguments: The command and its arguments.
    ///   - key: The key that it concerns, which decides on a node of a cluster; `nil` for none.
    /// - Throws: `FleetError.unavailable(_:)`, `FleetError.misconfigured(_:)`.
    func send(_ arguments: [Data], key: Data?) async throws(FleetError) -> ValkeyReply

    /// Subscribes to channels on a separate connection, and passes on their messages, until the
    /// connection is lost or the task is cancelled.
    ///
    /// - Parameters:
    ///   - channels: The channels.
    ///   - body: Receives `nil` once all are subscribed, and then each message.
    func subscribe(
      to channels: [Data], _ body: @escaping @Sendable ((channel: Data, message: Data)?) -> Void
    ) async throws(FleetError)

    /// The greatest size of a reply in bytes. Default: no limit.
    var replyLimit: Int { get }
  }

  extension ValkeyCommands {
    /// The default limit: `Int.max`.
    public var replyLimit: Int { .max }
  }

  /// A client of one server: a connection for commands that many send at once, and one for
  /// messages.
  ///
  /// ```swift
  /// let connection = ValkeyConnection(try ValkeyAddress("redis://cache.internal"))
  /// let reply = try await connection.send([Data("PING".utf8)])
  /// ```
  ///
  /// Commands are written as they come, and answered in that order. Without a connection they fail
  /// at once. The first command after 50 to 500 milliseconds connects again. If a reply is overdue
  /// by a second, the connection is closed, and all commands that wait fail.
  public final class ValkeyConnection: ValkeyCommands {
    private let address: ValkeyAddress
    private let group: any EventLoopGroup
    /// The greatest size of a reply in bytes.
    public let replyLimit: Int
    private let state = Mutex(State.idle(failures: 0, until: .now, error: nil))

    private enum State {
      case idle(failures: Int, until: ContinuousClock.Instant, error: FleetError?)
      case connecting(EventLoopFuture<any Channel>, failures: Int)
      case connected(any Channel)
      case closed
    }

    /// Creates a client. It connects when the first command is sent.
    ///
    /// - Parameters:
    ///   - address: The server.
    ///   - replyLimit: The greatest size of a reply in bytes. Default: 16 MiB.
    public init(_ address: ValkeyAddress, replyLimit: Int = 16 << 20) {
      self.address = address
      self.replyLimit = replyLimit
      group = MultiThreadedEventLoopGroup.singleton
    }

    deinit {
      if case .connected(let channel) = state.withLock(\.self) { channel.close(promise: nil) }
    }

    /// Ends the connection. Waiting commands fail, and nothing more is sent.
    ///
    /// ```swift
    /// await connection.close()
    /// ```
    public func close() async {
      let old = state.withLock { state in
        defer { state = .closed }
        return state
      }
      switch old {
      case .connected(let channel): try? await channel.close()
      case .connecting(let future, _): try? await future.get().close()
      case .idle, .closed: break
      }
    }

    /// Sends a command, and connects first if there is no connection.
    ///
    /// ```swift
    /// let reply = try await connection.send([Data("GET".utf8), Data("greeting".utf8)])
    /// print(reply.text ?? "none")
    /// ```
    ///
    /// - Parameters:
    ///   - arguments: The command and its arguments.
    ///   - key: Not used: there is one server.
    /// - Throws: `FleetError.unavailable(_:)` without a connection, or if the reply is overdue;
    ///   `FleetError.misconfigured(_:)` if credentials or a certificate are refused.
    public func send(_ arguments: [Data], key: Data? = nil) async throws(FleetError) -> ValkeyReply {
      let channel = try await channel()
      let reply = channel.eventLoop.makePromise(of: ValkeyReply.self)
      let command = RESPCommand(bytes: RESPCommand.encode(arguments), reply: reply)
      channel.writeAndFlush(command).cascadeFailure(to: reply)
      do {
        let reply = try await reply.futureResult.get()
        if case .error(let text) = reply, text.hasPrefix("READONLY") { leave(channel, FleetError(server: text)) }
        return reply
      } catch { throw Self.fleetError(error) }
    }

    /// Closes the connection to a server that is not a primary, since its name may now lead to
    /// another server.
    private func leave(_ channel: any Channel, _ error: FleetError) {
      state.withLock { state in
        guard case .connected(let present) = state, present === channel else { return }
        state = .idle(failures: 1, until: .now + .milliseconds(500), error: error)
      }
      channel.close(promise: nil)
    }

    /// Subscribes to channels on a separate connection; see
    /// ``ValkeyCommands/subscribe(to:_:)``.
    public func subscribe(
      to channels: [Data], _ body: @escaping @Sendable ((channel: Data, message: Data)?) -> Void
    ) async throws(FleetError) {
      let channel: any Channel
      do {
        channel = try await connect { reply in
          guard case .push(let parts) = reply.asMessage, parts.count == 3, parts[0].text == "message",
            let name = parts[1].bytes, let message = parts[2].bytes
          else { return }
          body((name, message))
        }.get()
      } catch { throw Self.fleetError(error) }
      let isSubscribed = channel.eventLoop.makePromise(of: ValkeyReply.self)
      let bytes = RESPCommand.encode([Data("SUBSCRIBE".utf8)] + channels)
      let command = RESPCommand(bytes: bytes, reply: isSubscribed, replies: channels.count, isSubscription: true)
      let error: FleetError = await withTaskCancellationHandler {
        channel.writeAndFlush(command).cascadeFailure(to: isSubscribed)
        defer { channel.close(promise: nil) }
        do {
          if case .error(let text) = try await isSubscribed.futureResult.get() { return FleetError(server: text) }
          body(nil)
          try await channel.closeFuture.get()
          return .unavailable("the connection for messages was closed")
        } catch { return Self.fleetError(error) }
      } onCancel: {
        channel.close(promise: nil)
      }
      guard !Task.isCancelled else { return }
      throw error
    }

    /// Returns the connection, after it is made.
    private func channel() async throws(FleetError) -> any Channel {
      enum Step { case use(any Channel), wait(EventLoopFuture<any Channel>), fail(FleetError) }
      let step = state.withLock { state -> Step in
        switch state {
        case .connected(let channel) where channel.isActive: return .use(channel)
        case .connecting(let future, _): return .wait(future)
        case .closed: return .fail(.unavailable("the client is closed"))
        case .idle(_, let until, let error?) where until > .now: return .fail(error)
        case .connected, .idle:
          let failures = if case .idle(let failures, _, _) = state { failures } else { 0 }
          let promise = group.next().makePromise(of: (any Channel).self)
          state = .connecting(promise.futureResult, failures: failures)
          connect(messages: nil).cascade(to: promise)
          promise.futureResult.whenComplete { [weak self] in self?.connected($0) }
          return .wait(promise.futureResult)
        }
      }
      switch step {
      case .use(let channel): return channel
      case .fail(let error): throw error
      case .wait(let future): do { return try await future.get() } catch { throw Self.fleetError(error) }
      }
    }

    private func connected(_ result: Result<any Channel, any Error>) {
      let unwanted = state.withLock { state -> (any Channel)? in
        guard case .connecting(_, let failures) = state else { return try? result.get() }
        switch result {
        case .success(let channel): state = .connected(channel)
        case .failure(let error):
          let wait = min(500, 50 << min(failures, 4)) * Int.random(in: 50...100) / 100
          state = .idle(failures: failures + 1, until: .now + .milliseconds(wait), error: Self.fleetError(error))
        }
        return nil
      }
      unwanted?.close(promise: nil)
    }

    /// Connects and introduces itself. A name is looked up each time.
    private func connect(messages: (@Sendable (ValkeyReply) -> Void)?) -> EventLoopFuture<any Channel> {
      let (address, replyLimit) = (address, replyLimit)
      let tls: NIOSSLContext?
      do {
        tls = try address.tlsContext()
      } catch {
        return group.next().makeFailedFuture(Self.fleetError(error))
      }
      let failure = FirstError()
      return ClientBootstrap(group: group)
        .connectTimeout(.seconds(1))
        .channelOption(.socketOption(.tcp_nodelay), value: 1)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            if let tls {
              let isName = !address.host.contains(":") && address.host.contains { !$0.isNumber && $0 != "." }
              try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: isName ? address.host : nil))
            }
            let decoder = ByteToMessageHandler(RESPDecoder(limit: replyLimit), maximumBufferSize: replyLimit + 65_536)
            try pipeline.addHandler(decoder)
            try pipeline.addHandler(RESPHandler(messages: messages, failure: failure))
          }
        }
        .connect(host: address.host, port: address.port)
        .flatMap { channel in ValkeyIntroduction(address, channel, failure).begin() }
    }
  }

  extension ValkeyReply {
    /// A message of a channel, which RESP2 sends as an array.
    fileprivate var asMessage: ValkeyReply { if case .array(let elements) = self { .push(elements) } else { self } }
  }

  /// A command, with the promise of its reply.
  struct RESPCommand: Sendable {
    let bytes: ByteBuffer
    let reply: EventLoopPromise<ValkeyReply>
    /// The number of replies, the last of which counts.
    var replies = 1
    var isSubscription = false

    static func encode(_ arguments: [Data]) -> ByteBuffer {
      let size = arguments.reduce(16) { $0 + $1.count + 16 }
      var buffer = ByteBufferAllocator().buffer(capacity: size)
      buffer.writeString("*\(arguments.count)\r\n")
      for argument in arguments {
        buffer.writeString("$\(argument.count)\r\n")
        buffer.writeBytes(argument)
        buffer.writeString("\r\n")
      }
      return buffer
    }
  }

  /// The first error that a connection has met.
  final class FirstError: Sendable {
    private let error = Mutex<(any Error)?>(nil)

    var value: (any Error)? { error.withLock(\.self) }

    func note(_ new: any Error) { error.withLock { $0 = $0 ?? new } }
  }

  /// Matches replies to commands, in order. Confined to the event loop of its channel.
  private final class RESPHandler: ChannelDuplexHandler {
    typealias InboundIn = ValkeyReply
    typealias OutboundIn = RESPCommand
    typealias OutboundOut = ByteBuffer

    private struct Pending {
      let reply: EventLoopPromise<ValkeyReply>
      var left: Int
      let isSubscription: Bool
      let deadline: NIODeadline
    }

    private let messages: (@Sendable (ValkeyReply) -> Void)?
    private let failure: FirstError
    private var pending = CircularBuffer<Pending>()
    private var check: Scheduled<Void>?
    private static let longest = TimeAmount.seconds(1)

    init(messages: (@Sendable (ValkeyReply) -> Void)?, failure: FirstError) {
      (self.messages, self.failure) = (messages, failure)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      let command = unwrapOutboundIn(data)
      guard context.channel.isActive else {
        command.reply.fail(ChannelError.ioOnClosedChannel)
        promise?.fail(ChannelError.ioOnClosedChannel)
        return
      }
      pending.append(
        Pending(
          reply: command.reply, left: command.replies, isSubscription: command.isSubscription,
          deadline: .now() + Self.longest))
      context.write(wrapOutboundOut(command.bytes), promise: promise)
      schedule(context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let reply = unwrapInboundIn(data)
      // In RESP3 the confirmations of a subscription are pushes too.
      let isConfirmation = pending.first?.isSubscription == true && reply.elements?.first?.text == "subscribe"
      if !isConfirmation {
        if case .push = reply {
          messages?(reply)
          return
        }
        if let messages, pending.isEmpty {
          messages(reply)
          return
        }
      }
      guard var first = pending.popFirst() else {
        return context.fireErrorCaught(RESPError(description: "a reply has no command"))
      }
      first.left -= 1
      if case .error = reply { first.left = 0 }
      guard first.left == 0 else { return pending.prepend(first) }
      first.reply.succeed(reply)
    }

    func channelInactive(context: ChannelHandlerContext) {
      fail(FleetError.unavailable("the connection was closed"))
      context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      failure.note(error)
      fail(error)
      context.close(promise: nil)
    }

    func handlerRemoved(context: ChannelHandlerContext) { fail(FleetError.unavailable("the connection was closed")) }

    private func fail(_ error: any Error) {
      check?.cancel()
      check = nil
      while let next = pending.popFirst() { next.reply.fail(error) }
    }

    /// Looks later whether the oldest reply is overdue.
    private func schedule(_ context: ChannelHandlerContext) {
      guard check == nil, let first = pending.first else { return }
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      check = context.eventLoop.scheduleTask(deadline: first.deadline) {
        let (handler, context) = bound.value
        handler.check = nil
        guard let first = handler.pending.first else { return }
        guard first.deadline <= .now() else { return handler.schedule(context) }
        handler.fail(FleetError.unavailable("a reply took longer than a second"))
        context.close(promise: nil)
      }
    }
  }
#endif
