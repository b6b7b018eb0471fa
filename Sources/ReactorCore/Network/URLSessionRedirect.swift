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
    if WebOrigin(from) != origin {
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

  private static func target(_ parts: URLComponents) -> String {
    let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
    return parts.percentEncodedQuery.map { "\(path)?\($0)" } ?? path
  }

  private static let credentials: [HTTPField.Name] = [.authorization, .cookie, .proxyAuthorization]
  private static let contentFields: [HTTPField.Name] = [
    .contentEncoding, .contentLanguage, .contentLength, .contentLocation, .contentType,
  ]
}
