import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A server on loopback whose script answers each request with bytes as they are. It hangs up after each answer.
final class ScriptedOrigin: Sendable {
  enum Answer: Sendable {
    case bytes([UInt8])
    /// Nothing: it hangs up.
    case hangUp
    /// Nothing, until the proxy hangs up.
    case silence
    /// The bytes, once the future has succeeded.
    case held(EventLoopFuture<Void>, [UInt8])

    static func text(_ text: String) -> Answer { .bytes(Array(text.utf8)) }
  }

  typealias Script = @Sendable (_ request: String) -> Answer

  let port: Int
  private let channel: any Channel
  private let log: Log

  static func start(_ script: @escaping Script) async throws -> ScriptedOrigin {
    let log = Log()
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.backlog, value: 256)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(OriginHandler(script, log))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    return ScriptedOrigin(channel, log)
  }

  private init(_ channel: any Channel, _ log: Log) {
    self.channel = channel
    self.log = log
    port = channel.localAddress?.port ?? 0
  }

  /// What was received, in order: head and body.
  var requests: [String] { log.requests.withLock { $0 } }

  /// Waits for the next request; call it once per request.
  func waitForRequest() async { for await _ in log.arrivals.stream { return } }

  /// Waits for the proxy to hang up on ``Answer/silence``.
  func waitForHangUp() async { for await _ in log.hangUps.stream { return } }

  func stop() async throws { try await channel.close() }

  fileprivate final class Log: Sendable {
    let requests = Mutex<[String]>([])
    let arrivals = AsyncStream.makeStream(of: Void.self)
    let hangUps = AsyncStream.makeStream(of: Void.self)

    func add(_ request: String) {
      requests.withLock { $0.append(request) }
      arrivals.continuation.yield()
    }
  }
}

private final class OriginHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let script: ScriptedOrigin.Script
  private let log: ScriptedOrigin.Log
  private var received = ""
  private var isSilent = false

  init(_ script: @escaping ScriptedOrigin.Script, _ log: ScriptedOrigin.Log) {
    self.script = script
    self.log = log
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    received += String(buffer: unwrapInboundIn(data))
    guard isComplete else { return }
    log.add(received)
    switch script(received) {
    case .bytes(let bytes): Self.send(bytes, context.channel)
    case .hangUp: context.close(promise: nil)
    case .silence: isSilent = true
    case .held(let future, let bytes):
      future.whenSuccess { [channel = context.channel] in Self.send(bytes, channel) }
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    if isSilent { log.hangUps.continuation.yield() }
  }

  private static func send(_ bytes: [UInt8], _ channel: any Channel) {
    channel.writeAndFlush(ByteBuffer(bytes: bytes)).whenComplete { _ in channel.close(promise: nil) }
  }

  private var isComplete: Bool {
    let message = WireMessage(received)
    guard message.isHeadComplete else { return false }
    if message["Transfer-Encoding"] == "chunked" { return received.hasSuffix("0\r\n\r\n") }
    return message.body.utf8.count >= message["Content-Length"].flatMap { Int($0) } ?? 0
  }
}
