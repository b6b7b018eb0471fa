package import Foundation
package import HTTPTypes
import Synchronization

/// A request in a chain of redirects, and the request that follows from its response (RFC 9110
/// §15.4, as browsers implement it).
///
/// Redirects are followed here and not by the platform, so that all transports behave alike.
/// URLSession on Linux decodes `%2F` in a relative `Location`, resolves it against the root, drops
/// the body of a 307, and sends credentials to any target.
package struct Redirect: Sendable {
  package var request: HTTPRequest
  package var body: Data?

  package init(request: HTTPRequest, body: Data?) {
    self.request = request
    self.body = body
  }

  /// Sends a request and follows its redirects. Each hop is left in ``RedirectTrail/current``,
  /// whatever happens to the next.
  ///
  /// - Parameters:
  ///   - limit: the largest number of redirects to follow. With zero or less, the redirect is the
  ///     response.
  ///   - send: performs one exchange, and returns the response with its body, whole or to be read.
  /// - Throws: ``TransportError/tooManyRedirects(limit:request:)``, and the errors of `send`.
  package static func following<Answer>(
    _ request: HTTPRequest, body: Data?, limit: Int,
    send: (HTTPRequest, Data?) async throws -> (HTTPResponse, Answer)
  ) async throws -> (HTTPResponse, Answer) {
    var hop = Redirect(request: request, body: body)
    var count = 0
    while true {
      let (response, answer) = try await send(hop.request, hop.body)
      let next = limit > 0 ? hop.next(after: response) : nil
      RedirectTrail.current?.leave(
        RedirectTrail.Hop(request: hop.request, response: response, isFollowed: next != nil))
      guard let next else { return (response, answer) }
      count += 1
      guard count <= limit else { throw TransportError.tooManyRedirects(limit: limit) }
      hop = next
    }
  }

  /// Returns the request that `response` redirects to; `nil` if `response` is final.
  package func next(after response: HTTPResponse) -> Redirect? {
    guard [301, 302, 303, 307, 308].contains(response.status.code), let from = request.url,
      let location = response.location, !location.isEmpty,
      let url = URL(string: location, relativeTo: from)?.absoluteURL, let origin = WebOrigin(url),
      let parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
    else { return nil }
    var next = self
    next.request.scheme = origin.scheme
    next.request.authority = origin.authority
    next.request.path = Self.target(parts)
    if becomesGet(response.status.code) { next.becomeGet() }
    next.dropConditions()
    guard WebOrigin(from) != origin else { return next }
    // A write stays with its origin, as its credentials do.
    guard Self.mayLeave.contains(next.request.method.rawValue) else { return nil }
    next.request.headerFields.removeAll(where: Self.isSecret)
    return next
  }

  /// Returns `true` for a field that stays with its origin: a credential, or a field that the
  /// request marks as never indexed (RFC 7541 §7.1.3).
  private static func isSecret(_ field: HTTPField) -> Bool {
    credentials.contains(field.name) || field.indexingStrategy == .disallow
  }

  /// Returns `true` if the redirected request becomes a GET. A 303 asks for one. After a 301 or
  /// 302, browsers have always turned a POST into one.
  fileprivate func becomesGet(_ status: Int) -> Bool {
    switch status {
    case 303: request.method != .head && request.method != .get
    case 301, 302: request.method == .post
    default: false
    }
  }

  private mutating func becomeGet() {
    request.method = .get
    body = nil
    for name in Self.contentFields { request.headerFields[name] = nil }
  }

  /// Removes conditions, which apply to the URL that they were made for (RFC 9110 §15.4).
  /// Conditions that guard a change stay, or the change would be made unguarded.
  private mutating func dropConditions() {
    var names: [HTTPField.Name] = [.ifModifiedSince, .ifRange]
    switch request.method {
    case .get, .head, .query: names += [.ifMatch, .ifNoneMatch, .ifUnmodifiedSince]
    case .put, .patch, .delete: break
    // The request may be a read, whose entity tags are those of a stored copy.
    default: if request.headerFields[.ifNoneMatch] != "*" { names.append(.ifNoneMatch) }
    }
    guard names.contains(where: request.headerFields.contains) else { return }
    // A range without its condition could be a part of any representation.
    for name in names + [.range] { request.headerFields[name] = nil }
  }

  private static func target(_ parts: URLComponents) -> String {
    let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
    return parts.percentEncodedQuery.map { "\(path)?\($0)" } ?? path
  }

  /// The methods that change nothing (RFC 9110 §9.2.1, RFC 10008).
  private static let mayLeave: Set<String> = ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"]
  private static let credentials: Set<HTTPField.Name> = [.authorization, .cookie, .proxyAuthorization]
  private static let contentFields: [HTTPField.Name] = [
    .contentEncoding, .contentLanguage, .contentLength, .contentLocation, .contentType,
  ]
}

/// The hops on the way to a response. ``Redirect/following(_:body:limit:send:)`` leaves each of
/// them when it is answered.
package final class RedirectTrail: Sendable {
  /// A request and its response.
  package struct Hop: Sendable {
    let request: HTTPRequest
    let response: HTTPResponse
    /// A Boolean value that indicates whether the response led to another request. Otherwise it is
    /// final.
    let isFollowed: Bool

    /// A Boolean value that indicates whether the response redirected a change to a `GET` of its
    /// result, which was followed. A 301 says only that the target has moved.
    package var leadsToResult: Bool { becameGet && response.status.code != 301 }

    /// A Boolean value that indicates whether the response says that the change was made, and shows
    /// its result (RFC 9110 §15.4.4).
    var showsResult: Bool { response.status == .seeOther && (becameGet || !isFollowed) }

    /// A Boolean value that indicates whether the response has turned a change into a `GET`, which
    /// was sent.
    var becameGet: Bool {
      isFollowed && Redirect(request: request, body: nil).becomesGet(response.status.code)
    }
  }

  /// The trail of the request that the current task sends; `nil` if no hops are recorded.
  @TaskLocal static var current: RedirectTrail?

  /// The trail of a middleware around the transport, which gets the same hops.
  @TaskLocal package static var observed: RedirectTrail?

  /// The trail of the request that the middlewares of the library work for.
  @TaskLocal package static var sender: RedirectTrail?

  private struct State {
    var hops: [Hop] = []
    var latest = LatestExchange.none
    /// The number of hops before the latest call.
    var start = 0
    var failures: [any Error] = []
    var isRenewed = false
  }

  private let state = Mutex(State())

  package init() {}

  /// The hops in the order of their responses, over all calls of a transport: a middleware may call
  /// it several times.
  package var hops: [Hop] { state.withLock(\.hops) }

  /// The hops of the latest call.
  var latestHops: ArraySlice<Hop> { state.withLock { $0.hops[$0.start...] } }

  /// The latest call of the transport.
  var latest: LatestExchange { state.withLock(\.latest) }

  /// The errors of the calls that have failed, in their order.
  var failures: [any Error] { state.withLock(\.failures) }

  /// The redirects that were followed.
  var redirects: [HTTPResponse] { hops.filter(\.isFollowed).map(\.response) }

  /// A Boolean value that indicates whether the latest response came over a redirect to another
  /// origin. From there on, the request had no credentials.
  package var hasChangedOrigin: Bool {
    let hops = hops
    let latest = hops.dropLast().lastIndex { !$0.isFollowed }.map { hops[($0 + 1)...] } ?? hops[...]
    return Set(latest.map { $0.request.url.flatMap(WebOrigin.init) }).count > 1
  }

  func leave(_ hops: Hop...) { leave(hops) }

  func leave(_ hops: [Hop]) { state.withLock { $0.hops += hops } }

  /// Leaves the hops of another trail, whose latest call is now the latest one of this trail.
  func leave(_ other: RedirectTrail) {
    let (hops, start) = other.state.withLock { ($0.hops, $0.start) }
    state.withLock { state in
      state.start = state.hops.count + start
      state.hops += hops
    }
  }

  /// Begins a call of the transport.
  func begin() {
    state.withLock { state in
      state.start = state.hops.count
      state.latest = .failed
    }
  }

  func end(_ result: Result<HTTPResponse, any Error>) {
    state.withLock { state in
      switch result {
      case .success(let response): state.latest = .answered(response)
      case .failure(let error): state.failures.append(error)
      }
    }
  }

  /// A Boolean value that indicates whether the credential of the request was renewed for it.
  var isRenewed: Bool { state.withLock(\.isRenewed) }

  /// Records that a newer credential exists than the one the server refused.
  package func noteRenewed() { state.withLock { $0.isRenewed = true } }

  /// Records that the request will not be sent, since there is no credential for it.
  package func noteUnsigned() { state.withLock { $0.latest = .unsigned } }
}

/// The latest call of a transport for a request, which may have ended otherwise: middlewares are
/// around it.
package enum LatestExchange: Sendable {
  /// The transport was not called. A middleware has answered or failed, and may have sent the
  /// request by itself.
  case none
  /// The transport was not called, or has answered 401, and the library's middleware has no
  /// credential for another call. Nothing was carried out.
  case unsigned
  /// The transport has returned a response. A middleware may have thrown an error since.
  case answered(HTTPResponse)
  /// The transport has thrown an error, or was cancelled.
  case failed
}

extension HTTPResponse {
  /// The target of a redirect. Equal fields count once. Different ones are `nil`, since no rule
  /// says which one is right.
  ///
  /// URLSession joins fields by commas. A URL has no space, so equal parts were fields.
  fileprivate var location: String? {
    let fields = Set(headerFields[values: .location])
    guard fields.count == 1, let field = fields.first else { return nil }
    let parts = Set(field.split(separator: ", ", omittingEmptySubsequences: false))
    return parts.count == 1 ? parts.first.map(String.init) : field
  }
}
