import Foundation
import Hummingbird
import ReactorChangeFeed

/// The routes of the API and their handlers.
struct NewsRoutes: Sendable {
  let newspaper: Newspaper
  let archive: NewsArchive
  let tokenLifetime: Duration
  let now: @Sendable () -> Date
  let dials: Dials
  let log = RequestLog()
  let feed: ChangeFeed

  var router: Router<NewsContext> {
    let router = Router(context: NewsContext.self)
    let sessions = Sessions(archive: archive, lifetime: tokenLifetime, now: now)
    let desk = NewsDesk(newspaper: newspaper, archive: archive, feed: feed, now: now)
    AdminRoutes(dials: dials, log: log, sessions: sessions, desk: desk, feed: feed).add(to: router.group("admin"))
    DeskRoutes(newspaper: newspaper, desk: desk).add(to: router.group("desk"))
    let news = router.group()
      .add(middleware: RequestLogging(log: log))
      .add(middleware: Outage(dials: dials))
    SessionRoutes(sessions: sessions, feed: feed).add(
      to: news.group("session").add(middleware: Latency(dials: dials)))
    let known = news.group().add(middleware: BearerAuthentication(sessions: sessions))
    EventRoutes(feed: feed, now: now).add(to: known)
    // A request under a key is under way while it waits.
    let signed = known.group()
      .add(middleware: IdempotentRequests(archive: archive))
      .add(middleware: Latency(dials: dials))
    ArticleRoutes(newspaper: newspaper, dials: dials).add(to: signed)
    CommentRoutes(newspaper: newspaper, archive: archive, dials: dials, feed: feed, now: now)
      .add(to: signed.group("articles/{id}/comments"))
    ReadingListRoutes(newspaper: newspaper, lists: ReadingLists(archive: archive), dials: dials, feed: feed)
      .add(to: signed.group("reading-list"))
    return router
  }
}
