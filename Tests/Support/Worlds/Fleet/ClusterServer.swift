import Foundation
import HTTPCachingProxy
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorFleet
import ReactorTesting
import Synchronization

/// One server of a fleet, as a proxy is one.
final class ClusterServer: Sendable {
  let number: Int
  let fleet: Fleet
  private let cluster: Cluster
  private let cache: ProxyCache
  private let process = SimulatedProcess()
  let standstill = Standstill()
  private let running = Mutex<Task<Void, Never>?>(nil)
  private let ending = Gate()
  /// The fences that the store has acknowledged, each with its time.
  private let fences = Shared<[(url: FleetURLID, time: Duration)]>([])

  private var world: SimulatedWorld { cluster.world }
  private var now: Duration { world.clock.now.elapsed }
  var hasEnded: Bool { ending.isOpen }

  init(_ number: Int, _ cluster: Cluster, _ disk: MemoryPersistence, _ draws: SeededDraws) {
    (self.number, self.cluster) = (number, cluster)
    let world = cluster.world
    let link = ClusterLink(cluster.store, process, standstill, draws.split()) { [fences] url in
      let time = world.clock.now.elapsed
      fences.change { $0.append((url, time)) }
    }
    var configuration = FleetConfiguration()
    configuration.clock = StandstillClock(clock: world.clock, standstill: standstill)
    configuration.now = world.clock.wallClock
    configuration.refreshesEarly = cluster.traits.refreshesEarly
    configuration.taskExecutor = world.configuration.taskExecutor
    configuration.random = { Double(draws.number(below: 1 << 20)) / Double(1 << 20) }
    configuration.statusChanged = { status, _ in world.note("server \(number) is \(status)") }
    fleet = Fleet(link, configuration: configuration)
    cache = ProxyCache(persistence: disk, fleet: fleet)
  }

  func begin() async {
    world.note("server \(number) begins")
    let task = spawnApart(on: world.configuration.taskExecutor) { [fleet] in try? await fleet.run() }
    running.withLock { $0 = task }
    while fleet.status == .off { try? await world.clock.sleep(for: .milliseconds(1)) }
  }

  /// Stands still, with everything that waits for it.
  func stop(for time: Duration) async {
    world.note("server \(number) stands still for \(time)")
    standstill.begin()
    try? await world.clock.sleep(for: time)
    world.note("server \(number) goes on")
    standstill.end()
  }

  func end(crashes: Bool) async {
    standstill.end()
    world.note("server \(number) \(crashes ? "crashes" : "ends")")
    if crashes { process.crash() }
    ending.open()
    let task = running.withLock { $0.take() }
    task?.cancel()
    let start = now
    await task?.value
    world.check(now - start <= .milliseconds(1_500), "server \(number) takes \(now - start) to end")
  }

  static func url(_ path: String) -> String { "https://api.example.com\(path)" }

  private static func request(_ method: HTTPRequest.Method, _ path: String, _ fields: HTTPFields) -> HTTPRequest {
    HTTPRequest(method: method, scheme: "https", authority: "api.example.com", path: path, headerFields: fields)
  }

  private var date: Date { world.clock.wallClock() }

  /// Answers a request, from the cache or by the origin.
  ///
  /// - Returns: The text of the answer; `nil` without an answer.
  @discardableResult func get(_ path: String, _ fields: HTTPFields) async -> String? {
    // It waits in the socket of a process that stands still.
    await standstill.wait()
    let (start, standstills) = (now, standstill.count)
    let plan = await cache.plan(for: Self.request(.get, path, fields), at: date)
    guard !hasEnded else { return nil }
    if standstill.count == standstills { judgeTime(since: start, path) }
    switch plan {
    case .answer(let answer): return judged(answer, path, at: start)
    case .answerAndSend(let answer, let exchange):
      _ = spawnApart(on: world.configuration.taskExecutor) { _ = await self.send(exchange) }
      return judged(answer, path, at: start)
    case .send(let exchange):
      guard let answer = await send(exchange), !hasEnded else { return nil }
      return String(decoding: answer.body, as: UTF8.self)
    }
  }

  private func send(_ exchange: CacheRequest) async -> CacheResponse? {
    guard let (response, body) = await cluster.origin.send(exchange.request, from: number), !process.hasCrashed else {
      return cache.staleAnswer(for: exchange, at: date)
    }
    return await cache.receive(response, body: body, for: exchange, at: date)
  }

  /// No request waits for longer than the fleet may make it.
  private func judgeTime(since start: Duration, _ path: String) {
    let time = now - start
    let budget = Duration.milliseconds(100)
    // Patience, and the calls before and after.
    let limit: Duration = cluster.traits.isSound && path == "/never" ? cluster.traits.originLatency * 2 : .seconds(5)
    world.check(
      time <= limit + budget * 4, "a request of \(path) has waited for \(time) at server \(number)")
  }

  private func judged(_ answer: CacheResponse, _ path: String, at time: Duration) -> String? {
    guard answer.source == .stored || answer.source == .stale else { return nil }
    let text = String(decoding: answer.body, as: UTF8.self)
    let isFresh = (answer.cacheStatus.timeToLive ?? -1) >= 0
    world.note("server \(number) has \(text), \(isFresh ? "fresh" : "stale")")
    cluster.judge(text, fresh: isFresh, path: path, at: time, "server \(number), \(fleet.status),")
    return text
  }

  /// Makes a change.
  ///
  /// - Returns: `true` if the store has acknowledged it; `nil` if the origin has not made it, or
  ///   the server ends.
  func put(_ path: String) async -> Bool? {
    await standstill.wait()
    let standstills = standstill.count
    guard case .send(let exchange) = await cache.plan(for: Self.request(.put, path, [:]), at: date) else {
      return nil
    }
    guard let (response, body) = await cluster.origin.send(exchange.request, from: number), !hasEnded else {
      return nil
    }
    let start = now
    _ = await cache.receive(response, body: body, for: exchange, at: date)
    let time = now - start
    world.check(
      time <= .milliseconds(250) || standstill.count > standstills,
      "a change has waited for \(time) at server \(number)")
    guard !hasEnded else { return nil }
    guard let id = fleet.knownID(of: Self.url(path), in: .shared) else { return false }
    let isAcknowledged = fences.value.contains { $0.url == id && $0.time >= start }
    world.note("server \(number) has changed \(path)\(isAcknowledged ? "" : ", and the store does not know")")
    return isAcknowledged
  }
}
