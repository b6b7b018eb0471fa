import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A server on loopback that answers by path with bytes as they are, and closes the connection: for answers that no proper
/// server gives.
final class CannedServer: Sendable {
  enum Answer: Sendable {
    case bytes(String)
    /// Nothing, until the client hangs up.
    case silence
    /// One for each request, and then the last one.
    indirect case sequence([Answer])
    /// The bytes, once the future has succeeded.
    case held(until: EventLoopFuture<Void>, String)

    /// What the request of this number gets, counted over all paths from 1.
    func answer(to number: Int) -> Answer {
      if case .sequence(let answers) = self, !answers.isEmpty { answers[min(number, answers.count) - 1] } else { self }
    }

    /// A whole response with the content's length.
    static func response(_ status: String = "200 OK", fields: [String] = [], body: String = "") -> Answer {
      let head = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)", "Connection: close"] + fields
      return .bytes(head.joined(separator: "\r\n") + "\r\n\r\n" + body)
    }
  }

  let port: Int
  private let channel: any Channel
  private let log: RequestLog

  /// A server that can be stopped and started again: its port is one that the system gives to nobody by itself.
  static func startOnOwnPort(_ answers: [String: Answer]) async throws -> CannedServer {
    while true {
      do {
        return try await start(answers, port: .random(in: 10_000..<32_000))
      } catch let error as IOError where error.errnoCode == EADDRINUSE {
        continue
      }
    }
  }

  static func start(_ answers: [String: Answer], port: Int = 0) async throws -> CannedServer {
    let log = RequestLog()
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(CannedHandler(answers: answers, log: log))
        }
      }
      .bind(host: "127.0.0.1", port: port).get()
    return CannedServer(channel: channel, log: log)
  }

  private init(channel: any Channel, log: RequestLog) {
    self.channel = channel
    port = channel.localAddress?.port ?? 0
    self.log = log
  }

  /// The requests received, as text: head and body.
  var requests: [String] { log.requests.withLock { $0 } }

  func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  /// Returns once a request has arrived.
  func waitForRequest() async { for await _ in log.arrivals.stream { return } }

  func stop() async throws { try await channel.close() }
}

private final class RequestLog: Sendable {
  let requests = Mutex<[String]>([])
  let arrivals = AsyncStream.makeStream(of: Void.self)

  func add(_ request: String) {
    requests.withLock { $0.append(request) }
    arrivals.continuation.yield()
  }
}

/// Collects one request, and answers it.
private final class CannedHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let answers: [String: CannedServer.Answer]
  private let log: RequestLog
  private var received = ""

  init(answers: [String: CannedServer.Answer], log: RequestLog) {
    self.answers = answers
    self.log = log
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    received += String(buffer: unwrapInboundIn(data))
    guard isComplete else { return }
    log.add(received)
    let target = received.split(separator: " ").dropFirst().first.map(String.init) ?? ""
    let answer = answers[target] ?? answers[String(target.prefix { $0 != "?" })] ?? .response("404 Not Found")
    switch answer.answer(to: log.requests.withLock { $0.count }) {
    case .silence, .sequence: return
    case .bytes(let text): Self.send(text, on: context.channel)
    case .held(let future, let text): future.whenSuccess { [channel = context.channel] in Self.send(text, on: channel) }
    }
  }

  private static func send(_ text: String, on channel: any Channel) {
    channel.writeAndFlush(ByteBuffer(string: text)).whenComplete { _ in channel.close(promise: nil) }
  }

  private var isComplete: Bool {
    guard let end = received.range(of: "\r\n\r\n") else { return false }
    let length = received[..<end.lowerBound].lowercased().split(separator: "\r\n")
      .first { $0.hasPrefix("content-length:") }
      .flatMap { Int($0.dropFirst("content-length:".count).trimmingCharacters(in: .whitespaces)) }
    return received[end.upperBound...].utf8.count >= length ?? 0
  }
}
