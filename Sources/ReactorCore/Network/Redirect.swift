package import Foundation
package import HTTPTypes
import Synchronization

/// One request of a chain of redirects, and what follows from its answer (RFC 9110 §15.4, as browsers do it).
///
/// Followed here and by no platform, so that all transports do the same. URLSession on Linux decodes `%2F` in a relative
/// `Location`, resolves it against the root, drops the body of a 307, and sends credentials to wherever it is sent.
package struct Redirect: Sendable {
  package var request: HTTPRequest
  package var body: Data?

  package init(request: HTTPRequest, body: Data?) {
    self.request = request
    self.body = body
  }

  /// Sends a request, and again where the answer leads elsewhere. Each hop is left in ``RedirectTrail/current``, whatever
  /// becomes of the next.
  ///
  /// - Parameters:
  ///   - limit: how many redirects are followed. Zero or less: none, and the redirect is the answer.
  ///   - send: one exchange.
  /// - Throws: ``TransportError/tooManyRedirects(limit:)``, and what `send` throws.
  package static func following(
    _ request: HTTPRequest, body: Data?, limit: Int,
    send: (HTTPRequest, Data?) async throws -> (HTTPResponse, Data)
  ) async throws -> (HTTPResponse, Data) {
    var hop = Redirect(request: request, body: body)
    var count = 0
    while true {
      let (response, data) = try await send(hop.request, hop.body)
      let next = limit > 0 ? hop.next(after: response) : nil
      RedirectTrail.current?.leave(
        RedirectTrail.Hop(request: hop.request, response: response, isFollowed: next != nil))
      guard let next else { return (response, data) }
      count += 1
      guard count <= limit else { throw TransportError.tooManyRedirects(limit: limit) }
      hop = next
    }
  }

  /// The next request; `nil` where `response` is the answer.
  package func next(after response: HTTPResponse) -> Redirect? {
    guard [301, 302, 303, 307, 308].contains(response.status.code), let from = request.url,
      let location = response.headerFields[.location], !location.isEmpty,
      let url = URL(string: location, relativeTo: from)?.absoluteURL, let origin = WebOrigin(url),
      let parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
    else { return nil }
    var next = self
    next.request.scheme = origin.scheme
    next.request.authority = origin.authority
    next.request.path = Self.target(parts)
    if becomesGet(response.status.code) { next.becomeGet() }
    next.dropConditions()
    if WebOrigin(from) != origin { next.request.headerFields.removeAll(where: Self.isSecret) }
    return next
  }

  /// What stays with its origin: credentials, and what the request marks as never to be indexed (RFC 7541 §7.1.3).
  private static func isSecret(_ field: HTTPField) -> Bool {
    credentials.contains(field.name) || field.indexingStrategy == .disallow
  }

  /// A 303 asks for a GET. After 301 and 302, a POST becomes one too, since browsers have always done so.
  private func becomesGet(_ status: Int) -> Bool {
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

  /// Conditions speak of the URL that they were made for (RFC 9110 §15.4): what a read asks with ends there. What guards a change
  /// stays, since the change would be made unguarded.
  private mutating func dropConditions() {
    var names: [HTTPField.Name] = [.ifModifiedSince, .ifRange]
    switch request.method {
    case .get, .head: names += [.ifMatch, .ifNoneMatch, .ifUnmodifiedSince]
    case .put, .patch, .delete: break
    // It may be a read, whose tags are of a stored copy.
    default: if request.headerFields[.ifNoneMatch] != "*" { names.append(.ifNoneMatch) }
    }
    guard names.contains(where: request.headerFields.contains) else { return }
    // A part alone would be a part of anything.
    for name in names + [.range] { request.headerFields[name] = nil }
  }

  private static func target(_ parts: URLComponents) -> String {
    let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
    return parts.percentEncodedQuery.map { "\(path)?\($0)" } ?? path
  }

  private static let credentials: Set<HTTPField.Name> = [.authorization, .cookie, .proxyAuthorization]
  private static let contentFields: [HTTPField.Name] = [
    .contentEncoding, .contentLanguage, .contentLength, .contentLocation, .contentType,
  ]
}

/// The way to an answer: ``Redirect/following(_:body:limit:send:)`` leaves each hop for whoever sent the request, when it is answered.
final class RedirectTrail: Sendable {
  /// A request that was answered.
  struct Hop: Sendable {
    let request: HTTPRequest
    let response: HTTPResponse
    /// A Boolean value that indicates whether the response led to another request; else it is the
    /// answer.
    let isFollowed: Bool
  }

  /// Whose request the current task sends; `nil`: nobody asks.
  @TaskLocal static var current: RedirectTrail?

  /// The trail of a middleware around the transport, which gets the same hops.
  @TaskLocal static var observed: RedirectTrail?

  private let state = Mutex<[Hop]>([])

  /// In the order in which they were answered, of every call of a transport: a middleware may have made several.
  var hops: [Hop] { state.withLock { $0 } }

  /// The responses that were followed.
  var redirects: [HTTPResponse] { hops.filter(\.isFollowed).map(\.response) }

  /// A Boolean value that indicates whether the latest answer came over a redirect to another origin. From there on the
  /// request was without its credentials.
  var hasChangedOrigin: Bool {
    let hops = hops
    let latest = hops.dropLast().lastIndex { !$0.isFollowed }.map { hops[($0 + 1)...] } ?? hops[...]
    return Set(latest.map { $0.request.url.flatMap(WebOrigin.init) }).count > 1
  }

  func leave(_ hops: Hop...) { leave(hops) }

  func leave(_ hops: [Hop]) { state.withLock { $0 += hops } }
}
