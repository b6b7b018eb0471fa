import HTTPTypes
import Hummingbird
import ReactorChangeFeed

/// A change is answered with the new list and its URL, so that a cache knows which response is
/// stale (RFC 9111 §4.4).
struct ReadingListRoutes: Sendable {
  let newspaper: Newspaper
  let lists: ReadingLists
  let dials: Dials
  let feed: ChangeFeed

  func add(to group: RouterGroup<NewsContext>) {
    group.get { request, context in
      try answer(request, context)
    }
    group.put("{id}") { request, context in
      let id = try context.parameters.require("id", as: Int.self)
      guard newspaper.article(id) != nil else { throw HTTPError(.notFound) }
      let user = try context.requireUser()
      try lists.keep(id, for: user) { publishChange(to: user, $0, by: request.head.changeID) }
      return try answer(request, context)
    }
    group.delete("{id}") { request, context in
      let user = try context.requireUser()
      try lists.drop(try context.parameters.require("id", as: Int.self), for: user) {
        publishChange(to: user, $0, by: request.head.changeID)
      }
      return try answer(request, context)
    }
  }

  /// Tells the clients of this user only.
  private func publishChange(to user: User, _ state: NewsState, by changeID: String?) {
    let articles = (state.lists[user.id] ?? []).compactMap { newspaper.article($0, in: state)?.summary }
    feed.publish([.url("/reading-list", etag: Dials.tag(of: articles))], by: changeID, to: .user(user))
  }

  private func answer(_ request: Request, _ context: NewsContext) throws -> Response {
    let articles = lists.ids(of: try context.requireUser()).compactMap { newspaper.article($0)?.summary }
    var response = try dials.answer(articles, to: request, freshFor: 5, in: Dials.lists)
    response.headers[.contentLocation] = "/reading-list"
    return response
  }
}

/// Each user's articles to read later, in the order in which they were kept.
struct ReadingLists: Sendable {
  let archive: NewsArchive

  func ids(of user: User) -> [Int] { archive.read { $0.lists[user.id] ?? [] } }

  func keep(_ id: Int, for user: User, publish: (NewsState) -> Void) throws {
    try archive.change { state in
      if state.lists[user.id]?.contains(id) != true { state.lists[user.id, default: []].append(id) }
    } publish: {
      publish($1)
    }
  }

  func drop(_ id: Int, for user: User, publish: (NewsState) -> Void) throws {
    try archive.change { state in
      state.lists[user.id]?.removeAll { $0 == id }
    } publish: {
      publish($1)
    }
  }
}
