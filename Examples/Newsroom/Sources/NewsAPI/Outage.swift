import Hummingbird

/// Applies the dials to what is asked.
struct Outage: RouterMiddleware {
  let dials: Dials

  func handle(
    _ request: Request, context: NewsContext, next: @concurrent (Request, NewsContext) async throws -> Response
  ) async throws -> Response {
    let settings = dials.settings
    guard !settings.outage else { throw HTTPError(.serviceUnavailable) }
    if settings.latency > 0 { try await Task.sleep(for: .milliseconds(settings.latency)) }
    return try await next(request, context)
  }
}
