import Foundation
import ReactorCore
import ReactorTesting
import Synchronization

/// One who uses the library: a layer and a scope.
struct Household: Sendable {
  let owner: String
  let model: ReferenceModel
  let layer: ModelLayer
  let documents: Reactor<Document>
  private let last = LastStates()

  init(_ owner: String, _ model: ReferenceModel, _ disk: any Persistence, failsWhenSaveFails: Bool = false) {
    self.owner = owner
    self.model = model
    layer = model.layer(owner, disk, failsWhenSaveFails: failsWhenSaveFails)
    documents = layer.reactor()
  }

  private var world: SimulatedWorld { model.world }

  func step(_ user: SimulatedUser) async throws {
    let path = user.draws.element(of: ReferenceModel.paths) ?? "/a"
    switch user.draws.number(below: 20) {
    case 0..<8: try await fetch(path, user)
    case 8..<10: _ = try await fetchFromNetwork(path, user)
    case 10..<12: try await write(path, user)
    case 12..<14: try await invalidate(path, user)
    case 14: try await remove(path, user)
    case 15: if user.draws.chance(0.5) { try await signOut(user) }
    case 16..<18: model.server.change(path)
    default: await look(path, user)
    }
  }

  private func fetch(_ path: String, _ user: SimulatedUser) async throws {
    let policies: [FetchPolicy] = [
      .cacheFirst, .cacheFirst, .staleWhileRevalidate, .networkFirst, .cacheOnly, .networkOnly,
    ]
    let policy = user.draws.element(of: policies) ?? .cacheFirst
    let who = "user \(user.number) fetches \(owner)\(path) by \(policy)"
    let before = model.before(owner, path)
    world.note(who)
    do {
      let document = try await user.impatiently(in: world) {
        try await documents.fetch(Resource(path), policy: policy)
      }
      guard let document else { return world.note("\(who): gave up") }
      world.note("\(who): \(document.version)/\(document.order)")
      model.judge(document, owner, path, before, mustBeGood: policy == .cacheFirst, who)
    } catch {
      world.note("\(who): \(error)")
    }
  }

  /// - Returns: the least number that the answer may have; `nil` where there was none.
  func fetchFromNetwork(_ path: String, _ user: SimulatedUser) async throws -> Int? {
    let who = "user \(user.number) asks the network for \(owner)\(path)"
    let before = model.before(owner, path)
    world.note(who)
    let document = try? await user.impatiently(in: world) { try await documents.fetchFromNetwork(Resource(path)) }
    guard let document else { return nil }
    world.note("\(who): \(document.version)/\(document.order)")
    return model.judge(document, owner, path, before, mustBeAsked: true, who)
  }

  private func write(_ path: String, _ user: SimulatedUser) async throws {
    let order = model.begin(owner, [path])
    defer { model.end(owner, [path]) }
    world.note("user \(user.number) writes \(owner)\(path) as \(order)")
    let document = model.server.written(owner, path, order: order)
    do {
      try await documents.save(document, for: Resource(path))
      model.settled(owner, [path], order)
      world.note("written as \(order)")
    } catch {
      world.note("not written as \(order): \(error)")
    }
  }

  private func invalidate(_ path: String, _ user: SimulatedUser) async throws {
    let order = model.begin(owner, [path])
    defer { model.end(owner, [path]) }
    world.note("user \(user.number) invalidates \(owner)\(path) as \(order)")
    await documents.invalidate(Resource(path))
    model.invalidated(owner, path, order)
  }

  private func remove(_ path: String, _ user: SimulatedUser) async throws {
    let order = model.begin(owner, [path], removes: true)
    defer { model.end(owner, [path]) }
    world.note("user \(user.number) removes \(owner)\(path) as \(order)")
    do {
      try await documents.remove(Resource(path))
      model.settled(owner, [path], order)
    } catch {
      world.note("not removed as \(order): \(error)")
    }
  }

  private func signOut(_ user: SimulatedUser) async throws {
    let order = model.begin(owner, ReferenceModel.paths, removes: true)
    defer { model.end(owner, ReferenceModel.paths) }
    world.note("user \(user.number) signs \(owner) out as \(order)")
    do {
      try await layer.removeAll()
      model.settled(owner, ReferenceModel.paths, order)
    } catch {
      world.note("not signed out as \(order): \(error)")
    }
  }

  /// Watches for a while.
  private func look(_ path: String, _ user: SimulatedUser) async {
    let longest = user.draws.duration(upTo: .seconds(5))
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await watch(path) }
      group.addTask { try? await world.clock.sleep(for: longest) }
      await group.next()
      group.cancelAll()
    }
  }

  /// Watches as long as the task lives.
  func watch(_ path: String) async {
    let who = "a watcher of \(owner)\(path)"
    var floor = 0
    let states = documents.states(for: Resource(path)).makeAsyncIterator()
    await watch(path, states, who, &floor)
    world.check(Task.isCancelled, "\(who): the stream has ended")
  }

  private func watch(
    _ path: String, _ states: LoadStates<Document>.Iterator, _ who: String, _ floor: inout Int
  ) async {
    var states = states
    var before = model.before(owner, path)
    while let state = await states.next() {
      last.set(path, state)
      let now = model.before(owner, path)
      if now.removals != before.removals { floor = 0 }
      if let document = state.value {
        world.note("\(who): \(document.version)/\(document.order) \(state.fetchStatus)")
        floor = model.judge(document, owner, path, before, floor: floor, who)
      }
      before = now
    }
  }

  /// When nothing is under way, what is watched is what is known.
  func judgeEnd() {
    for path in ReferenceModel.paths {
      let state = last.state(path)
      let cached = documents.cached(Resource(path))
      world.check(
        state?.value == cached,
        "\(owner)\(path): a watcher has \(String(describing: state?.value)), memory \(String(describing: cached))")
      world.check(state?.fetchStatus == .idle, "\(owner)\(path): still \(String(describing: state?.fetchStatus))")
    }
  }

  /// In a world that is well, whoever asks gets the server's present word.
  func judgeRecovery() async {
    for path in ReferenceModel.paths {
      let found = try? await documents.fetchFromNetwork(Resource(path))
      let present = model.server.version(path)
      world.check(
        found?.version == present,
        "\(owner)\(path): the network is well, and gave \(String(describing: found)) for version \(present)")
    }
  }

  func judgeSurvival(_ path: String, _ acknowledged: Int) async {
    let before = model.before(owner, path)
    let found = try? await documents.fetch(Resource(path), policy: .cacheOnly)
    world.note("after the crash: \(owner)\(path) \(String(describing: found))")
    guard let found else {
      return world.check(acknowledged == 0, "\(owner)\(path): \(acknowledged) was acknowledged, and is gone")
    }
    model.judge(found, owner, path, before, floor: acknowledged, "after the crash")
  }
}

/// The latest state of each path that a watcher has got.
private final class LastStates: Sendable {
  private let states = Mutex<[String: LoadState<Document>]>([:])

  func set(_ path: String, _ state: LoadState<Document>) { states.withLock { $0[path] = state } }
  func state(_ path: String) -> LoadState<Document>? { states.withLock { $0[path] } }
}
