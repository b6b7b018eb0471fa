import HTTPTypes
import Synchronization

/// The redirects that led to an answer: ``Redirect/following(_:body:limit:send:)`` leaves them for whoever sent the request.
final class RedirectTrail: Sendable {
  /// Whose request the current task sends; `nil`: nobody asks.
  @TaskLocal static var current: RedirectTrail?

  private let responses = Mutex<[HTTPResponse]>([])

  /// Those of the last call of a transport, in the order in which they were received.
  var redirects: [HTTPResponse] { responses.withLock { $0 } }

  func leave(_ redirects: [HTTPResponse]) { responses.withLock { $0 = redirects } }
}
