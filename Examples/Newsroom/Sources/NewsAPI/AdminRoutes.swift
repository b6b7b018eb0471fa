import HTTPTypes
import Hummingbird
import ReactorChangeFeed

/// Routes for the behaviour of the API and for its log.
///
/// - `GET` and `PATCH /admin/dials`: outage and latency.
/// - `GET` and `DELETE /admin/requests`: the log.
/// - `DELETE /admin/tokens`: every access token expires.
/// - `POST /admin/articles`: publishes a story; `PATCH /admin/articles/{id}`: corrects one;
///   `DELETE`: withdraws it. See ``DeskRoutes`` for the editors' page.
struct AdminRoutes: Sendable {
  let dials: Dials
  let log: RequestLog
  let sessions: Sessions
  let desk: NewsDesk
  let feed: ChangeFeed

  func add(to group: RouterGroup<NewsContext>) {
    group.get("dials") { _, _ in dials.settings }
    group.patch("dials") { request, context in
      let before = dials.settings
      dials.apply(try await request.decode(as: Dials.Change.self, context: context))
      // After an outage, clients need not wait for their next attempt.
      let isOver = before.outage && !dials.settings.outage
      feed.publish(isOver ? [.all] : [.url("/admin/dials")], by: request.head.changeID)
      return dials.settings
    }
    group.get("requests") { _, _ in log.requests }
    group.delete("requests") { _, _ in
      log.removeAll()
      return HTTPResponse.Status.noContent
    }
    group.delete("tokens") { _, _ in
      try sessions.expireTokens()
      return HTTPResponse.Status.noContent
    }
    group.post("articles") { request, context in
      let story = try await request.decode(as: NewsDesk.NewStory.self, context: context)
      let article = try desk.publish(story, by: request.head.changeID)
      return try dials.answer(article, to: request, freshFor: 0)
    }
    group.patch("articles/{id}") { request, context in
      let change = try await request.decode(as: NewsDesk.Change.self, context: context)
      let id = try context.parameters.require("id", as: Int.self)
      return try dials.answer(desk.correct(id, change, by: request.head.changeID), to: request, freshFor: 0)
    }
    group.delete("articles/{id}") { request, context in
      try desk.withdraw(try context.parameters.require("id", as: Int.self), by: request.head.changeID)
      return HTTPResponse.Status.noContent
    }
  }
}
