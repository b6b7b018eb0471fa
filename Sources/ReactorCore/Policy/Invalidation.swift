import Foundation
import HTTPTypes

/// Which URLs' records an unsafe request makes stale (RFC 9111 §4.4).
enum Invalidation {
  /// Methods that ask for nothing to be changed (RFC 9110 §9.2.1); any other may change something, an unknown one too.
  static func isSafe(_ method: HTTPRequest.Method) -> Bool { [.get, .head, .options, .trace].contains(method) }

  /// The target's, and of the same origin what `Location` and `Content-Location` name; none where the request failed.
  static func urls(of method: HTTPRequest.Method, _ target: URL, _ response: HTTPResponse) -> [URL] {
    guard !isSafe(method), (200...399).contains(response.status.code) else { return [] }
    let origin = WebOrigin(target)
    let named = [HTTPField.Name.location, .contentLocation].compactMap { response.headerFields[$0] }
      .compactMap { URL(string: $0, relativeTo: target)?.absoluteURL }
      .filter { WebOrigin($0) == origin && $0 != target }
    return [target] + named
  }
}
