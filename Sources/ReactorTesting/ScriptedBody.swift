public import Foundation
import Synchronization

/// The body of a response that the test sends piece by piece, over a ``ScriptedTransport`` or a
/// ``MockServer``.
///
/// ```swift
/// let body = ScriptedBody()
/// transport.answer("/events", with: .streaming(body))
/// …
/// body.send("data: 1\n\n")   // reaches the reader before anything else is sent
/// body.finish()
/// ```
///
/// The pieces wait for their readers. Each response with this body gets all of them from the start.
public final class ScriptedBody: Sendable {
  enum Event: Sendable {
    case piece(Data)
    case end
    /// The connection is lost.
    case loss
  }

  private let events = Mutex<[Event]>([])
  private let sent = Tally()

  /// Creates a body of which nothing has been sent.
  public init() {}

  /// Sends the next bytes. Returns at once.
  public func send(_ piece: Data) { if !piece.isEmpty { add(.piece(piece)) } }

  /// Sends the next bytes as UTF-8. Returns at once.
  public func send(_ text: String) { send(Data(text.utf8)) }

  /// Ends the body after the pieces that were sent. Later calls have no effect.
  public func finish() { add(.end) }

  /// Loses the connection after the pieces that were sent, so that the body ends early. Later calls
  /// have no effect.
  public func cutShort() { add(.loss) }

  private func add(_ event: Event) {
    let isAdded = events.withLock { events in
      if case .piece? = events.last ?? .piece(Data()) {
        events.append(event)
        return true
      }
      return false
    }
    if isAdded { sent.add(1) }
  }

  /// Returns the event with that index, once it has been sent.
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  func event(at index: Int) async throws -> Event {
    try await sent.wait(for: index + 1)
    return events.withLock { $0[index] }
  }
}
