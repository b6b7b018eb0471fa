import HTTPCaching
public import HTTPTypes

/// The parts of a server that a response has made stale, such as for telling other clients of them.
public struct CacheChanges: Sendable, Hashable {
  /// Absolute URLs, the target's first (RFC 9111 §4.4).
  public var urls: [String]
  /// URLs without a query, below which anything may have changed. They are in place of URLs that
  /// hold a secret.
  public var paths: [String]
  /// Groups of responses (RFC 9875).
  public var groups: Set<String>

  /// Creates changes of these parts.
  public init(urls: [String] = [], paths: [String] = [], groups: Set<String> = []) {
    (self.urls, self.paths, self.groups) = (urls, paths, groups)
  }

  /// A Boolean value that indicates whether nothing has changed.
  public var isEmpty: Bool { urls.isEmpty && paths.isEmpty && groups.isEmpty }
}

extension ProxyCache {
  /// Returns what the response to an unsafe request has changed.
  ///
  /// ```swift
  /// let answer = await cache.receive(response, body: body, for: exchange, at: Date())
  /// feed.publish(cache.changes(by: response, to: exchange).urls.map { .url($0) })
  /// ```
  ///
  /// The URLs are the request's, and those in `Location` and `Content-Location` of the same origin
  /// (RFC 9111 §4.4); the groups are those of `Cache-Group-Invalidation` (RFC 9875 §3). No name
  /// holds the value of a secret query item. Call the method after ``receive(_:body:for:at:)``,
  /// which makes them stale in this cache.
  ///
  /// - Parameters:
  ///   - response: The server's response, unchanged.
  ///   - exchange: The request that was sent.
  /// - Returns: Nothing for a safe request, and for one that failed.
  public func changes(by response: HTTPResponse, to exchange: CacheRequest) -> CacheChanges {
    let request = exchange.client
    guard Invalidation.isCaused(by: request.method, response) else { return CacheChanges() }
    let target = "\(request.scheme ?? "")://\(request.authority ?? "")\(request.path ?? "/")"
    var changes = CacheChanges()
    for url in [target] + Invalidation.relatedURLs(in: response, to: request.method, target) {
      if SecretQuery.hasSecret(url, names: secretQueryItems) {
        changes.paths.append(withoutSecrets(url))
      } else {
        changes.urls.append(url)
      }
    }
    changes.groups = CacheGroups.invalidated(by: response, to: request.method)
    return changes
  }

  /// Returns the URL up to its query, or up to the segment that holds a secret.
  private func withoutSecrets(_ url: String) -> String {
    var path = url.prefix { $0 != "?" }
    while SecretQuery.hasSecret(String(path), names: secretQueryItems), let end = path.dropLast().lastIndex(of: "/") {
      path = path[...end]
    }
    return String(path)
  }
}
