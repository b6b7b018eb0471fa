import Foundation
import HTTPTypes

/// A request of the command line as messages name it.
struct FetchedRequest: Sendable, Hashable {
  let method: HTTPRequest.Method
  let url: URL

  /// The method, host and path, without the query, as the library's errors have it.
  var text: String {
    let parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
    let port = parts?.port.map { ":\($0)" } ?? ""
    let path = parts?.percentEncodedPath ?? ""
    return "\(method.rawValue) \(parts?.encodedHost ?? "")\(port)\(path.isEmpty ? "/" : path)"
  }
}
