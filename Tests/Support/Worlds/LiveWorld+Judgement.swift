import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorLive
import ReactorTesting
import Synchronization

/// The judge of the world, at the end and while it runs.
extension LiveWorld {
  /// A stream is called live only while bytes come.
  func judgeStatus(_ layer: Int) {
    let silence = world.clock.now.elapsed - heardAt.value[layer]
    world.check(
      processes.value[layer].layer.live?.status.isLive != true || silence <= Self.heartbeat * 2.5 + .milliseconds(1),
      "layer \(layer) is live, and nothing came for \(silence)")
  }

  func judgeEnd() async {
    try? await world.clock.sleep(for: .seconds(300))
    let before = requests.value
    for (layer, paths) in watched.enumerated() {
      let process = processes.value[layer]
      let status = process.layer.live?.status
      world.check(
        paths.isEmpty || status?.isLive == true, "layer \(layer) is \(status.map(\.description) ?? "nil") at the end")
      for path in paths {
        let shown = process.reactor.cached(Resource("\(path)"))?.count
        // Without a value, no event concerns a stream. One of a removed value waits for a caller,
        // and one that failed for the next reason to ask.
        guard let shown, isDated(layer) else { continue }
        let (real, hasLagged) = server.withLock { ($0.real(path), !$0.lags[path].isEmpty) }
        // A replica that lagged for too long leaves a value that is known to be old.
        if shown != real, hasLagged, await process.reactor.isStale(path) { continue }
        world.check(shown == real, "layer \(layer) shows \(shown) for \(path), and the server has \(real ?? 0)")
      }
    }
    try? await world.clock.sleep(for: .seconds(60))
    world.check(requests.value == before, "requests are sent, and nothing has changed")
    world.check(requests.value[Self.quiet] == 0, "a path was requested that is not observed")
    await judgeEchoes()
    // Records on disk are compared with marks by their dates, here and below.
    guard world.setBack == .zero else { return }
    for (layer, paths) in watched.enumerated() where !paths.isEmpty { await judgeUnobserved(layer) }
  }

  /// Each layer writes what it observes. The layer that has written it sends only the
  /// write; each other layer that observes it asks at most once.
  private func judgeEchoes() async {
    for (layer, paths) in watched.enumerated() {
      let process = processes.value[layer]
      guard let path = paths.first(where: { process.reactor.cached(Resource("\($0)")) != nil }) else { continue }
      let before = requests.value[path]
      do { try await process.layer.send(Resource("\(path)", method: .put, body: Data())) } catch { continue }
      try? await world.clock.sleep(for: .seconds(60))
      let count = requests.value[path] - before
      let watchers = watched.count { $0.contains(path) }
      world.check((1...watchers).contains(count), "a write of \(path) by \(layer) was asked for \(count) times")
      let (shown, real) = (process.reactor.cached(Resource("\(path)"))?.count, server.withLock { $0.counts[path] })
      world.check(shown == real, "layer \(layer) shows \(shown ?? 0) for its write of \(path), which is \(real)")
    }
  }

  /// In a second process, an observed value may be a record on disk, too. A clock that was set back
  /// makes its date worthless.
  private func isDated(_ layer: Int) -> Bool { relaunches.value[layer] == 0 || world.setBack == .zero }

  /// An unobserved path is asked for if it has changed since, in whatever process.
  private func judgeUnobserved(_ layer: Int) async {
    for path in 0..<Self.quiet {
      let read = try? await processes.value[layer].reactor.fetch(Resource("\(path)")).count
      let real = server.withLock { $0.real(path) }
      world.check(
        read == nil || read == real, "layer \(layer) reads \(read ?? 0) for \(path), and the server has \(real ?? 0)")
    }
  }
}

extension LiveWorld.Server {
  /// The count of a path; `nil` while it is removed.
  fileprivate func real(_ path: Int) -> Int? { gone.contains(path) ? nil : counts[path] }
}

extension Reactor<LiveWorld.Count> {
  /// A Boolean value that indicates whether what is shown of a path is known to be old.
  fileprivate func isStale(_ path: Int) async -> Bool {
    for await state in states(for: Resource("\(path)"), policy: .cacheOnly) { return state.isStale }
    return false
  }
}
