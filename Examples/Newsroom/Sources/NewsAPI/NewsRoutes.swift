import Hummingbird

/// What is asked for, and who answers it.
struct NewsRoutes: Sendable {
  let newspaper = Newspaper()
  let sessions: Sessions
  let lists = ReadingLists()
  let dials = Dials()
  let log = RequestLog()

  var router: Router<NewsContext> {
    let router = Router(context: NewsContext.self)
    AdminRoutes(dials: dials, log: log, sessions: sessions).add(to: router.group("admin"))
    let news = router.group()
      .add(middleware: RequestLogging(log: log))
      .add(middleware: Outage(dials: dials))
    SessionRoutes(sessions: sessions).add(to: news.group("session"))
    let signed = news.group().add(middleware: BearerAuthentication(sessions: sessions))
    ArticleRoutes(newspaper: newspaper, dials: dials).add(to: signed)
    ReadingListRoutes(newspaper: newspaper, lists: lists, dials: dials).add(to: signed.group("reading-list"))
    return router
  }
}
