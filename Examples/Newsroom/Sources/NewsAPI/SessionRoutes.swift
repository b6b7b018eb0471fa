import HTTPTypes
import Hummingbird
import ReactorChangeFeed

struct SessionRoutes: Sendable {
  let sessions: Sessions
  let feed: ChangeFeed

  private struct SignIn: Decodable {
    var name: String
    var password: String
  }

  private struct Refresh: Decodable {
    var refresh: String
  }

  func add(to group: RouterGroup<NewsContext>) {
    group.post { request, context in
      let body = try await request.decode(as: SignIn.self, context: context)
      guard let session = try sessions.signIn(body.name, password: body.password) else {
        throw HTTPError(.unauthorized)
      }
      return session
    }
    group.post("refresh") { request, context in
      let body = try await request.decode(as: Refresh.self, context: context)
      guard let session = try sessions.refresh(body.refresh) else { throw HTTPError(.unauthorized) }
      return session
    }
    group.delete { request, _ in
      let token = request.headers.bearer ?? ""
      let user = sessions.access(of: token)?.user
      try sessions.signOut(token)
      // The user's other sessions reconnect.
      if let user { feed.disconnect(.user(user)) }
      return HTTPResponse.Status.noContent
    }
  }
}

/// Says who sends a request; a token that is not known, or has expired, is refused.
struct BearerAuthentication: RouterMiddleware {
  let sessions: Sessions

  func handle(
    _ request: Request, context: NewsContext, next: @concurrent (Request, NewsContext) async throws -> Response
  ) async throws -> Response {
    guard let token = request.headers.bearer else { return try await next(request, context) }
    guard let access = sessions.access(of: token) else {
      throw HTTPError(.unauthorized, headers: [.wwwAuthenticate: "Bearer error=\"invalid_token\""])
    }
    var context = context
    (context.user, context.expires) = (access.user, access.expires)
    return try await next(request, context)
  }
}

extension HTTPFields {
  /// RFC 6750 §2.1.
  fileprivate var bearer: String? {
    guard let value = self[.authorization], value.hasPrefix("Bearer ") else { return nil }
    return String(value.dropFirst(7))
  }
}
