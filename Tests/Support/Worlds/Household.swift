import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization

/// One who uses the library: a layer and a scope.
struct Household: Sendable {
  let owner: String
  let model: ReferenceModel
  let layer: ModelLayer
  let documents: Reactor<Document>
  let last = LastStates()

  /// Whether what was acknowledged is on disk, and may be dropped from memory.
  let isForgetful: Bool

  /// Steps of the flow use the layer. They keep what is answered from being saved, so a fetch that joins meanwhile is not judged
  /// by when its answer came.
  let isLooking: Bool

  init(
    _ owner: String, _ model: ReferenceModel, _ disk: any Persistence, isForgetful: Bool, mayLook: Bool = false
  ) {
    self.owner = owner
    self.model = model
    self.isForgetful = isForgetful
    layer = model.layer(owner, disk, isForgetful: isForgetful)
    isLooking = mayLook && model.world.draws.chance(0.5)
    documents = isLooking ? Self.looking(layer) : layer.reactor()
  }

  /// A reactor whose load step reads the next document first, whose own step reads the one after it.
  private static func looking(_ layer: ModelLayer) -> Reactor<Document> {
    struct Own: Sendable { weak var reactor: Reactor<Document>? }
    let own = Shared(Own())
    var flow = layer.flow(Document.self)
    let load = flow.loadFromPersistence
    flow.loadFromPersistence = { resource in
      let paths = ReferenceModel.paths
      let next = (paths.firstIndex(of: resource.path) ?? 0) + 1
      // Round the circle this is a deadlock, which the last of them is told.
      _ = try? await own.value.reactor?.fetch(Resource(paths[next % paths.count]))
      return try await load(resource)
    }
    let reactor = Reactor(flow: flow)
    own.change { $0.reactor = reactor }
    return reactor
  }

  var world: SimulatedWorld { model.world }

  private var mayFailOnDisk: Bool { model.faults.saveFailure > 0 || model.diskHasCrashed }

  func step(_ user: SimulatedUser) async throws {
    let path = user.draws.element(of: ReferenceModel.paths) ?? "/a"
    switch user.draws.number(below: 21) {
    case 0..<8: try await fetch(path, user)
    case 8..<10: try await fetchFromNetwork(path, user)
    case 10..<12: try await write(path, user)
    case 12..<14: await invalidate(path, user)
    case 14: try await remove(path, user)
    case 15: if user.draws.chance(0.5) { try await signOut(user) }
    case 16..<18: model.server.change(path)
    case 18: try await put(path, user)
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
      model.judge(document, owner, path, before, mustBeGood: policy == .cacheFirst && !isLooking, who)
    } catch ReactorError.notCached where policy == .cacheOnly {
      world.note("\(who): not cached")
    } catch {
      world.note("\(who): \(error)")
      model.judge(error, owner, path, before, mayFailOnDisk: isForgetful && mayFailOnDisk, who)
    }
  }

  func fetchFromNetwork(_ path: String, _ user: SimulatedUser) async throws {
    let who = "user \(user.number) asks the network for \(owner)\(path)"
    let before = model.before(owner, path)
    world.note(who)
    do {
      let document = try await user.impatiently(in: world) { try await documents.fetchFromNetwork(Resource(path)) }
      guard let document else { return }
      world.note("\(who): \(document.version)/\(document.order)")
      let order = model.judge(document, owner, path, before, mustBeAsked: !isLooking, who)
      // Who waits is told of a local write before that is on disk.
      if isForgetful, document.version > 0 { model.promised(owner, path, order, before) }
    } catch {
      world.note("\(who): \(error)")
      model.judge(error, owner, path, before, mayFailOnDisk: isForgetful && mayFailOnDisk, who)
    }
  }

  private func write(_ path: String, _ user: SimulatedUser) async throws {
    let order = model.begin(owner, [path])
    defer { model.end(owner, [path]) }
    world.note("user \(user.number) writes \(owner)\(path) as \(order)")
    let before = model.before(owner, path)
    let document = model.server.written(owner, path, order: order)
    do {
      try await documents.save(document, for: Resource(path))
      model.settled(owner, [path], order)
      if isForgetful { model.promised(owner, path, order, before) }
      world.note("written as \(order)")
    } catch {
      model.judgeOfDisk(error, mayFailOnDisk: isForgetful && mayFailOnDisk, "writing \(owner)\(path) as \(order)")
      world.note("not written as \(order): \(error)")
    }
  }

  private func invalidate(_ path: String, _ user: SimulatedUser) async {
    let order = model.begin(owner, [path])
    defer { model.end(owner, [path]) }
    world.note("user \(user.number) invalidates \(owner)\(path) as \(order)")
    await documents.invalidate(Resource(path))
    invalidated(path, order)
  }

  /// What could not be marked on disk counts as fresh again once memory has forgotten it.
  private func invalidated(_ path: String, _ order: Int) {
    let isOnDisk = model.faults.saveFailure == 0 && model.faults.loadFailure == 0
    if isOnDisk || !isForgetful { model.invalidated(owner, path, order) }
  }

  /// Changes the document at the server, which makes the copy stale.
  private func put(_ path: String, _ user: SimulatedUser) async throws {
    let order = model.begin(owner, [path])
    defer { model.end(owner, [path]) }
    let who = "user \(user.number) puts \(owner)\(path) as \(order)"
    world.note(who)
    let before = model.before(owner, path)
    do {
      let document = try await user.impatiently(in: world) {
        try await documents.fetch(Resource(path, method: .put))
      }
      guard let document else { return world.note("\(who): gave up") }
      world.note("\(who): done, \(document.version)")
      invalidated(path, order)
    } catch {
      world.note("\(who): \(error)")
      model.judge(error, owner, path, before, who)
    }
  }

  private func remove(_ path: String, _ user: SimulatedUser) async throws {
    let order = model.begin(owner, [path], removes: true)
    defer { model.end(owner, [path], removes: true) }
    world.note("user \(user.number) removes \(owner)\(path) as \(order)")
    do {
      try await documents.remove(Resource(path))
      model.settled(owner, [path], order)
      world.note("removed as \(order)")
    } catch {
      if !isForgetful { model.notRemoved(owner, [path]) }
      model.judgeOfDisk(error, mayFailOnDisk: mayFailOnDisk, "removing \(owner)\(path) as \(order)")
      world.note("not removed as \(order): \(error)")
    }
  }

  private func signOut(_ user: SimulatedUser) async throws {
    let order = model.begin(owner, ReferenceModel.paths, removes: true)
    defer { model.end(owner, ReferenceModel.paths, removes: true) }
    world.note("user \(user.number) signs \(owner) out as \(order)")
    do {
      try await layer.removeAll()
      model.settled(owner, ReferenceModel.paths, order)
      world.note("signed out as \(order)")
    } catch {
      if !isForgetful { model.notRemoved(owner, ReferenceModel.paths) }
      model.judgeOfDisk(error, mayFailOnDisk: mayFailOnDisk, "signing \(owner) out as \(order)")
      world.note("not signed out as \(order): \(error)")
    }
  }

  /// Watches for a while.
  private func look(_ path: String, _ user: SimulatedUser) async {
    let longest = user.draws.duration(upTo: .seconds(5))
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await watch(path, isLasting: false) }
      group.addTask { try? await world.clock.sleep(for: longest) }
      await group.next()
      group.cancelAll()
    }
  }

  /// Watches as long as the task lives.
  ///
  /// - Parameter isLasting: whether it is there at the end. What one that leaves is given last may be older than what the
  ///   others have by then.
  func watch(_ path: String, isLasting: Bool = true) async {
    let who = "a watcher of \(owner)\(path)"
    var floor = 0
    let states = documents.states(for: Resource(path)).makeAsyncIterator()
    await watch(path, states, who, &floor, isLasting)
    world.check(Task.isCancelled, "\(who): the stream has ended")
  }

  private func watch(
    _ path: String, _ states: LoadStates<Document>.Iterator, _ who: String, _ floor: inout Int, _ isLasting: Bool
  ) async {
    var states = states
    var before = model.before(owner, path)
    /// What was so before the value came that was seen last.
    var shown: ReferenceModel.Before?
    while let state = await states.next() {
      if isLasting { last.set(path, state) }
      let now = model.before(owner, path)
      if now.removals != before.removals { floor = 0 }
      if let error = state.error {
        model.judge(error, owner, path, before, mayFailOnDisk: isForgetful && mayFailOnDisk, who)
      }
      if let document = state.value {
        world.note("\(who): \(document.version)/\(document.order) \(state.fetchStatus)")
        floor = model.judge(document, owner, path, before, floor: floor, who)
        shown = before
      } else if let shown = shown.take() {
        let mayGo = shown.isBeingRemoved || now.removals != shown.removals
        world.check(mayGo, "\(who): the value is gone, and nobody has removed it")
      }
      before = now
    }
  }
}

/// The latest state of each path that its lasting watcher has got.
final class LastStates: Sendable {
  private let states = Mutex<[String: LoadState<Document>]>([:])

  func set(_ path: String, _ state: LoadState<Document>) { states.withLock { $0[path] = state } }
  func state(_ path: String) -> LoadState<Document>? { states.withLock { $0[path] } }
}
