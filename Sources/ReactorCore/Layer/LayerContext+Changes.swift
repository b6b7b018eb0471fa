package import Foundation
package import HTTPCaching
package import HTTPTypes
import HTTPTypesFoundation

/// Requests that change something, and the records that they make stale (RFC 9111 §4.4, RFC 9875).
extension LayerContext {
  /// Sends a request once, through the middlewares of the backend, without cache and retries.
  ///
  /// The caller invalidates what the result names.
  ///
  /// - Parameters:
  ///   - form: the body in place of `body`, if it is a form.
  ///   - progress: called as the transport reports progress.
  package func send(
    _ request: HTTPRequest, body: Data?, form: EncodedForm? = nil,
    progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
  ) async -> SentRequest {
    let key = RecordKey(
      method: request.method, url: request.absoluteURL, body: body, scope: scope,
      secretQueryItems: configuration.secretQueryItems, digests: cache.digests)
    let trail = RedirectTrail()
    var sent: SentRequest
    do {
      guard let backend else {
        throw ReactorError.invalidResource(
          "a flow of closures has no backend to send to; submit writes to a layer with a Backend")
      }
      let answer = try await sendWrite(request, of: key) { request in
        try await backend.send(request, body: form?.body ?? body, trail: trail, progress: progress)
      }
      sent = SentRequest(key: key, result: .success(answer))
    } catch {
      sent = SentRequest(key: key, result: .failure(ReactorError(error, wrap: ReactorError.network)))
    }
    let response = try? sent.result.get().0
    sent.isAccepted = response.map(Invalidation.isAcceptance) ?? false
    sent.latest = trail.latest
    sent.failures = trail.failures
    sent.isRenewed = trail.isRenewed
    sent.route = WriteRoute(of: request, trail, answer: try? sent.result.get())
    sent.isSeenElsewhere = trail.hops.contains(where: \.leadsToResult)
    sent.changed = staleKeys(
      after: trail, key, isAccepted: sent.isAccepted, response, configuration.secretQueryItems)
    sent.groups = staleGroups(after: trail, key, response)
    return sent
  }

  /// Returns the keys that a change makes stale (RFC 9111 §4.4). These are the key itself, if the
  /// server accepted the change, and every URL that a hop changed or named, whatever happened to
  /// the next hop.
  ///
  /// - Parameter answer: the response. It is used only if there is no trail, as with a custom
  ///   network step.
  func staleKeys(
    after trail: RedirectTrail, _ key: RecordKey, isAccepted: Bool, _ answer: HTTPResponse?, _ secretNames: Set<String>
  ) -> [RecordKey] {
    let hops = trail.hops
    var urls = hops.flatMap { Invalidation.urls(of: $0.request, $0.response) }
    if hops.isEmpty, let answer { urls = Invalidation.relatedURLs(in: answer, to: key.method, key.url) }
    var keys = isAccepted || hops.contains(where: \.isFollowed) ? [RecordKey.get(key)] : []
    for url in urls {
      let other = RecordKey(
        method: .get, url: url, scope: key.scope, secretQueryItems: secretNames, digests: cache.digests)
      if !keys.contains(other) { keys.append(other) }
    }
    return keys
  }

  /// Returns the groups that the responses of a change make stale, only those of the base URL's
  /// origin (RFC 9875 §3).
  func staleGroups(after trail: RedirectTrail, _ key: RecordKey, _ answer: HTTPResponse?) -> Set<String> {
    let hops = trail.hops
    if hops.isEmpty { return answer.map { CacheGroups.invalidated(by: $0, to: key.method) } ?? [] }
    let origin = try? backend?.base.get().origin
    return hops.reduce(into: []) { groups, hop in
      guard origin == nil || hop.request.url.flatMap(WebOrigin.init) == origin else { return }
      groups.formUnion(CacheGroups.invalidated(by: hop.response, to: hop.request.method))
    }
  }

  /// Invalidates everything that a change has made stale: every record of the keys' URLs, and the
  /// groups.
  package func invalidate(_ changed: [RecordKey], groups: Set<String>) async {
    for key in changed { await invalidateURL(of: key) }
    await invalidate(KeySet(groups: groups))
  }

  /// Invalidates `resources`, as ``ModelLayer/invalidate(_:)`` does.
  package func invalidate(_ resources: [ResourceSet]) async {
    let secret = configuration.secretQueryItems
    await invalidate(
      KeySet(resources) { resource throws(ReactorError) in try keys.key(resource, secretQueryItems: secret) })
  }

  private func invalidateURL(of key: RecordKey) async {
    await tellOthers(key)
    var keys = Set([RecordKey.get(key)] + self.keys(of: key.url))
    if let stored = try? await cache.keys(of: key.url, in: scope) { keys.formUnion(stored) }
    keys.formUnion(await cache.equivalents(of: key) { self.livingMembers.flatMap(\.keys) })
    for key in keys.inOrder { await invalidate(key, isTold: true) }
  }
}

/// A request that was sent once, and its outcome.
package struct SentRequest: Sendable {
  package let key: RecordKey
  package let result: Result<(HTTPResponse, Data), ReactorError>
  /// A Boolean value that indicates whether the status is a success or a redirect.
  package fileprivate(set) var isAccepted = false
  /// A Boolean value that indicates whether the server has redirected the request to a `GET` of its
  /// result, which was followed (RFC 9110 §15.4.4). The request itself was carried out, and
  /// ``result`` comes from the `GET`.
  package fileprivate(set) var isSeenElsewhere = false
  /// The latest exchange of the transport, which shows whose error ``result`` contains.
  package fileprivate(set) var latest = LatestExchange.none
  /// The errors of the calls of the transport that have failed.
  package fileprivate(set) var failures: [any Error] = []
  /// A Boolean value that indicates whether the credential was renewed for the request, so that a
  /// 401 is about this URL only.
  package fileprivate(set) var isRenewed = false
  /// The way of the request to ``result``.
  package fileprivate(set) var route = WriteRoute()
  /// The keys that the request has made stale.
  package fileprivate(set) var changed: [RecordKey] = []
  /// The groups that the responses have made stale (RFC 9875).
  package fileprivate(set) var groups: Set<String> = []

  init(key: RecordKey, result: Result<(HTTPResponse, Data), ReactorError>) {
    self.key = key
    self.result = result
  }
}
