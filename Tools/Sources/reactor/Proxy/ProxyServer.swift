import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// Listens for clients of a proxy.
final class ProxyServer: Sendable {
  private let channel: any Channel
  private let connections: Connections

  /// Returns once it listens.
  ///
  /// - Parameters:
  ///   - hosts: the names under which it serves requests, beside those of this machine and the address itself.
  ///   - maxConnections: how many clients are let in at once.
  /// - Throws: where the address cannot be had.
  static func start(
    _ proxy: Proxy, on address: ListenArgument, hosts: [String] = [], maxConnections: Int = 1024,
    pace: RequestPaceLimits = RequestPaceLimits()
  ) async throws -> ProxyServer {
    let connections = Connections()
    let served = ServedHosts(hosts + [address.host.contains(":") ? "[\(address.host)]" : address.host])
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelOption(.backlog, value: 256)
      // One at a time, so that none is let in beyond the limit.
      .serverChannelOption(.maxMessagesPerRead, value: 1)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          // Where the system has no more files all the same, it waits instead of trying again at once.
          try channel.pipeline.syncOperations.addHandlers([AcceptBackoffHandler(), ConnectionLimit(maxConnections)])
        }
      }
      .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try configure(channel, proxy, served, pace)
          connections.add(channel)
        }
      }
      .bind(host: address.host, port: address.port).get()
    return ProxyServer(channel: channel, connections: connections)
  }

  private init(channel: any Channel, connections: Connections) {
    self.channel = channel
    self.connections = connections
  }

  var port: Int { channel.localAddress?.port ?? 0 }

  /// Ends: nobody new is let in, exchanges may finish for as long as `grace`, and then every connection is closed.
  func stop(grace: Duration = .seconds(5)) async {
    try? await channel.close()
    await connections.close(after: grace)
  }

  private static func configure(
    _ channel: any Channel, _ proxy: Proxy, _ hosts: ServedHosts, _ pace: RequestPaceLimits
  ) throws {
    var framing = HTTPResponseEncoder.Configuration()
    framing.automaticallySetFramingHeaders = false
    try channel.pipeline.syncOperations.addHandlers([
      // Longer than a server behind it may take.
      IdleStateHandler(allTimeout: .minutes(2)), HTTPResponseEncoder(configuration: framing),
      RequestPace.Arrivals(), RequestRules.makeParser(), HTTPServerPipelineHandler(), RequestPace(pace),
      ProxyHandler(proxy, hosts),
    ])
  }
}

/// The connections that are open.
private final class Connections: Sendable {
  private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

  func add(_ channel: any Channel) {
    let identifier = ObjectIdentifier(channel)
    channels.withLock { $0[identifier] = channel }
    channel.closeFuture.whenComplete { [self] _ in channels.withLock { _ = $0.removeValue(forKey: identifier) } }
  }

  /// Closes what is idle at once, and the rest when its exchange has ended, or after `grace`.
  func close(after grace: Duration) async {
    let open = channels.withLock { Array($0.values) }
    guard !open.isEmpty else { return }
    for channel in open { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
    let timer = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: .init(grace)) {
      for channel in open { channel.close(promise: nil) }
    }
    for channel in open { try? await channel.closeFuture.get() }
    timer.cancel()
  }
}
