package import Foundation
package import HTTPTypes
import HTTPTypesFoundation

/// The URLs whose records an unsafe request makes stale, among them its target (RFC 9111 §4.4).
package enum Invalidation {
  /// Returns whether the method requests no change (RFC 9110 §9.2.1), by its registration with
  /// IANA. An unknown method may change something.
  package static func isSafe(_ method: HTTPRequest.Method) -> Bool {
    [.get, .head, .query, .options, .trace].contains(method) || otherSafeMethods.contains(method.rawValue)
  }

  /// The safe methods of other documents: RFC 4918, RFC 3253, and RFC 5323.
  private static let otherSafeMethods: Set<String> = ["PROPFIND", "REPORT", "SEARCH"]

  /// Returns whether an unsafe request succeeded, which makes the records of its target stale.
  package static func isCaused(by method: HTTPRequest.Method, _ response: HTTPResponse) -> Bool {
    !isSafe(method) && isAcceptance(response)
  }

  /// Returns whether the server did what the request asked for. A redirect counts as success.
  package static func isAcceptance(_ response: HTTPResponse) -> Bool { (200...399).contains(response.status.code) }

  /// Returns the URLs in `Location` and `Content-Location` that have the target's origin, in each
  /// spelling that a key may have.
  ///
  /// - Returns: The URLs without the target. Empty if the request is safe or failed.
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

  /// Returns the URL with the path as the reference spells it. A proxy's client may request that
  /// spelling, with characters that `URL` would encode.
  ///
  /// - Returns: `nil` if the reference has no path from the root.
  private static func written(_ reference: String, _ origin: WebOrigin) -> String? {
    var rest = Substring(reference.prefix { $0 != "#" })
    if let authority = rest.range(of: "//") { rest = rest[authority.upperBound...].drop { $0 != "/" } }
    return rest.hasPrefix("/") ? "\(origin.scheme)://\(origin.authority)\(rest)" : nil
  }

  /// Returns the URLs that a request and its response make stale: its own URL, and the URLs that
  /// the response names.
  package static func urls(of request: HTTPRequest, _ response: HTTPResponse) -> [String] {
    guard isCaused(by: request.method, response), let url = request.url, let origin = WebOrigin(url),
      let target = self.url(url.absoluteString, from: url, of: origin)
    else { return [] }
    return [target] + relatedURLs(in: response, to: request.method, target)
  }

  /// Returns the URL of a reference, without its fragment, because no request has one. Returns
  /// `nil` for another origin.
  package static func url(_ reference: String, from base: URL, of origin: WebOrigin) -> String? {
    guard let url = URL(string: reference, relativeTo: base)?.absoluteURL, WebOrigin(url) == origin,
      let parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
    else { return nil }
    let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
    let query = parts.percentEncodedQuery.map { "?\($0)" } ?? ""
    return "\(origin.scheme)://\(origin.authority)\(path)\(query)"
  }
}
