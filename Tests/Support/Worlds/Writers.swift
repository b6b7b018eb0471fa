import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorTesting
import ReactorWrites
import Synchronization

/// Users who change lists of numbers with drafts, beside others who read them.
///
/// The server inserts and removes a number idempotently, and refuses multiples of seven. Each
/// number is inserted at most once, so the reference needs no separate order: what was accepted is
/// shown until its removal begins, and what was refused is not.
struct Writers: Sendable {
  /// A list as the server has it at one version. No draft changes the version.
  struct Numbers: Codable, Sendable, Hashable {
    var version: Int
    var numbers: [Int]
  }

  /// The known facts of one list's numbers at one moment.
  struct Facts: Sendable {
    /// The insertions that were acknowledged, without the ones whose removal has begun.
    var mustBeShown: Set<Int> = []
    /// The insertions that were refused, and the removals that were acknowledged.
    var mustNotBeShown: Set<Int> = []
  }

  static let paths = ["/a", "/b"]
  /// The users' numbers come after this one, and a double does not hold them.
  private static let first = 1 << 53

  let world: SimulatedWorld
  let server: NumberServer
  let layer: ModelLayer
  let lists: Reactor<Numbers>
  private let facts = Shared<[String: Facts]>([:])
  private let latest = Shared<[String: LoadState<Numbers>]>([:])
  private let next = Shared(Self.first)
  private let underWay = Shared<[String: Int]>([:])
  /// The requested removals of everything, and the latest number before a removal that has
  /// returned: no draft of it, or of an earlier one, is shown.
  private let removals = Shared((begun: 0, next: 0))
  private let traits: Traits
  /// Called before a list is saved.
  private let beforeSaving = Shared<(@Sendable (String) async -> Void)?>(nil)

  /// The events that are possible in one world of writers.
  private struct Traits {
    /// Memory keeps hardly anything, and only one list is watched.
    var evicts: Bool
    /// Users sign out, some without waiting for it.
    var signsOut: Bool
    /// The changes of connectivity end.
    var changesEnd: Bool
    /// No answer may be stored.
    var isUnstored: Bool
    /// Some users leave a write as soon as they see their draft.
    var leavesAtOnce: Bool
    /// The step that saves a list awaits a write of it, sometimes behind one of somebody else.
    var writesThrough: Bool

    init(_ world: SimulatedWorld) {
      let draws = world.laterDraws
      evicts = draws.chance(0.3)
      // A removal that fails leaves an older record.
      signsOut = draws.chance(0.3) && world.currentFaults.saveFailure == 0
      changesEnd = draws.chance(0.2)
      isUnstored = draws.chance(0.2)
      leavesAtOnce = draws.chance(0.3)
      writesThrough = draws.chance(0.3)
    }
  }

  init(_ world: SimulatedWorld) {
    self.world = world
    let traits = Traits(world)
    self.traits = traits
    world.note("\(traits)")
    server = NumberServer(world, isUnstored: traits.isUnstored)
    let transport = WatchedTransport(world: world)
    world.network.serve(server.answer)
    var configuration = world.configuration
    configuration.keepUnusedFor = traits.evicts ? .seconds(2) : .never
    layer = ModelLayer(
      baseURL: Self.url, transport: transport, persistence: world.disk.open(),
      reachability: world.reachability(ends: traits.changesEnd), configuration: configuration)
    lists = traits.writesThrough ? Self.stepping(layer, beforeSaving) : layer.reactor()
    guard traits.writesThrough else { return }
    let user = SimulatedUser(number: Self.stepUser, draws: world.laterDraws.split())
    beforeSaving.change { [self] in $0 = { path in await writeThrough(path, user) } }
  }

  private static let stepUser = 99

  /// A reactor whose step calls `body` before it saves.
  private static func stepping(
    _ layer: ModelLayer, _ body: Shared<(@Sendable (String) async -> Void)?>
  ) -> Reactor<Numbers> {
    var flow = layer.flow(Numbers.self)
    let save = flow.saveToPersistence
    flow.saveToPersistence = { snapshot, resource in
      await body.value?(resource.path)
      try await save(snapshot, resource)
    }
    return Reactor(flow: flow)
  }

  /// Awaits a write of the list that is being saved. It gets its answer, or an error that names the
  /// circle, also behind a write that waits for the fetch.
  private func writeThrough(_ path: String, _ user: SimulatedUser) async {
    guard Self.paths.contains(path), user.draws.chance(0.3) else { return }
    if user.draws.chance(0.5) {
      _ = spawnApart(on: world.configuration.taskExecutor) { try? await insert(path, user) }
      try? await world.clock.sleep(for: .milliseconds(1))
    }
    world.note("a step of \(path) awaits a write of it")
    try? await insert(path, user)
    world.note("the step of \(path) goes on")
  }

  private static let url = URL(string: "https://api.example.com") ?? URL(filePath: "/")

  /// The lists that are watched until the end.
  var watched: [String] { traits.evicts ? ["/a"] : Self.paths }

  func facts(_ path: String) -> Facts { facts.value[path] ?? Facts() }

  func step(_ user: SimulatedUser) async throws {
    let path = user.draws.element(of: Self.paths) ?? "/a"
    if traits.signsOut, user.draws.chance(0.08) { return try await signOut(user) }
    switch user.draws.number(below: 12) {
    case 0..<5: try await insert(path, user)
    case 5..<7: try await remove(path, user)
    case 7..<10: try await fetch(path, user)
    case 10: await lists.invalidate(Resource(path))
    default: server.changeByOthers(path)
    }
  }

  /// Removes everything. The server has it still.
  private func signOut(_ user: SimulatedUser) async throws {
    world.note("user \(user.number) signs out")
    let number = removals.change { removals in
      removals.begun += 1
      return next.value
    }
    // So that the drafts of the numbers that are given are shown.
    try await world.clock.sleep(for: .milliseconds(1))
    let isDone: Void?? = try? await user.impatiently(in: world, probability: 0.4) { try await layer.removeAll() }
    world.note("user \(user.number) \((isDone ?? nil) == nil ? "does not know" : "is signed out")")
    if (isDone ?? nil) != nil { removals.change { $0.next = max($0.next, number) } }
  }

  private func insert(_ path: String, _ user: SimulatedUser) async throws {
    let begun = removals.value.begun
    let number = next.change { next in
      next += 1
      return next
    }
    let outcome = try await mutate(path, number, .put, user) { list in
      if !list.numbers.contains(number) { list.numbers.append(number) }
    }
    switch outcome {
    // A draft that is removed is not shown, though its write is carried out.
    case .accepted where begun != removals.value.begun: break
    case .accepted: facts.change { _ = $0[path, default: Facts()].mustBeShown.insert(number) }
    case .refused: facts.change { _ = $0[path, default: Facts()].mustNotBeShown.insert(number) }
    case .unknown: break
    }
  }

  private func remove(_ path: String, _ user: SimulatedUser) async throws {
    guard let number = user.draws.element(of: facts(path).mustBeShown.sorted()) else { return }
    let begun = removals.value.begun
    facts.change { _ = $0[path]?.mustBeShown.remove(number) }
    let outcome = try await mutate(path, number, .delete, user) { list in list.numbers.removeAll { $0 == number } }
    if outcome == .accepted, begun == removals.value.begun {
      facts.change { _ = $0[path]?.mustNotBeShown.insert(number) }
    }
  }

  private enum Outcome { case accepted, refused, unknown }

  private func mutate(
    _ path: String, _ number: Int, _ method: HTTPRequest.Method, _ user: SimulatedUser,
    _ draft: @escaping @Sendable (inout Numbers) -> Void
  ) async throws -> Outcome {
    let who = "user \(user.number): \(method.rawValue) \(number) of \(path)"
    world.note(who)
    underWay.change { $0[path, default: 0] += 1 }
    defer { underWay.change { $0[path, default: 0] -= 1 } }
    do {
      let request = Resource(path + "/\(number)", method: method)
      let isDone = try await user.impatiently(in: world, after: .seconds(3)) {
        // A step that waits for a task of its own would wait for ever, and nobody could know.
        guard traits.leavesAtOnce, user.number != Self.stepUser, user.draws.chance(0.3) else {
          try await lists.mutate(Resource(path), by: request, draft: draft)
          return true
        }
        try await leave(path, request, draft)
        return true
      }
      world.note("\(who): \(isDone == nil ? "gave up" : "accepted")")
      return isDone == nil ? .unknown : .accepted
    } catch ReactorError.server(let response, _) where response.status == .unprocessableContent {
      world.note("\(who): refused")
      return .refused
    } catch {
      world.note("\(who): \(error)")
      return .unknown
    }
  }

  /// Changes a list, and cancels that once the draft is drawn: often before the library's own task
  /// has begun.
  private func leave(_ path: String, _ request: Resource, _ draft: @escaping @Sendable (inout Numbers) -> Void)
    async throws
  {
    let caller = Shared<Task<Void, Never>?>(nil)
    let failure = Shared<(any Error)?>(nil)
    let task = spawnApart(on: world.configuration.taskExecutor) {
      do {
        try await lists.mutate(Resource(path), by: request) { list in
          caller.value?.cancel()
          draft(&list)
        }
      } catch { failure.change { $0 = error } }
    }
    caller.change { $0 = task }
    await task.value
    if let failure = failure.value { throw failure }
  }

  private func fetch(_ path: String, _ user: SimulatedUser) async throws {
    let policies: [FetchPolicy] = [.cacheFirst, .staleWhileRevalidate, .networkFirst, .networkOnly, .cacheOnly]
    let policy = user.draws.element(of: policies) ?? .cacheFirst
    let (who, before) = ("user \(user.number) fetches \(path) by \(policy)", facts(path))
    let removed = removals.value.next
    let list = try? await user.impatiently(in: world) { try await lists.fetch(Resource(path), policy: policy) }
    guard let list = list ?? nil else { return }
    judge(list, path, before, who)
    judgeDrafts(list, path, since: removed, who)
    if let confirmed = lists.confirmed(Resource(path)) { judge(confirmed, path, before, "confirmed after \(who)") }
  }

  /// Watches as long as the task lives.
  func watch(_ path: String) async {
    // A state that is delivered now is newer than the one before, but perhaps not newer than now.
    var (before, removed) = (facts(path), removals.value.next)
    for await state in lists.states(for: Resource(path)) {
      latest.change { $0[path] = state }
      if let list = state.value {
        world.note("a watcher of \(path): \(list.version) \(list.numbers) \(state.drafts.count) drafts")
        judge(list, path, before, "a watcher of \(path)")
        judgeDrafts(list, path, since: removed, "a watcher of \(path)")
      }
      (before, removed) = (facts(path), removals.value.next)
    }
  }

  /// What is shown beside the server's numbers is of drafts since the last removal of everything.
  private func judgeDrafts(_ list: Numbers, _ path: String, since removed: Int, _ who: String) {
    let known = server.numbers(list.version, of: path)
    let old = list.numbers.filter { $0 <= removed && $0 > Self.first && !known.contains($0) }
    world.check(old.isEmpty, "\(who): the drafts of \(old) are shown, and everything was removed since")
  }

  private func judge(_ list: Numbers, _ path: String, _ before: Facts, _ who: String) {
    let (shown, now) = (Set(list.numbers), facts(path))
    world.check(shown.count == list.numbers.count, "\(who): a number is shown twice: \(list.numbers)")
    // A removal that has begun meanwhile may show already.
    let missing = before.mustBeShown.intersection(now.mustBeShown).subtracting(shown)
    world.check(missing.isEmpty, "\(who): \(missing.sorted()) was accepted, and is not shown in \(list)")
    let extra = before.mustNotBeShown.intersection(shown)
    world.check(extra.isEmpty, "\(who): \(extra.sorted()) was refused or removed, and is shown in \(list)")
  }

  /// The streams ask again by themselves. A caller's request is not made before: it would pass a
  /// list at which streams wait for a write that is over.
  private func judgeWatchers() async {
    // One that does not ask would show what the server had before.
    for path in Self.paths { server.changeByOthers(path) }
    for path in Self.paths { await lists.invalidate(Resource(path)) }
    try? await world.clock.sleep(for: .seconds(60))
    for path in watched {
      guard let state = latest.value[path] else { continue }
      // Streams do not ask for what was removed.
      guard state.value != nil || removals.value.begun == 0 else { continue }
      world.check(
        state.value == server.list(path) && state.drafts.isEmpty && state.error == nil,
        "a watcher of \(path) shows \(String(describing: state.value)), a minute after an invalidation")
    }
  }

  /// Once nothing is under way: everybody shows what the server has, and the disk has had nothing
  /// else.
  func judgeEnd() async {
    beforeSaving.change { $0 = nil }
    await judgeWatchers()
    for path in Self.paths {
      world.check(underWay.value[path] ?? 0 == 0, "a write of \(path) has not ended")
      guard let list = try? await lists.fetchFromNetwork(Resource(path)) else {
        world.check(false, "\(path) cannot be fetched, and nothing fails any more")
        continue
      }
      world.check(list == server.list(path), "\(list) is shown at the end, and the server has \(server.list(path))")
      world.check(
        traits.evicts || traits.isUnstored || lists.cached(Resource(path)) == list,
        "memory shows \(String(describing: lists.cached(Resource(path))))")
    }
    try? await world.clock.sleep(for: .seconds(1))
    for path in watched {
      let state = latest.value[path]
      world.check(state?.value == server.list(path), "a watcher of \(path) shows \(String(describing: state?.value))")
      world.check(state?.drafts.isEmpty == true, "a watcher of \(path) shows drafts at the end")
    }
    for (key, record) in await world.disk.records() {
      guard let list = try? JSONDecoder().decode(Numbers.self, from: record.body) else { continue }
      world.check(server.hasHad(list, key.url), "the record of \(key) has what the server never had: \(list)")
    }
  }
}

/// The network, which sees that no read of a list begins while a write of it is being sent.
private final class WatchedTransport: Transport {
  private let world: SimulatedWorld
  private let writes = Mutex<[Substring: Int]>([:])

  init(world: SimulatedWorld) { self.world = world }

  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    let path = (request.path ?? "").split(separator: "/").first ?? ""
    guard request.method != .get else {
      let count = writes.withLock { $0[path] ?? 0 }
      world.check(count == 0, "/\(path) is read while a write of it is sent")
      return try await world.network.send(request, body: body, progress: progress)
    }
    let count = writes.withLock { writes in
      writes[path, default: 0] += 1
      return writes[path] ?? 0
    }
    world.check(count == 1, "\(count) writes of /\(path) are sent at once")
    defer { writes.withLock { $0[path, default: 0] -= 1 } }
    return try await world.network.send(request, body: body, progress: progress)
  }
}
