import Foundation
import HTTPCachingProxy
import NIOCore
import ReactorCore
import ReactorTesting
import Synchronization
import Wire

@testable import reactor

/// A proxy between sockets of this machine, with a clock that stands.
final class ProxyBench: Sendable {
  /// Saturday, 21 November 2026, noon.
  static let start = Date(timeIntervalSince1970: 1_795_262_400)

  let origin: MockServer
  let server: ProxyServer
  let proxy: Proxy

  /// Runs `body` with a proxy and an origin that are stopped afterwards.
  static func run(
    isStaleOnDisconnect: Bool = false, trace: (@Sendable (String) -> Void)? = nil, silence: Duration = .seconds(86_400),
    maxConnections: Int = 1024, hosts: [String] = ["p", "proxy", "proxy.example"], base: String = "",
    keepsCookies: Bool = true, rules: CacheRules = .private, statusName: String? = nil,
    pace: RequestPaceLimits = RequestPaceLimits(), outages: UpstreamOutages? = UpstreamOutages(),
    bodyLimit: Int = BodyLimit.response, upstreamPort: Int? = nil, staysOnEventLoop: Bool = true,
    idle: TimeAmount = .minutes(2), requestBodies: Int = BodyLimit.requests, responseBodies: Int = BodyLimit.responses,
    script: @escaping MockServer.Handler, body: (ProxyBench) async throws -> Void
  ) async throws {
    let cache = ProxyCache(persistence: MemoryPersistence(), rules: rules, keepsCookies: keepsCookies)
    let bench = try await ProxyBench(
      isStaleOnDisconnect, trace, silence, maxConnections, hosts, base, cache, statusName, pace, outages, bodyLimit,
      upstreamPort, staysOnEventLoop, idle, requestBodies, responseBodies, script)
    do {
      try await body(bench)
    } catch {
      await bench.stop()
      throw error
    }
    await bench.stop()
  }

  private init(
    _ isStaleOnDisconnect: Bool, _ trace: (@Sendable (String) -> Void)?, _ silence: Duration,
    _ maxConnections: Int, _ hosts: [String], _ base: String, _ cache: ProxyCache, _ statusName: String?,
    _ pace: RequestPaceLimits, _ outages: UpstreamOutages?, _ bodyLimit: Int, _ upstreamPort: Int?,
    _ staysOnEventLoop: Bool, _ idle: TimeAmount, _ requestBodies: Int, _ responseBodies: Int,
    _ script: @escaping MockServer.Handler
  ) async throws {
    origin = try MockServer(handler: script)
    let upstream = try Upstream(
      UpstreamArgument.parse("http://127.0.0.1:\(upstreamPort ?? origin.port)\(base)"), silence: silence,
      bodyLimit: bodyLimit)
    let time = SharedDate()
    proxy = Proxy(
      cache: cache, upstream: upstream, isStaleOnDisconnect: isStaleOnDisconnect, statusName: statusName,
      staysOnEventLoop: staysOnEventLoop, now: { time.value.withLock { $0 } }, trace: trace, outages: outages,
      requestBodies: BodyMemory(limit: requestBodies), responseBodies: SharedBodies(BodyMemory(limit: responseBodies)))
    server = try await ProxyServer.start(
      proxy, on: ListenArgument(host: "127.0.0.1", port: 0), hosts: hosts, maxConnections: maxConnections, pace: pace,
      idle: idle)
    self.time = time
  }

  private let time: SharedDate

  func setAge(_ seconds: Double) { time.value.withLock { $0 = Self.start.addingTimeInterval(seconds) } }

  /// - Parameter request: method, path, then fields, each on a line; the connection ends with it.
  func get(_ request: String = "GET /a", body: String = "") async throws -> WireMessage {
    var lines = request.components(separatedBy: "\n")
    lines[0] += " HTTP/1.1"
    lines += ["Host: proxy.example", "Connection: close"]
    if !body.isEmpty { lines.append("Content-Length: \(body.utf8.count)") }
    let text = lines.joined(separator: "\r\n") + "\r\n\r\n" + body
    return WireMessage(try await WireClient.exchange(text, port: server.port))
  }

  /// Returns once this number of requests waits for others.
  func waitForCollapsed(_ count: Int) async { while proxy.collapsing.waiting != count { await Task.yield() } }

  private func stop() async {
    await server.stop(grace: .zero)
    origin.stop()
  }
}

private final class SharedDate: Sendable {
  let value = Mutex(ProxyBench.start)
}
