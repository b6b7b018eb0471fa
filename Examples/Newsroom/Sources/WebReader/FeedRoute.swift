import HTTPTypes
import Hummingbird
import NewsClient
import ServiceLifecycle

/// `GET /events?screen=`: a page's feed, until the page is closed, the user changes, or the program
/// ends.
struct FeedRoute: Sendable {
  let reader: NewsReader
  let switches: Switches

  func add(to router: Router<BasicRequestContext>) {
    router.get("events") { request, _ in
      guard let screen = ScreenLocation.screen(at: request.uri.queryParameters["screen"].map(String.init) ?? "/") else {
        throw HTTPError(.notFound)
      }
      return Response(
        status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
        body: ResponseBody { writer in
          try? await request.body.consumeWithCancellationOnInboundClose { _ in
            try await send(screen, to: &writer)
          }
          try await writer.finish(nil)
        })
    }
  }

  @concurrent private func send(_ screen: some Screen, to writer: inout any ResponseBodyWriter) async throws {
    let events = await Feed(reader: reader, switches: switches).events(of: screen)
    for try await event in events.cancelOnGracefulShutdown() {
      try await writer.write(event.buffer)
      if event.name == "over" { return }
    }
  }
}
