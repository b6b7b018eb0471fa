import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A server that accepts the clients of a proxy.
final class ProxyServer: Sendable {
  private let channel: any Channel
  private let connections: Connections

  /// Starts the server, and returns once it listens.
  ///
  /// - Parameters:
  ///   - proxy: The proxy that answers requests.
  ///   - address: The address to listen at.
  ///   - hosts: The host names to serve, in addition to this machine's names and the address
  ///     itself.
  ///   - maxConnections: The maximum number of open client connections.
  ///   - pace: The minimum speed of a request.
  ///   - idle: The time after which a connection is closed on which nothing happens. The default is
  ///     more than the time that a server behind the proxy may take.
  /// - Throws: An error, if the address is not available.
  static func start(
    _ proxy: Proxy, on address: ListenArgument, hosts: [String] = [], maxConnections: Int = 1024,
    pace: RequestPaceLimits = RequestPaceLimits(), idle: TimeAmount = .minutes(2)
  ) async throws -> ProxyServer {
    let connections = Connections()
    let served = ServedHosts(hosts + [address.host.contains(":") ? "[\(address.host)]" : address.host])
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelOption(.backlog, value: 256)
      // One connection per read, so that no connection is accepted beyond the limit.
      .serverChannelOption(.maxMessagesPerRead, value: 1)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          // If the system still runs out of files, accepting pauses instead of failing in a loop.
          try channel.pipeline.syncOperations.addHandlers([AcceptBackoffHandler(), ConnectionLimit(maxConnections)])
        }
      }
      .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
      .childChannelOption(unsentLowWater, value: 128 << 10)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try configure(channel, proxy, served, pace, idle)
          connections.add(channel)
        }
      }
      .bind(host: address.host, port: address.port).get()
    return ProxyServer(channel: channel, connections: connections)
  }

  /// The bytes that the system takes beyond what the client's window allows. With more, a slow
  /// client would seem to take nothing for minutes.
  private static var unsentLowWater: ChannelOptions.Types.SocketOption {
    ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: CInt(TCP_NOTSENT_LOWAT)))
  }

  private init(channel: any Channel, connections: Connections) {
    self.channel = channel
    self.connections = connections
  }

  var port: Int { channel.localAddress?.port ?? 0 }

  /// Stops the server. It accepts no more connections, lets exchanges finish within `grace`, and
  /// then closes every connection.
  func stop(grace: Duration = .seconds(5)) async {
    try? await channel.close()
    await connections.close(after: grace)
  }

  private static func configure(
    _ channel: any Channel, _ proxy: Proxy, _ hosts: ServedHosts, _ pace: RequestPaceLimits, _ idle: TimeAmount
  ) throws {
    var framing = HTTPResponseEncoder.Configuration()
    framing.automaticallySetFramingHeaders = false
    let bytes = FieldBytes.Inbound()
    try channel.pipeline.syncOperations.addHandlers([
      IdleStateHandler(allTimeout: idle), HTTPResponseEncoder(configuration: framing),
      RequestPace.Arrivals(), bytes, RequestRules.makeParser(), FieldBytes.Heads(bytes), HTTPServerPipelineHandler(),
      RequestPace(pace),
      ProxyHandler(proxy, hosts, proxy.staysOnEventLoop ? EventLoopExecutor(channel.eventLoop) : nil),
    ])
  }
}

/// Runs tasks on the event loop of a connection, whose answers then need no other thread.
final class EventLoopExecutor: TaskExecutor {
  private let eventLoop: any EventLoop

  init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

/// The open connections.
private final class Connections: Sendable {
  private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

  func add(_ channel: any Channel) {
    let identifier = ObjectIdentifier(channel)
    channels.withLock { $0[identifier] = channel }
    channel.closeFuture.whenComplete { [self] _ in channels.withLock { _ = $0.removeValue(forKey: identifier) } }
  }

  /// Closes idle connections at once, and the others when their exchange is finished, or after
  /// `grace`.
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
