public import HTTPTypes
import Synchronization

/// The server's half of live resources: it tells clients what has changed.
///
/// ```swift
/// let feed = ChangeFeed()
/// router.get("events") { request, context in
///   let stream = try feed.open(request.head, for: [.init("user:\(context.user.id)")])
///   let bytes = stream.map { ByteBuffer(bytes: $0) }
///   return Response(status: .ok, headers: ChangeFeed.fields, body: .init(asyncSequence: bytes))
/// }
/// router.put("posts/:id") { request, context in
///   try await store.save(post)
///   feed.publish([.url("/posts/\(post.id)")])
/// }
/// ```
///
/// Publish a change after it is committed: a client asks for it at once.
///
/// A client is a place in the list of changes, and has no queue, so a client that does not read
/// costs no memory. If the list has gone on without it, it is told that it may have missed
/// something.
///
/// Its methods may be called from any isolation.
public final class ChangeFeed: Sendable {
  /// The header fields of the response. `X-Accel-Buffering` is for nginx, which holds events back
  /// otherwise.
  public static let fields: HTTPFields = {
    var fields: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store, no-transform"]
    if let name = HTTPField.Name("X-Accel-Buffering") { fields[name] = "no" }
    return fields
  }()

  private let configuration: ChangeFeedConfiguration
  private let state: Mutex<State>
  /// The time on the configuration's clock since the feed was created.
  let elapsed: @Sendable () -> Duration

  private struct State {
    var log: ChangeLog
    var clients = 0
    var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var lastWaiter: UInt64 = 0
    var ticker: Task<Void, Never>?
    var isEnding = false

    mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
      defer { waiters = [:] }
      return waiters.sorted { $0.key < $1.key }.map(\.value)
    }
  }

  /// Creates a feed with an empty history. Clients of an earlier one ask for everything again.
  public init(_ configuration: ChangeFeedConfiguration = ChangeFeedConfiguration()) {
    self.configuration = configuration
    let clock = configuration.clock
    elapsed = Self.stopwatch(clock)
    let space = String(UInt64.random(in: .min ... .max), radix: 36)
    state = Mutex(State(log: ChangeLog(space: space, limit: configuration.changes)))
  }

  deinit { state.withLock { $0.ticker?.cancel() } }

  /// Tells clients what has changed.
  ///
  /// ```swift
  /// feed.publish([.url("/posts/7"), .under("/feeds")], to: .init("tenant:acme"))
  /// ```
  ///
  /// - Parameters:
  ///   - targets: What has changed. An empty list tells nothing.
  ///   - audience: Who is told. Default: every client.
  ///   - spread: The time within which the clients ask again, each at a random moment. By default,
  ///     it grows with the number of clients, at ``ChangeFeedConfiguration/refetchRate``.
  public func publish(_ targets: [ChangeTarget], to audience: ChangeAudience = .everyone, spread: Duration? = nil) {
    guard !targets.isEmpty else { return }
    let rate = configuration.refetchRate
    wake { state in
      let own = Duration.seconds(Double(state.clients) / (rate >= 1 ? rate : 1))
      let spread = spread ?? (own > .milliseconds(50) ? own : nil)
      state.log.append(targets, spread: spread, to: audience)
    }
  }

  /// Tells every client that it may have missed a change, such as after a restored backup.
  public func reset() { wake { $0.log.forget() } }

  /// Ends every stream with a farewell. Clients reconnect after a random wait, to this server or
  /// another. Call it before the server stops listening.
  public func shutdown() { wake { $0.isEnding = true } }

  /// The number of open streams.
  public var clients: Int { state.withLock(\.clients) }

  private func wake(_ change: (inout State) -> Void) {
    let waiters = state.withLock { state in
      change(&state)
      return state.takeWaiters()
    }
    for waiter in waiters { waiter.resume() }
  }
}

extension ChangeFeed {
  /// Opens the stream of a client, behind the position that its request names in `Last-Event-ID`.
  ///
  /// - Parameters:
  ///   - request: The request of the client.
  ///   - audiences: The audiences of the client, besides ``ChangeAudience/everyone``.
  ///   - lifetime: The time after which the stream ends, such as the rest of a token's. It ends
  ///     after
  ///     ``ChangeFeedConfiguration/lifetime`` in any case, and the client reconnects.
  /// - Throws: ``ChangeFeedError/tooManyClients(limit:)``: answer with 503.
  public func open(
    _ request: HTTPRequest, for audiences: Set<ChangeAudience> = [], lifetime: Duration? = nil
  ) throws(ChangeFeedError) -> ChangeStream {
    let lastEventID = HTTPField.Name("Last-Event-ID").flatMap { request.headerFields[$0] } ?? ""
    let random = Double.random(in: 0.8...1.2)
    let lifetime = min(configuration.lifetime * random, lifetime ?? configuration.lifetime * random)
    let limit = configuration.clients
    let opened = state.withLock { state -> (greeting: String, position: UInt64, isBehind: Bool)? in
      guard state.clients < limit else { return nil }
      state.clients += 1
      // The place is taken before the greeting is sent: what is requested after it, is newer.
      let position = state.log.position(of: lastEventID)
      let head = state.log.id(of: state.log.head)
      let hello = ChangeEncoding.hello(isResumed: position != nil, head: head, heartbeat: configuration.heartbeat)
      return (hello, position ?? state.log.head, position.map { $0 < state.log.head } ?? false)
    }
    guard let opened else { throw .tooManyClients(limit: limit) }
    let greeting =
      Array("retry: \(Int64(min(max(configuration.retry, .zero), .seconds(600)) / .milliseconds(1)))\n".utf8)
      + ChangeEncoding.event("hello", opened.greeting)
    return ChangeStream(
      self, greeting: greeting,
      client: ChangeStream.Client(
        position: opened.position, audiences: audiences, endsAt: elapsed() + lifetime, heardAt: .zero,
        isCatchingUp: opened.isBehind))
  }

  /// The next step of a client's stream.
  enum Delivery {
    case bytes([UInt8])
    case wait
    case end([UInt8])
  }

  func next(for client: inout ChangeStream.Client) -> Delivery {
    let now = elapsed()
    let (bytes, id, isEnding) = state.withLock { state -> ([UInt8]?, String, Bool) in
      let bytes = state.log.bytes(behind: &client.position, for: client.audiences, atMost: 64 << 10)
      if bytes == nil { client.position = state.log.head }
      return (bytes, state.log.id(of: client.position), state.isEnding)
    }
    let farewell = ChangeEncoding.event("bye")
    guard now < client.endsAt else { return .end(farewell) }
    if isEnding { return .end((bytes ?? ChangeEncoding.event("reset", id: id)) + farewell) }
    // A client that comes back waits for the position of its greeting, whoever's events led there.
    let isDue = now - client.heardAt >= configuration.heartbeat || client.isCatchingUp
    client.isCatchingUp = false
    guard let bytes else {
      client.heardAt = now
      return .bytes(ChangeEncoding.event("reset", id: id))
    }
    if !bytes.isEmpty || isDue {
      client.heardAt = now
      // A block without data moves the position. The events of others have moved it, too.
      return .bytes(bytes.isEmpty ? Array("id: \(id)\n\n".utf8) : bytes)
    }
    return .wait
  }

  /// Waits for the next change, or for a heartbeat.
  func wait(behind position: UInt64) async {
    startTicker()
    let id = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          guard state.log.head == position, !state.isEnding, !Task.isCancelled else { return true }
          state.waiters[id] = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
    }
  }

  func close() { state.withLock { $0.clients -= 1 } }

  /// Wakes the clients for their heartbeats, while there are any.
  private func startTicker() {
    let (clock, interval) = (configuration.clock, max(configuration.heartbeat / 4, .milliseconds(100)))
    state.withLock { state in
      guard state.ticker == nil else { return }
      state.ticker = Task(executorPreference: configuration.taskExecutor) { [weak self] in
        while !Task.isCancelled {
          do { try await clock.sleep(for: interval) } catch { return }
          guard let self, tick() else { return }
        }
      }
    }
  }

  /// - Returns: `false` once there are no clients. The next one starts another ticker.
  private func tick() -> Bool {
    let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>]? in
      guard state.clients > 0 else {
        state.ticker = nil
        return nil
      }
      return state.takeWaiters()
    }
    for waiter in waiters ?? [] { waiter.resume() }
    return waiters != nil
  }

  private static func stopwatch<C: Clock>(_ clock: C) -> @Sendable () -> Duration where C.Duration == Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }
}
