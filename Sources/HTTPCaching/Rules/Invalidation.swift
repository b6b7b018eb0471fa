import Foundation
package import HTTPTypes
import HTTPTypesFoundation

/// The URLs whose records an unsafe request makes stale, beside its target's (RFC 9111 §4.4).
package enum Invalidation {
  /// Methods that ask for nothing to be changed (RFC 9110 §9.2.1); any other may change something, an unknown one too.
  static func isSafe(_ method: HTTPRequest.Method) -> Bool { [.get, .head, .options, .trace].contains(method) }

  /// Returns whether the server has done what an unsafe request asks for, so that what is stored
  /// for its target is stale.
  static func isCaused(by method: HTTPRequest.Method, _ response: HTTPResponse) -> Bool {
    !isSafe(method) && isAcceptance(response)
  }

  /// Returns whether a server answers so when it has done what it was asked for: a redirect is no
  /// refusal.
  package static func isAcceptance(_ response: HTTPResponse) -> Bool { (200...399).contains(response.status.code) }

  /// Returns the URLs that `Location` and `Content-Location` name of the target's origin, as keys
  /// may spell it.
  package static func relatedURLs(in response: HTTPResponse, to method: HTTPRequest.Method, _ target: String)
    -> [String]
  {
    guard isCaused(by: method, response), let url = URL(string: target), let origin = WebOrigin(url) else { return [] }
    let names: [HTTPField.Name] = [.location, .contentLocation]
    let urls = names.compactMap { response.headerFields[$0] }.flatMap { reference in
      self.url(reference, from: url, of: origin).map { [$0, written(reference, origin) ?? $0] } ?? []
    }
    var seen: Set = [target]
    return urls.filter { seen.insert($0).inserted }
  }

  /// The URL with the path as the reference spells it: a proxy's client may ask for just that, with
  /// characters that `URL` encodes. `nil` where the reference has no path from the root.
  private static func written(_ reference: String, _ origin: WebOrigin) -> String? {
    var rest = Substring(reference.prefix { $0 != "#" })
    if let authority = rest.range(of: "//") { rest = rest[authority.upperBound...].drop { $0 != "/" } }
    return rest.hasPrefix("/") ? "\(origin.scheme)://\(origin.authority)\(rest)" : nil
  }

  /// The URLs that one answered request makes stale, wherever it was sent: its own, and what its answer names.
  package static func urls(of request: HTTPRequest, _ response: HTTPResponse) -> [String] {
    guard isCaused(by: request.method, response), let url = request.url, let origin = WebOrigin(url),
      let target = self.url(url.absoluteString, from: url, of: origin)
    else { return [] }
    return [target] + relatedURLs(in: response, to: request.method, target)
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
