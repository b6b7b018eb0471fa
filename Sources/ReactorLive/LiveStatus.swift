public import ReactorCore

/// The state of the stream of a server's changes.
///
/// ```swift
/// let isLive = layer.live?.status.isLive == true
/// ```
public enum LiveStatus: Sendable {
  /// Changes arrive, or a long poll waits for them. Polling streams poll rarely.
  case live
  /// The stream is being opened, or the server repeats what was missed.
  case catchingUp
  /// The stream is interrupted, by this error or by its end, and will be opened again by itself.
  /// Until then each stream polls as it would without changes.
  case interrupted(ReactorError?)
  /// The stream is closed, and is not opened again by itself, unless it says so below.
  case off(Reason)

  /// The reason why no stream is open.
  public enum Reason: Sendable {
    /// Nothing is observed. The first stream or observer of the layer opens it.
    case notObserved
    /// The app is in the background. Its return opens the stream again.
    case background
    /// The server has ended it for good (status 204). ``LiveUpdates/reconnect()`` opens it again.
    case ended
    /// The server refuses the credential. The next sign-in opens it again.
    case authentication
    /// The server refuses the request. ``LiveUpdates/reconnect()`` opens it again.
    case refused(ReactorError)
    /// The response is of this media type, not `text/event-stream`. The return of connectivity, or
    /// ``LiveUpdates/reconnect()``, tries again.
    case notAnEventStream(String?)
    /// The request cannot be made: the transport cannot stream, or the resource is invalid.
    case unavailable(ReactorError)
  }

  /// A Boolean value that indicates whether the status is ``live``.
  public var isLive: Bool { if case .live = self { true } else { false } }
}

extension LiveStatus: CustomStringConvertible {
  /// The status in words, for logs and tests.
  public var description: String {
    switch self {
    case .live: "live"
    case .catchingUp: "catching up"
    case .interrupted(let error): error.map { "interrupted: \($0)" } ?? "interrupted"
    case .off(.notObserved): "off: nothing is observed"
    case .off(.background): "off: the app is in the background"
    case .off(.ended): "off: the server has ended the stream (204)"
    case .off(.authentication): "off: the server refuses the credential"
    case .off(.refused(let error)): "off: \(error)"
    case .off(.notAnEventStream(let type)): "off: the response is \(type ?? "of no type"), not text/event-stream"
    case .off(.unavailable(let error)): "off: \(error)"
    }
  }
}
