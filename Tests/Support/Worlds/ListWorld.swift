import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorLists
import ReactorTesting
import ReactorWrites
import Synchronization

/// A headline of the newsstand. The server shows them by rank, highest first.
private struct Headline: Codable, Entity, Hashable {
  let id: Int
  var rank: Int
  /// The session whose request was answered. Nothing of an earlier one is shown after a sign-out.
  var session = 0
}

/// A page, with the ranks between which it lies.
private struct NewsPage: Codable, EntityContainer, Hashable {
  var headlines: [Headline]
  /// The rank that the request named.
  let after: Int
  /// The rank of the last headline; zero at the end.
  let next: Int

  mutating func updateMembers(_ body: (Headline) -> Headline?) { headlines.updateMembers(body) }
}

/// A world of lists in pages. The server inserts, deletes and reorders headlines while lists load,
/// turn and refresh. A page is what follows a rank; its link names the rank of its last headline.
final class ListWorld: Sendable {
  private struct Server {
    var headlines: [Headline] = (1...7).map { Headline(id: $0, rank: $0 * 100) }
    var lastID = 7
  }

  /// The headlines that are never deleted or moved.
  private static let permanent = Set([1, 3, 4, 6])
  private static let size = 2

  private let world: SimulatedWorld
  private let server: Mutex<Server>
  private let lists: [Pages<NewsPage>]
  private let isPolled: Bool
  /// The present session, and the first that has not ended.
  private let sessions = Shared((present: 1, first: 1))
  private let watched = Shared<Set<Int>>([])
  private let requests = Atomic<Int>(0)
  private let reactor: Reactor<NewsPage>
  private let layer: ModelLayer
  /// Users change headlines, whose answers are newer values, and sign out often.
  private let writes: Bool

  init(_ world: SimulatedWorld) {
    self.world = world
    server = Mutex(Server())
    let later = world.laterDraws
    var configuration = world.configuration
    if later.chance(0.3) { configuration.keepUnusedFor = .seconds(2) }
    let backend = Backend(
      baseURL: URL(string: "https://api.example.com") ?? URL(filePath: "/"), transport: world.network,
      middlewares: [SessionStamp(sessions: sessions)], reachability: world.reachability(ends: later.chance(0.2)))
    layer = ModelLayer(
      backend: backend, persistence: world.draws.chance(0.7) ? world.disk.open() : nil, configuration: configuration)
    writes = later.chance(0.5)
    reactor = layer.reactor()
    let draws = world.draws
    let isPolled = draws.chance(0.5)
    self.isPolled = isPolled
    lists = (0..<2).map { [reactor] _ in
      reactor.pages(
        from: "news", limit: draws.chance(0.5) ? draws.number(in: 2...3) : nil,
        policy: draws.chance(0.5) ? .staleWhileRevalidate : .networkFirst,
        polling: isPolled && draws.chance(0.6) ? .seconds(5) : .never)
    }
    let cacheControl = draws.chance(0.25) ? "no-store" : "max-age=\(draws.number(below: 3) * 5)"
    world.network.serve { [weak self] request, _ in
      self?.answer(request, cacheControl) ?? (HTTPResponse(status: .notFound), Data())
    }
  }

  private func answer(_ request: HTTPRequest, _ cacheControl: String) -> (HTTPResponse, Data) {
    requests.add(1, ordering: .relaxed)
    let path = String((request.path ?? "").dropFirst())
    let session = request.headerFields[.session].flatMap(Int.init) ?? 0
    if request.method == .patch { return answerChange(path, session) }
    let cursor = path.split(separator: "=").last.flatMap { Int($0) } ?? .max
    let rest = server.withLock { server in
      server.headlines.filter { $0.rank < cursor }.sorted { $0.rank > $1.rank }
    }
    var headlines = Array(rest.prefix(Self.size))
    for index in headlines.indices { headlines[index].session = session }
    let next = rest.count > Self.size ? headlines.last?.rank ?? 0 : 0
    let page = NewsPage(headlines: headlines, after: cursor, next: next)
    let tag = "\"\(headlines.map { "\($0.id)-\($0.rank)" }.joined(separator: "."))|\(next)\""
    var fields: HTTPFields = [.cacheControl: cacheControl, .eTag: tag]
    if next > 0, let link = HTTPField.Name("Link") { fields[link] = "<news?after=\(next)>; rel=next" }
    if request.headerFields[.ifNoneMatch] == tag {
      return (HTTPResponse(status: .notModified, headerFields: fields), Data())
    }
    let body = (try? JSONEncoder().encode(page)) ?? Data()
    return (HTTPResponse(status: .ok, headerFields: fields), body)
  }
}

extension ListWorld {
  private func answerChange(_ path: String, _ session: Int) -> (HTTPResponse, Data) {
    let id = path.split(separator: "/").last.flatMap { Int($0) }
    guard var headline = server.withLock({ $0.headlines.first { $0.id == id } }) else {
      return (HTTPResponse(status: .notFound), Data())
    }
    headline.session = session
    return (HTTPResponse(status: .ok), (try? JSONEncoder().encode(headline)) ?? Data())
  }

  func beginWatching(_ number: Int) { watched.change { _ = $0.insert(number) } }

  func watch(_ number: Int) async {
    // A state that is delivered now is newer than the one before, but perhaps not newer than now.
    var first = sessions.value.first
    for await state in lists[number].states {
      judge(state, number)
      judgeSessions(state, number, since: first)
      first = sessions.value.first
    }
  }

  func step(_ user: SimulatedUser) async throws {
    let number = user.draws.number(below: lists.count)
    let list = lists[number]
    if writes, user.draws.chance(0.25) {
      try await takeLaterStep(user)
      return judge(list.states.current, number)
    }
    switch user.draws.number(below: 10) {
    case 0..<3:
      world.note("list \(number): next")
      _ = try await user.impatiently(in: world) { try? await list.loadNext() }
    case 3:
      world.note("list \(number): previous")
      _ = try await user.impatiently(in: world) { try? await list.loadPrevious() }
    case 4, 5:
      world.note("list \(number): refresh")
      try await user.impatiently(in: world) { try? await list.refresh() }
    case 6:
      world.note("invalidation")
      await layer.invalidate(user.draws.chance(0.5) ? .under("news") : .all)
    case 7: if user.draws.chance(0.2) { try? await layer.removeAll() }
    default: change(user.draws)
    }
    judge(list.states.current, number)
    judgeSessions(list.states.current, number, since: sessions.value.first)
  }

  private func takeLaterStep(_ user: SimulatedUser) async throws {
    let id = user.draws.element(of: Self.permanent.sorted()) ?? 1
    let change = Resource("headlines/\(id)", method: .patch)
    switch user.draws.number(below: 4) {
    case 0:
      world.note("user \(user.number) changes \(id)")
      _ = try await user.impatiently(in: world, after: .seconds(3)) { [layer] in
        try? await layer.reactor(Headline.self).send(change)
      }
    case 1:
      world.note("user \(user.number) changes \(id), with a draft")
      _ = try await user.impatiently(in: world, after: .seconds(3)) { [reactor] in
        try? await reactor.mutate("news", by: change, answer: Headline.self) { _ in }
      }
    case 2: try await signOut(user)
    default: try await signOutDuringChange(user)
    }
  }

  /// Signs out while a change is under way, whose answer is not for the next user. That one reads
  /// meanwhile.
  private func signOutDuringChange(_ user: SimulatedUser) async throws {
    let number = user.draws.number(below: lists.count)
    let first = lists[number].states.current.value?.first?.headlines ?? []
    let id = user.draws.element(of: first)?.id ?? 6
    world.note("user \(user.number) changes \(id), and signs out")
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [layer] in
        _ = try? await layer.reactor(Headline.self).send(Resource("headlines/\(id)", method: .patch))
      }
      group.addTask { [self] in
        try? await world.clock.sleep(for: user.draws.duration(upTo: .milliseconds(200)))
        try? await signOut(user)
        try? await lists[number].refresh()
      }
    }
    for (number, list) in lists.enumerated() {
      judgeSessions(list.states.current, number, since: sessions.value.first)
    }
  }

  private func signOut(_ user: SimulatedUser) async throws {
    let next = sessions.change { sessions in
      sessions.present += 1
      return sessions.present
    }
    // What was sent as the session ended is of that.
    world.note("session \(next) begins")
    let isDone = try? await user.impatiently(in: world, probability: 0.3) { [layer] in
      try await layer.removeAll()
      return true
    }
    if (isDone ?? nil) == true { sessions.change { $0.first = max($0.first, next) } }
  }

  private func change(_ draws: SeededDraws) {
    let kind = draws.number(below: 4)
    let number = draws.number(below: 100)
    server.withLock { server in
      let mutable = server.headlines.indices.filter { !Self.permanent.contains(server.headlines[$0].id) }
      let top = (server.headlines.map(\.rank).max() ?? 0) + 10
      switch (kind, mutable.isEmpty ? nil : mutable[number % mutable.count]) {
      case (0, let index?): server.headlines.remove(at: index)
      case (1, let index?): server.headlines[index].rank = top
      default:
        server.lastID += 1
        let rank = kind == 2 ? top : number * 7 % 700
        guard !server.headlines.contains(where: { $0.rank == rank }) else { return }
        server.headlines.append(Headline(id: server.lastID, rank: rank))
      }
      world.note("the server has \(server.headlines.sorted { $0.rank > $1.rank }.map { "\($0.id):\($0.rank)" })")
    }
  }

  private func judge(_ state: LoadState<PageList<NewsPage>>, _ number: Int) {
    guard let list = state.value else { return }
    // Each state is judged, and hardly any is described.
    var text: String {
      list.map { "\($0.after) \($0.headlines.map { "\($0.id):\($0.rank)" }) \($0.next)" }.joined(separator: ", ")
    }
    let members = list.members
    world.check(Set(members.map(\.id)).count == members.count, "list \(number) has a headline twice: \(text)")
    // `members` leaves out what is there twice, so the pages themselves are judged too.
    let permanent = list.flatMap(\.headlines).map(\.id).filter(Self.permanent.contains)
    world.check(Set(permanent).count == permanent.count, "list \(number) has a headline on two pages: \(text)")
    for (page, following) in zip(list, list.dropFirst()) {
      world.check(page.next == following.after, "list \(number) mixes chains: \(text)")
    }
    let shown = Set(members.map(\.id))
    guard let top = list.first?.after, let bottom = list.last?.next else { return }
    for id in Self.permanent where id * 100 < top && id * 100 >= bottom {
      world.check(shown.contains(id), "list \(number) misses headline \(id): \(text)")
    }
  }

  /// Nothing of a session that has ended is shown.
  private func judgeSessions(_ state: LoadState<PageList<NewsPage>>, _ number: Int, since first: Int) {
    let old = (state.value.map { $0.flatMap(\.headlines) } ?? []).filter { $0.session < first }
    world.check(old.isEmpty, "list \(number) shows \(old), and session \(first) has begun")
  }

  /// The lists that are watched ask again by themselves, before any caller does.
  func judgeWatchers() async {
    await layer.invalidate(.under("news"))
    try? await world.clock.sleep(for: .seconds(isPolled ? 20 : 60))
    for number in watched.value.sorted() {
      let state = lists[number].states.current
      guard let list = state.value, let top = list.first?.after, let bottom = list.last?.next else { continue }
      let all = server.withLock { $0.headlines.sorted { $0.rank > $1.rank } }
      let expected = all.filter { $0.rank < top && $0.rank >= bottom }.map(\.id)
      world.check(
        list.members.map(\.id) == expected && state.error == nil,
        "list \(number) has \(list.members), long after an invalidation, and the server \(expected), \(String(describing: state.error))"
      )
    }
  }

  /// Once everything works and the users are idle, lists that are read are quiet. Those that are
  /// polled ask every five seconds, so they only get the time in which retries end.
  func judgeQuiet() async {
    guard !isPolled else {
      try? await world.clock.sleep(for: .seconds(60))
      return
    }
    try? await world.clock.sleep(for: .seconds(300))
    let before = requests.load(ordering: .relaxed)
    try? await world.clock.sleep(for: .seconds(60))
    let made = requests.load(ordering: .relaxed) - before
    world.check(made == 0, "\(made) requests, though nobody has asked for anything")
  }

  /// Once everything works, a list that is refreshed and turned to both ends has what the server
  /// has.
  func judgeEnd() async {
    for (number, list) in lists.enumerated() {
      do {
        // By its policy, a page that is turned to may be a stale one from disk. The next refresh
        // replaces it.
        for _ in 0..<2 {
          try await list.refresh()
          try await turnToEnd(number) { try await list.loadPrevious() }
          try await turnToEnd(number) { try await list.loadNext() }
        }
      } catch {
        return world.check(false, "list \(number) does not recover: \(error)")
      }
      let all = server.withLock { $0.headlines.sorted { $0.rank > $1.rank } }
      let members = list.states.current.value?.members ?? []
      let expected = list.states.current.value?.hasPrevious == true ? all.suffix(members.count) : all[...]
      world.check(members.map(\.id) == expected.map(\.id), "list \(number) has \(members) at the end")
    }
  }

  private func turnToEnd(_ number: Int, _ turn: () async throws -> Bool) async throws {
    // The server has fewer pages than the steps of all users.
    for _ in 0..<100 {
      guard try await turn() else { return }
      judge(lists[number].states.current, number)
    }
    world.check(false, "list \(number) has no end")
  }
}

extension HTTPField.Name {
  /// The field with the session of a request.
  fileprivate static let session = HTTPField.Name("X-Session") ?? .range
}

/// Signs each request with the session in which it is sent.
private struct SessionStamp: TransportMiddleware {
  let sessions: Shared<(present: Int, first: Int)>

  func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
    var request = request
    request.headerFields[.session] = "\(sessions.value.present)"
    return try await next(request, body)
  }
}
