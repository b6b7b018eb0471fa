import Foundation
import HTTPTypes
import HTTPTypesFoundation

/// Which URLs' records an unsafe request makes stale, beside its target's (RFC 9111 §4.4).
enum Invalidation {
  /// Methods that ask for nothing to be changed (RFC 9110 §9.2.1); any other may change something, an unknown one too.
  static func isSafe(_ method: HTTPRequest.Method) -> Bool { [.get, .head, .options, .trace].contains(method) }

  /// Whether the server has done what an unsafe request asks for, so that what is stored for its target is stale.
  static func isCaused(by method: HTTPRequest.Method, _ response: HTTPResponse) -> Bool {
    !isSafe(method) && isAcceptance(response)
  }

  /// Whether a server answers so when it has done what it was asked for: a redirect is no refusal.
  static func isAcceptance(_ response: HTTPResponse) -> Bool { (200...399).contains(response.status.code) }

  /// What `Location` and `Content-Location` name of the target's origin, as keys spell it.
  static func named(by response: HTTPResponse, to method: HTTPRequest.Method, _ target: String) -> [String] {
    guard isCaused(by: method, response), let url = URL(string: target), let origin = WebOrigin(url) else { return [] }
    let names: [HTTPField.Name] = [.location, .contentLocation]
    let urls = names.compactMap { response.headerFields[$0] }.compactMap { self.url($0, from: url, of: origin) }
    return urls.filter { $0 != target }
  }

  /// The URLs that one answered request makes stale, wherever it was sent: its own, and what its answer names.
  static func urls(of request: HTTPRequest, _ response: HTTPResponse) -> [String] {
    guard isCaused(by: request.method, response), let url = request.url, let origin = WebOrigin(url),
      let target = self.url(url.absoluteString, from: url, of: origin)
    else { return [] }
    return [target] + named(by: response, to: request.method, target)
  }

  /// Without a fragment, which no request has.
  static func url(_ reference: String, from base: URL, of origin: WebOrigin) -> String? {
    guard let url = URL(string: reference, relativeTo: base)?.absoluteURL, WebOrigin(url) == origin,
      let parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
    else { return nil }
    let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
    let query = parts.percentEncodedQuery.map { "?\($0)" } ?? ""
    return "\(origin.scheme)://\(origin.authority)\(path)\(query)"
  }
}
