import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting

/// What must hold once nothing is under way, and nothing goes wrong any more.
extension Household {
  /// What is watched is what is known.
  func judgeEnd(watching paths: [String]) {
    for path in paths {
      let state = last.state(path)
      let cached = documents.cached(Resource(path))
      world.check(
        state?.value == cached,
        "\(owner)\(path): a watcher has \(String(describing: state?.value)), memory \(String(describing: cached))")
      world.check(state?.fetchStatus == .idle, "\(owner)\(path): still \(String(describing: state?.fetchStatus))")
    }
  }

  /// Whoever asks gets the server's present word.
  func judgeRecovery() async {
    for path in ReferenceModel.paths {
      let present = model.server.version(path)
      do {
        let found = try await documents.fetchFromNetwork(Resource(path))
        world.check(
          found.version == present, "\(owner)\(path): the network is well, and gave \(found) for version \(present)")
      } catch {
        world.check(false, "\(owner)\(path): the network is well, and gave \(error)")
      }
    }
  }

  /// What is on disk is whole, its owner's, no secret, and no older than what was acknowledged.
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
      guard let path = ReferenceModel.paths.first(where: key.url.hasSuffix), key.method == .get else {
        world.check(false, "\(who): nobody has asked for it")
        continue
      }
      var before = model.before(owner, path)
      if !isAcknowledged { before.settled = 0 }
      model.judge(document, owner, path, before, who)
    }
  }

  /// What a process that comes after a crash finds.
  func judgeSurvival(_ path: String) async {
    let promise = model.promise(owner, path)
    let before = model.before(owner, path)
    let found = try? await documents.fetch(Resource(path), policy: .cacheOnly)
    world.note("after the crash: \(owner)\(path) \(String(describing: found))")
    guard let found else {
      return world.check(
        promise.order == 0 || promise.removals != before.removals,
        "\(owner)\(path): \(promise.order) was acknowledged, and is gone")
    }
    let floor = promise.removals == before.removals ? promise.order : 0
    model.judge(found, owner, path, before, floor: floor, "after the crash")
  }
}
