import Hummingbird

/// Refuses everything while there is an outage.
struct Outage: RouterMiddleware {
  let dials: Dials

  func handle(
    _ request: Request, context: NewsContext, next: @concurrent (Request, NewsContext) async throws -> Response
  ) async throws -> Response {
    guard !dials.settings.outage else { throw HTTPError(.serviceUnavailable) }
    return try await next(request, context)
  }
}

/// Lets each request wait for as long as the dial says.
struct Latency: RouterMiddleware {
  let dials: Dials

  func handle(
    _ request: Request, context: NewsContext, next: @concurrent (Request, NewsContext) async throws -> Response
  ) async throws -> Response {
    let latency = dials.settings.latency
    if latency > 0 { try await dials.sleep(.milliseconds(latency)) }
    return try await next(request, context)
  }
}
