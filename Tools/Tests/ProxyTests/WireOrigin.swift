import NIOCore
import NIOPosix
import ReactorTesting

@testable import reactor

/// A server that sends what the test writes, once a request has arrived: a client need not read a
/// response that precedes its request.
struct WireOrigin: Sendable {
  /// A connection, with the first bytes of its request.
  struct Connection: Sendable {
    let channel: any Channel
    let request: [UInt8]
  }

  private let channel: any Channel
  private let connections: AsyncStream<Connection>

  /// Runs `body` with a proxy before the server; both are stopped afterwards.
  static func run(_ body: (WireOrigin, ProxyBench) async throws -> Void) async throws {
    let (connections, connected) = AsyncStream.makeStream(of: Connection.self)
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(RequestHandler { connected.yield($0) })
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let origin = WireOrigin(channel: channel, connections: connections)
    let port = channel.localAddress?.port
    try await ProxyBench.run(statusName: "proxy", bodyLimit: 1000, upstreamPort: port, script: { _ in .close }) {
      bench in
      try await body(origin, bench)
    }
    try await channel.close()
  }

  func accept() async throws -> any Channel { try await connection().channel }

  func connection() async throws -> Connection {
    for await connection in connections { return connection }
    throw CancellationError()
  }
}

private final class RequestHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let requested: (WireOrigin.Connection) -> Void

  init(_ requested: @escaping (WireOrigin.Connection) -> Void) { self.requested = requested }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    requested(.init(channel: context.channel, request: Array(unwrapInboundIn(data).readableBytesView)))
  }
}
