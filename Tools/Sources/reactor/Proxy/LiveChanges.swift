import Foundation
import HTTPCachingProxy
import HTTPTypes
import ReactorChangeFeed

/// The stream of changes of `--live`: it tells what requests through the proxy have changed.
struct LiveChanges: Sendable {
  /// The path of the stream, which the server's own resource of that name cannot have.
  let path: String
  let feed: ChangeFeed
  /// The path of the server's URL, which clients do not see.
  let basePath: String

  /// - Parameter clients: The streams that may be open at once.
  init(path: String, basePath: String, clients: Int) {
    (self.path, self.basePath) = (path, basePath)
    var configuration = ChangeFeedConfiguration()
    configuration.clients = clients
    feed = ChangeFeed(configuration)
  }

  /// Returns the answer to a request for the stream; `nil` if the request is for anything else.
  ///
  /// - Parameter onStall: Closes the connection of a client that does not read.
  func answer(to request: HTTPRequest, onStall: @escaping @Sendable () -> Void) -> ProxyResponse? {
    guard let target = request.path, target.prefix(while: { $0 != "?" }) == path else { return nil }
    guard [.get, .head].contains(request.method) else {
      return ProxyResponse(own: .methodNotAllowed, [.allow: "GET, HEAD"], detail: "live")
    }
    do throws(ChangeFeedError) {
      var answer = ProxyResponse(own: .ok, ChangeFeed.fields, detail: "live")
      answer.response.headerFields[.contentLength] = nil
      answer.changes = try request.method == .get ? feed.open(request, onStall: onStall) : nil
      return answer
    } catch {
      return ProxyResponse(own: error.response.status, error.response.headerFields, detail: "live")
    }
  }

  /// Tells clients what the server's response has changed.
  ///
  /// - Parameter id: The `Change-Id` of the request.
  func publish(_ changes: CacheChanges, by id: String? = nil) {
    var targets = changes.urls.compactMap { self.target($0) { .url($0) } }
    targets += changes.paths.compactMap { self.target($0) { .under($0) } }
    feed.publish(targets + changes.groups.sorted().map { .group($0) }, by: id)
  }

  /// Returns the target of an absolute URL, as clients of the proxy name it; `nil` for a URL that
  /// they cannot request.
  private func target(_ url: String, _ make: (String) -> ChangeTarget) -> ChangeTarget? {
    guard let authority = url.range(of: "://")?.upperBound, let start = url[authority...].firstIndex(of: "/"),
      url[start...].hasPrefix(basePath)
    else { return nil }
    let path = url[start...].dropFirst(basePath.count)
    // As a reference, this would name another host (RFC 3986 §4.2).
    if path.hasPrefix("//") { return .all }
    return path.hasPrefix("/") ? make(String(path)) : nil
  }
}
