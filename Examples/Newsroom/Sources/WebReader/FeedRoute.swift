import HTTPTypes
import Hummingbird
import NewsClient
import ServiceLifecycle

/// `GET /events?screen=&window=`: a page's feed, until the page is closed, the user changes, or the
/// program ends.
struct FeedRoute: Sendable {
  let reader: NewsReader
  let switches: Switches
  let windows: Windows

  func add(to router: Router<BasicRequestContext>) {
    router.get("events") { request, _ in
      guard let screen = ScreenLocation.screen(at: request.uri.queryParameters["screen"].map(String.init) ?? "/") else {
        throw HTTPError(.notFound)
      }
      let name = request.uri.queryParameters["window"].map(String.init) ?? ""
      return Response(
        status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
        body: ResponseBody { writer in
          try? await request.body.consumeWithCancellationOnInboundClose { _ in
            let window = windows.open(name)
            defer { windows.close(window, name) }
            try await send(screen, window, to: &writer)
          }
          try await writer.finish(nil)
        })
    }
  }

  @concurrent private func send(
    _ screen: some Screen, _ window: Window, to writer: inout any ResponseBodyWriter
  ) async throws {
    let events = await Feed(reader: reader, switches: switches, window: window).events(of: screen)
    for try await event in events.cancelOnGracefulShutdown() {
      try await writer.write(event.buffer)
      if event.name == "over" { return }
    }
  }
}
