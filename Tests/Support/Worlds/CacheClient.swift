import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorTesting
import Synchronization

/// A user of the library: a layer and a scope, with two types of model.
struct CacheClient: Sendable {
  let owner: String
  let model: ReferenceModel
  let layer: ModelLayer
  let desks: [ErasedReactor]
  let last = LastStates()

  /// True if acknowledged values are on disk and may be dropped from memory.
  let isForgetful: Bool

  /// Steps of the flow use the layer. They keep what is answered from being saved, so a fetch that
  /// joins meanwhile is not judged by when its answer came.
  let isLooking: Bool

  init(
    _ owner: String, _ model: ReferenceModel, _ disk: any Persistence, isForgetful: Bool, mayLook: Bool = false
  ) {
    self.owner = owner
    self.model = model
    self.isForgetful = isForgetful
    layer = model.layer(owner, disk, isForgetful: isForgetful)
    isLooking = mayLook && model.world.draws.chance(0.5)
    let documents: Reactor<Document> = isLooking ? Self.looking(layer, model) : layer.reactor()
    desks = [ErasedReactor(.document, documents), ErasedReactor(.sheet, layer.reactor(Sheet.self))]
  }

  /// A reactor whose load step reads the next document first, whose own step reads the one after
  /// it.
  private static func looking(_ layer: ModelLayer, _ model: ReferenceModel) -> Reactor<Document> {
    struct Own: Sendable { weak var reactor: Reactor<Document>? }
    let own = Shared(Own())
    var flow = layer.flow(Document.self)
    let load = flow.loadFromPersistence
    flow.loadFromPersistence = { resource in
      let paths = ReferenceModel.paths
      let next = (paths.firstIndex(of: resource.path) ?? 0) + 1
      // A cycle of these loads is a deadlock; the last caller gets the error.
      _ = try? await own.value.reactor?.fetch(model.resource(paths[next % paths.count], resource.headers))
      return try await load(resource)
    }
    let reactor = Reactor(flow: flow)
    own.change { $0.reactor = reactor }
    return reactor
  }

  func desk(_ place: Place) -> ErasedReactor { desks[place.kind == .document ? 0 : 1] }

  var world: SimulatedWorld { model.world }

  fileprivate var mayFailOnDisk: Bool { model.faults.saveFailure > 0 || model.diskHasCrashed }

  func step(_ user: SimulatedUser) async throws {
    let place = place(user.draws)
    switch user.draws.number(below: 21) {
    case 0..<8: try await fetch(place, user)
    case 8..<10: try await fetchFromNetwork(place, user)
    case 10..<12: try await write(place, user)
    case 12..<14: await invalidate(place, user)
    case 14: try await remove(place, user)
    case 15: if user.draws.chance(0.5) { try await signOut(user) }
    case 16..<18: model.server.change(place.path)
    case 18: try await put(place, user)
    default: await look(place, user)
    }
  }

  /// Any place of this client's.
  func place(_ draws: SeededDraws) -> Place {
    Place(
      owner: owner, path: draws.element(of: ReferenceModel.paths) ?? "/a",
      kind: draws.chance(0.3) ? .sheet : .document, language: draws.element(of: Place.languages) ?? "en")
  }

  private func fetch(_ place: Place, _ user: SimulatedUser) async throws {
    let policies: [FetchPolicy] = [
      .cacheFirst, .cacheFirst, .staleWhileRevalidate, .networkFirst, .cacheOnly, .networkOnly,
    ]
    let policy = user.draws.element(of: policies) ?? .cacheFirst
    let who = "user \(user.number) fetches \(place) by \(policy)"
    let before = model.before(place)
    world.note(who)
    do {
      let document = try await user.impatiently(in: world) {
        try await desk(place).fetch(model.resource(place), policy)
      }
      guard let document else { return world.note("\(who): gave up") }
      world.note("\(who): \(document.version)/\(document.order)")
      model.judge(document, place, before, mustBeGood: policy == .cacheFirst && !isLooking, who)
    } catch ReactorError.notCached where policy == .cacheOnly {
      world.note("\(who): not cached")
    } catch {
      world.note("\(who): \(error)")
      model.judge(error, place, before, mayFailOnDisk: isForgetful && mayFailOnDisk, who)
    }
  }

  func fetchFromNetwork(_ place: Place, _ user: SimulatedUser) async throws {
    let who = "user \(user.number) asks the network for \(place)"
    let before = model.before(place)
    world.note(who)
    do {
      let document = try await user.impatiently(in: world) {
        try await desk(place).fetch(model.resource(place), .networkOnly)
      }
      guard let document else { return }
      world.note("\(who): \(document.version)/\(document.order)")
      let order = model.judge(document, place, before, mustBeAsked: !isLooking, who)
      // Waiters are notified of a local write before it is on disk. An overtaken value is not
      // stored. Neither is a value that was confirmed while it was only in memory.
      let isNew = (model.server.arrival(document.order) ?? .zero) >= before.asked
      let mayBeStored = isNew && !before.isBeingWritten
      if isForgetful, document.version > 0, mayBeStored, model.slowness == .zero {
        model.promised(place, order, before)
      }
    } catch {
      world.note("\(who): \(error)")
      model.judge(error, place, before, mayFailOnDisk: isForgetful && mayFailOnDisk, who)
    }
  }

  private func write(_ place: Place, _ user: SimulatedUser) async throws {
    let order = model.beginWriting(place)
    defer { model.endWriting(place) }
    world.note("user \(user.number) writes \(place) as \(order)")
    let before = model.before(place)
    let document = model.server.written(owner, place.path, order: order)
    do {
      try await desk(place).save(document, model.resource(place))
      model.written(place, order, isOnDisk: marksOnDisk)
      if isForgetful { model.promised(place, order, before) }
      world.note("written as \(order)")
    } catch {
      model.judgeOfDisk(error, mayFailOnDisk: isForgetful && mayFailOnDisk, "writing \(place) as \(order)")
      world.note("not written as \(order): \(error)")
    }
  }

  private func invalidate(_ place: Place, _ user: SimulatedUser) async {
    let order = model.beginInvalidating(place)
    defer { model.endInvalidating(place) }
    world.note("user \(user.number) invalidates \(place) as \(order)")
    await desk(place).invalidate(model.resource(place))
    invalidated(place.path, order)
  }

  /// Records an invalidation. If its mark could not be saved, the value counts as fresh again once
  /// memory has evicted it.
  private func invalidated(_ path: String, _ order: Int) {
    if marksOnDisk || !isForgetful { model.invalidated(owner, path, order) }
  }

  private var marksOnDisk: Bool { model.faults.saveFailure == 0 && model.faults.loadFailure == 0 }

  /// Changes the document at the server, which makes the copy stale.
  private func put(_ place: Place, _ user: SimulatedUser) async throws {
    let order = model.beginInvalidating(place)
    defer { model.endInvalidating(place) }
    let who = "user \(user.number) puts \(place) as \(order)"
    world.note(who)
    let before = model.before(place)
    do {
      let document = try await user.impatiently(in: world) {
        try await desk(place).fetch(model.resource(place, changes: true), .cacheFirst)
      }
      guard let document else { return world.note("\(who): gave up") }
      world.note("\(who): done, \(document.version)")
      invalidated(place.path, order)
    } catch {
      world.note("\(who): \(error)")
      model.judge(error, place, before, who)
    }
  }

  private func remove(_ place: Place, _ user: SimulatedUser) async throws {
    let order = model.begin(owner, [place.path], removes: true)
    defer { model.end(owner, [place.path], removes: true) }
    world.note("user \(user.number) removes \(place) as \(order)")
    do {
      try await desk(place).remove(model.resource(place))
      model.removed(owner, [place.path], order)
      world.note("removed as \(order)")
    } catch {
      model.notRemoved(owner, [place.path], comesBack: !isForgetful)
      model.judgeOfDisk(error, mayFailOnDisk: mayFailOnDisk, "removing \(place) as \(order)")
      world.note("not removed as \(order): \(error)")
    }
  }

  private func signOut(_ user: SimulatedUser) async throws {
    let order = model.begin(owner, ReferenceModel.paths, removes: true)
    defer { model.end(owner, ReferenceModel.paths, removes: true) }
    world.note("user \(user.number) signs \(owner) out as \(order)")
    do {
      try await layer.removeAll()
      model.removed(owner, ReferenceModel.paths, order)
      world.note("signed out as \(order)")
    } catch {
      model.notRemoved(owner, ReferenceModel.paths, comesBack: !isForgetful)
      model.judgeOfDisk(error, mayFailOnDisk: mayFailOnDisk, "signing \(owner) out as \(order)")
      world.note("not signed out as \(order): \(error)")
    }
  }

  /// Watches for a while.
  private func look(_ place: Place, _ user: SimulatedUser) async {
    let longest = user.draws.duration(upTo: .seconds(5))
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await watch(place, isLasting: false) }
      group.addTask { try? await world.clock.sleep(for: longest) }
      await group.next()
      group.cancelAll()
    }
  }

  /// Watches as long as the task lives.
  ///
  /// - Parameters:
  ///   - isLasting: whether it is there at the end. The last state that a leaving observer gets may
  ///     be older than what the others have by then.
  ///   - polling: how often it asks the network; zero: not at all.
  func watch(_ place: Place, isLasting: Bool = true, polling: Duration = .zero) async {
    let watcher = Watcher(self, place, isLasting: isLasting)
    let resource = model.resource(place)
    guard world.draws.chance(0.4) else {
      await desk(place).watch(resource, polling) { watcher.see($0) }
      return world.check(Task.isCancelled, "\(watcher.who): the stream has ended")
    }
    let token = desk(place).observe(resource, polling) { watcher.see($0) }
    try? await Gate().wait()
    token.cancel()
    watcher.end()
  }
}

/// Judges the states that one stream or observer gets.
private final class Watcher: Sendable {
  private struct State {
    var floor = 0
    var before: ReferenceModel.Before
    /// The conditions before the latest observed value arrived.
    var shown: ReferenceModel.Before?
  }

  let who: String
  private let client: CacheClient
  private let place: Place
  private let isLasting: Bool
  private let state: Mutex<State>
  private let isOver = Atomic(false)

  init(_ client: CacheClient, _ place: Place, isLasting: Bool) {
    who = "a watcher of \(place)"
    (self.client, self.place, self.isLasting) = (client, place, isLasting)
    state = Mutex(State(before: client.model.before(place)))
  }

  /// The observer is called no more.
  func end() { isOver.store(true, ordering: .sequentiallyConsistent) }

  func see(_ seen: ErasedReactor.Seen) {
    let (world, model) = (client.world, client.model)
    world.check(!isOver.load(ordering: .sequentiallyConsistent), "\(who): it is called after its end")
    if isLasting { client.last.set(place, seen) }
    var state = state.withLock(\.self)
    let now = model.before(place)
    // A removal that fails brings back what a save that failed has not replaced. What was seen
    // while it was under way may be from before it. It may have failed already where its caller has
    // yet to learn it.
    let mayComeBack =
      state.before.isBeingRemoved && (now.isBeingRemoved || now.failedRemovals != state.before.failedRemovals)
    if now.removals != state.before.removals || mayComeBack { state.floor = 0 }
    if let error = seen.error {
      model.judge(
        error, place, state.before, mayFailOnDisk: client.isForgetful && client.mayFailOnDisk, who)
    }
    if let document = seen.document {
      world.note(
        "\(who): \(document.version)/\(document.order) \(seen.fetchStatus)\(seen.isStale ? ", stale" : "")")
      state.floor = model.judge(
        document, place, state.before, floor: state.floor, isCurrent: !seen.isStale, who)
      state.shown = state.before
    } else if let shown = state.shown.take() {
      let mayGo = shown.isBeingRemoved || now.removals != shown.removals
      world.check(mayGo, "\(who): the value is gone, and nobody has removed it")
    }
    state.before = now
    self.state.withLock { [state] in $0 = state }
  }
}

/// The latest state of each place that its lasting watcher has got.
final class LastStates: Sendable {
  private let states = Mutex<[Place: ErasedReactor.Seen]>([:])

  func set(_ place: Place, _ state: ErasedReactor.Seen) { states.withLock { $0[place] = state } }
  func state(_ place: Place) -> ErasedReactor.Seen? { states.withLock { $0[place] } }
}
