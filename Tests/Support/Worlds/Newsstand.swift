import Foundation
import HTTPTypes
import ReactorCore
import ReactorLists
import ReactorTesting
import Synchronization

/// A headline of the newsstand. The server shows them by rank, highest first.
private struct Headline: Codable, Entity, Hashable {
  let id: Int
  var rank: Int
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
final class Newsstand: Sendable {
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
  private let requests = Atomic<Int>(0)
  private let reactor: Reactor<NewsPage>
  private let layer: ModelLayer

  init(_ world: SimulatedWorld) {
    self.world = world
    server = Mutex(Server())
    layer = ModelLayer(
      baseURL: URL(string: "https://api.example.com") ?? URL(filePath: "/"), transport: world.network,
      persistence: world.draws.chance(0.7) ? world.disk.open() : nil, reachability: world.reachability,
      configuration: world.configuration)
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
    let cursor = path.split(separator: "=").last.flatMap { Int($0) } ?? .max
    let rest = server.withLock { server in
      server.headlines.filter { $0.rank < cursor }.sorted { $0.rank > $1.rank }
    }
    let headlines = Array(rest.prefix(Self.size))
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

extension Newsstand {
  func watch(_ number: Int) async {
    for await state in lists[number].states { judge(state, number) }
  }

  func step(_ user: SimulatedUser) async throws {
    let number = user.draws.number(below: lists.count)
    let list = lists[number]
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
    let text = list.map { "\($0.after) \($0.headlines.map { "\($0.id):\($0.rank)" }) \($0.next)" }.joined(
      separator: ", ")
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

  /// Once everything works and nobody does anything, lists that are read are quiet.
  func judgeQuiet() async {
    try? await world.clock.sleep(for: .seconds(300))
    let before = requests.load(ordering: .relaxed)
    try? await world.clock.sleep(for: .seconds(60))
    let made = requests.load(ordering: .relaxed) - before
    world.check(isPolled || made == 0, "\(made) requests, though nobody has asked for anything")
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
