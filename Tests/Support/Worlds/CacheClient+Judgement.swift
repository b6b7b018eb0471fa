import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorTesting

/// Conditions that must hold once nothing is in flight and all faults have ended.
extension CacheClient {
  /// Checks that observers saw the known values, and that no value counted as fresh after it was
  /// declared stale.
  func judgeEnd(watching places: [Place]) {
    for place in places where place.owner == owner {
      let state = last.state(place)
      let cached = desk(place).cached(model.resource(place))
      // A stream keeps its own variant where memory has another.
      let isOwn = cached == nil && model.server.varying.contains(place.path)
      world.check(
        isOwn || state?.document == cached,
        "\(place): a watcher has \(String(describing: state?.document)), memory \(String(describing: cached))")
      world.check(state?.fetchStatus == .idle, "\(place): still \(String(describing: state?.fetchStatus))")
      guard let state, let document = state.document else { continue }
      model.judge(document, place, model.before(place), isCurrent: !state.isStale, "\(place), at the end")
    }
  }

  /// Checks that a stream asks again by itself after an invalidation, before any caller asks.
  func judgeWatchers(_ places: [Place]) async throws {
    let own = places.filter { $0.owner == owner }
    for place in own { await desk(place).invalidate(model.resource(place)) }
    try await world.clock.sleep(for: .seconds(60))
    for place in own {
      // Streams do not ask for what was removed.
      guard let state = last.state(place), let document = state.document else { continue }
      let present = model.server.version(place.path)
      world.check(
        document.version == present && state.error == nil,
        "\(place): a watcher has \(document), a minute after an invalidation, for version \(present), \(String(describing: state.error))"
      )
    }
  }

  /// Checks that every caller gets the server's present value.
  func judgeRecovery() async {
    for place in Place.all(owner) {
      let present = model.server.version(place.path)
      do {
        let found = try await desk(place).fetch(model.resource(place), .networkOnly)
        world.check(found.version == present, "\(place): the network is well, and gave \(found) for version \(present)")
      } catch {
        world.check(false, "\(place): the network is well, and gave \(error)")
      }
    }
  }

  /// Checks that each record on disk is whole, belongs to its owner, contains no secret, and is no
  /// older than the acknowledged value.
  func judge(_ records: [(key: RecordKey, record: Record)]) {
    let isAcknowledged = isForgetful || model.faults.saveFailure == 0
    for (key, record) in records where key.scope == layer.scope {
      let who = "on disk, \(owner): \(key)"
      let text =
        "\(record.head.fields) \(record.head.identity) \(key.identity) \(String(decoding: record.body, as: UTF8.self))"
      world.check(!text.contains(ReferenceServer.secret), "\(who): a secret")
      guard let document = try? JSONDecoder().decode(Document.self, from: record.body) else {
        world.check(false, "\(who): no document")
        continue
      }
      guard let path = ReferenceModel.paths.first(where: key.url.hasSuffix), key.method != .put else {
        world.check(false, "\(who): nobody has asked for it")
        continue
      }
      for kind in Place.Kind.allCases {
        let place = Place(owner: owner, path: path, kind: kind, language: document.language)
        var before = model.before(place)
        // A variant that nothing names any more lies there until it is replaced.
        if !isAcknowledged || model.server.varying.contains(path) { before.settled = 0 }
        model.judge(document, place, before, who)
      }
    }
  }

  /// Checks the values that the process finds after a crash.
  func judgeSurvival(_ place: Place) async {
    let promise = model.promise(place)
    let before = model.before(place)
    let found = try? await desk(place).fetch(model.resource(place), .cacheOnly)
    world.note("after the crash: \(place) \(String(describing: found))")
    let isKept = promise.removals == before.removals && promise.overwritten == before.overwritten
    guard let found else {
      return world.check(
        promise.order == 0 || !isKept, "\(place): \(promise.order) was acknowledged, and is gone")
    }
    model.judge(found, place, before, floor: isKept ? promise.order : 0, "after the crash")
  }
}
