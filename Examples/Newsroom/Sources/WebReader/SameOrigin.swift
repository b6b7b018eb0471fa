import HTTPTypes
import Hummingbird

/// Admits only this program's own pages.
///
/// `Host` must be this machine, so that no other site's name can be made to lead here; and a post
/// must come from a page of that host, which the browser names in `Origin` (RFC 6454 §7).
struct SameOrigin: RouterMiddleware {
  func handle(
    _ request: Request, context: BasicRequestContext,
    next: @concurrent (Request, BasicRequestContext) async throws -> Response
  ) async throws -> Response {
    let host = request.head.authority ?? ""
    guard ["127.0.0.1", "localhost"].contains(host.prefix { $0 != ":" }) else { throw HTTPError(.misdirectedRequest) }
    if request.method == .post {
      guard request.headers[.origin] == "http://\(host)" else { throw HTTPError(.forbidden) }
    }
    return try await next(request, context)
  }
}
