import HTTPTypes
import Synchronization

/// The way to an answer: ``Redirect/following(_:body:limit:send:)`` leaves each hop for whoever sent the request, when it is answered.
final class RedirectTrail: Sendable {
  /// A request that was answered.
  struct Hop: Sendable {
    let request: HTTPRequest
    let response: HTTPResponse
    /// Whether the response led to another request; else it is the answer.
    let isFollowed: Bool
  }

  /// Whose request the current task sends; `nil`: nobody asks.
  @TaskLocal static var current: RedirectTrail?

  /// The trail of a middleware around the transport, which gets the same hops.
  @TaskLocal static var observed: RedirectTrail?

  private let state = Mutex<[Hop]>([])

  /// In the order in which they were answered, of every call of a transport: a middleware may have made several.
  var hops: [Hop] { state.withLock { $0 } }

  /// The responses that were followed.
  var redirects: [HTTPResponse] { hops.filter(\.isFollowed).map(\.response) }

  /// A Boolean value that indicates whether the latest answer came over a redirect to another origin. From there on the
  /// request was without its credentials.
  var hasChangedOrigin: Bool {
    let hops = hops
    let latest = hops.dropLast().lastIndex { !$0.isFollowed }.map { hops[($0 + 1)...] } ?? hops[...]
    return Set(latest.map { $0.request.url.flatMap(WebOrigin.init) }).count > 1
  }

  func leave(_ hops: Hop...) { leave(hops) }

  func leave(_ hops: [Hop]) { state.withLock { $0 += hops } }
}
