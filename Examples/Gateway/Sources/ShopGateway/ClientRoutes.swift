import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ReactorChangeFeed
import ReactorCore
import Synchronization

/// The state for the health checks of a load balancer. A gateway that shuts down is not ready.
final class Readiness: Sendable {
  private let state = Mutex(true)

  var isReady: Bool {
    get { state.withLock(\.self) }
    set { state.withLock { $0 = newValue } }
  }
}

/// Counts the requests that are under way.
final class ActiveRequests: RouterMiddleware {
  private let number = Mutex(0)

  var count: Int { number.withLock(\.self) }

  func handle(
    _ request: Request, context: ClientContext, next: @concurrent (Request, ClientContext) async throws -> Response
  ) async throws -> Response {
    number.withLock { $0 += 1 }
    defer { number.withLock { $0 -= 1 } }
    return try await next(request, context)
  }
}

/// A request of a client, and its connection.
struct ClientContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
  }
}

/// The paths for clients: pages of products, their changes, and the health of the gateway.
struct ClientRoutes: Sendable {
  let shop: Shop
  let feed: ChangeFeed
  let readiness: Readiness
  let active: ActiveRequests

  var router: Router<ClientContext> {
    let router = Router(context: ClientContext.self)
    router.add(middleware: active)
    addPages(to: router)
    router.get("health/live") { _, _ in HTTPResponse.Status.ok }
    router.get("health/ready") { _, _ in
      readiness.isReady ? HTTPResponse.Status.ok : .serviceUnavailable
    }
    return router
  }

  /// Adds what clients follow, and operators too.
  func addPages(to router: Router<ClientContext>) {
    router.get("products/:id", use: product)
    router.get("events", use: events)
  }

  @Sendable private func events(_ request: Request, _ context: ClientContext) throws -> Response {
    // The gateway checks no token, so it opens nothing: it counts the streams of one client.
    let user = try token(request).map { ChangeAudience("token:\($0)") }
    do throws(ChangeFeedError) {
      let stream = try feed.open(request.head, user: user) { [channel = context.channel] in channel.close(promise: nil)
      }
      let bytes = stream.map { ByteBuffer(bytes: $0) }
      return Response(status: .ok, headers: ChangeFeed.fields, body: ResponseBody(asyncSequence: bytes))
    } catch {
      return Response(status: error.response.status, headers: error.response.headerFields)
    }
  }

  @Sendable private func product(_ request: Request, _ context: ClientContext) async throws -> Response {
    guard let id = context.parameters.get("id").flatMap({ Int($0) }) else { throw HTTPError(.notFound) }
    let (page, cacheStatus) = await shop.page(of: id, for: try token(request))
    var fields: HTTPFields = [.cacheControl: "private, no-cache"]
    if let name = HTTPField.Name("Cache-Status") { fields[name] = cacheStatus }
    switch page {
    case .success(let page):
      fields[.contentType] = "application/json; charset=utf-8"
      return Response(
        status: .ok, headers: fields, body: ResponseBody(byteBuffer: ByteBuffer(bytes: try Self.encoder.encode(page))))
    case .failure(let error):
      let (status, reason) = Self.problem(error)
      fields[.contentType] = "application/problem+json"
      if status != .notFound { fields[.retryAfter] = "1" }
      let problem = #"{"title":"\#(reason)","status":\#(status.code)}"#
      return Response(status: status, headers: fields, body: ResponseBody(byteBuffer: ByteBuffer(string: problem)))
    }
  }

  /// One page is the same bytes each time.
  private static let encoder: JSONEncoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return encoder
  }()

  /// Returns the bearer token; `nil` without a signed-in user.
  private func token(_ request: Request) throws -> String? {
    guard let field = request.headers[.authorization] else { return nil }
    let token = field.dropFirst("Bearer ".count)
    guard field.hasPrefix("Bearer "), (1...1024).contains(token.utf8.count) else { throw HTTPError(.unauthorized) }
    return String(token)
  }

  /// The reason is for strangers, so it names neither an upstream API nor an error's own text.
  private static func problem(_ error: ReactorError) -> (HTTPResponse.Status, String) {
    switch error {
    case .server(let response, _) where [404, 410].contains(response.status.code): (.notFound, "no such product")
    case .timedOut: (.gatewayTimeout, "the catalogue does not answer in time")
    default: (.badGateway, "the catalogue cannot be reached")
    }
  }
}
