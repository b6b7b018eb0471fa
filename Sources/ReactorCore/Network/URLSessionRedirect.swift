import Foundation
import HTTPTypes

/// One request of a chain of redirects, and what follows from its answer (RFC 9110 §15.4, as browsers do it).
///
/// Followed here and not by the platform: on Linux that decodes `%2F` in a relative `Location`, resolves it against
/// the root, drops the body of a 307, and sends credentials to wherever it is sent.
struct URLSessionRedirect {
  var request: HTTPRequest
  var body: Data?

  /// The next request; `nil` where `response` is the answer.
  func next(after response: HTTPResponse) -> URLSessionRedirect? {
    guard [301, 302, 303, 307, 308].contains(response.status.code),
      let target = Self.target(response.headerFields[.location], from: request)
    else { return nil }
    var next = self
    next.request.scheme = target.scheme
    next.request.authority = target.authority
    next.request.path = target.path
    if becomesGet(response.status.code) { next.becomeGet() }
    if Self.origin(of: request) != Self.origin(of: next.request) {
      for name in Self.credentials { next.request.headerFields[name] = nil }
    }
    return next
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

  /// Scheme, host and port: what credentials belong to.
  private static func origin(of request: HTTPRequest) -> [String] {
    let scheme = request.scheme?.lowercased() ?? ""
    var authority = request.authority?.lowercased() ?? ""
    let ownPort = scheme == "https" ? ":443" : ":80"
    if authority.hasSuffix(ownPort) { authority.removeLast(ownPort.count) }
    return [scheme, authority]
  }

  private static func target(
    _ location: String?, from request: HTTPRequest
  ) -> (scheme: String, authority: String, path: String)? {
    guard let location, !location.isEmpty, let base = request.url,
      let url = URL(string: location, relativeTo: base),
      let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
      let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https",
      let host = parts.encodedHost, !host.isEmpty
    else { return nil }
    let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
    return (
      scheme, parts.port.map { "\(host):\($0)" } ?? host, parts.percentEncodedQuery.map { "\(path)?\($0)" } ?? path
    )
  }

  private static let credentials: [HTTPField.Name] = [.authorization, .cookie, .proxyAuthorization]
  private static let contentFields: [HTTPField.Name] = [
    .contentEncoding, .contentLanguage, .contentLength, .contentLocation, .contentType,
  ]
}
