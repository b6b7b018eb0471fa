import ReactorConformance
import ReactorTesting

/// The faults of one world of servers with a shared store.
struct ClusterTraits: Sendable {
  var servers = 2
  /// The longest way to the store, and back, each.
  var latency: Duration = .milliseconds(1)
  /// The longest way to the origin, and back, each.
  var originLatency: Duration = .milliseconds(300)
  /// The share of the store's calls that do not arrive, and whose answers do not.
  var callLoss = 0.0
  /// The share of the origin's answers that do not arrive.
  var originLoss = 0.0
  /// A connection for messages is lost at some time.
  var cutsFeeds = false
  /// Messages stand still for some seconds, unnoticed. Then they continue, or the connection is
  /// lost.
  var stallsFeeds = false
  /// The store does not answer for some seconds, and then carries out what it was sent.
  var freezes = false
  /// A replica takes over, without the latest changes.
  var failsOver = false
  /// The store removes what it has of a URL, or everything.
  var evicts = false
  /// Servers end, in good order or not, and begin again.
  var restarts = false
  /// Servers stand still for some seconds, with their timers, and continue with what waits for
  /// them.
  var stops = false
  /// A connection for messages silently carries nothing any more.
  var silencesFeeds = false
  /// The store takes no changes for some seconds, and passes messages on.
  var refuses = false
  /// Responses are refreshed before they are stale.
  var refreshesEarly = false

  init(_ draws: SeededDraws) {
    servers = draws.number(in: 2...4)
    latency = .milliseconds(draws.element(of: [1, 5, 20]) ?? 1)
    originLatency = .milliseconds(draws.element(of: [10, 300, 2_000]) ?? 10)
    refreshesEarly = draws.chance(0.5)
    guard draws.chance(0.8) else { return }
    callLoss = draws.element(of: [0, 0, 0.02, 0.2]) ?? 0
    originLoss = draws.element(of: [0, 0, 0.1]) ?? 0
    cutsFeeds = draws.chance(0.3)
    stallsFeeds = draws.chance(0.3)
    freezes = draws.chance(0.3)
    failsOver = draws.chance(0.2)
    evicts = draws.chance(0.3)
    restarts = draws.chance(0.3)
    silencesFeeds = draws.chance(0.3)
    // A change that the store has refused is known in time where nothing else keeps it back.
    let isReliable = callLoss == 0 && !freezes && !failsOver && !evicts && !restarts
    refuses = isReliable && draws.chance(0.7)
    stops = !refuses && draws.chance(0.3)
  }

  /// A Boolean value that indicates whether every call and every message arrives in time.
  var isSound: Bool {
    callLoss == 0 && !cutsFeeds && !stallsFeeds && !freezes && !failsOver && !evicts && !restarts
      && !stops && !silencesFeeds && !refuses
  }

  /// The time after which every server that runs knows of a change which the store has
  /// acknowledged.
  var delivery: Duration {
    // Two ways, and what the executor makes of them. Else a server finds out by a beat that does
    // not come back, and then uses what it has for a while.
    isSound ? latency * 2 + .milliseconds(50) : .seconds(10) + .milliseconds(2_500) + .seconds(3)
  }
}
