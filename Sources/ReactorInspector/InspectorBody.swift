public import Foundation

/// The body of a response. The body of the live feed arrives in pieces until its reader stops; any
/// other body is a single piece.
public struct InspectorBody: AsyncSequence, Sendable {
  /// A piece of the body: for the live feed, one server-sent event or comment.
  public typealias Element = Data
  /// Iteration never throws.
  public typealias Failure = Never

  enum Content: Sendable {
    case whole(Data)
    case live(LiveFeed)
  }

  let content: Content

  init(_ content: Content) { self.content = content }

  /// Returns an iterator over the body. Each iterator of the live feed has its own position, and
  /// begins with all rows.
  public func makeAsyncIterator() -> Iterator {
    switch content {
    case .whole(let data): Iterator(state: .whole(data.isEmpty ? nil : data))
    case .live(let feed): Iterator(state: .live(LiveFeed.Iterator(feed)))
    }
  }

  /// The iterator of an ``InspectorBody``.
  public struct Iterator: AsyncIteratorProtocol {
    enum State {
      case whole(Data?)
      case live(LiveFeed.Iterator)
    }

    var state: State

    /// Returns the next piece, or `nil` at the end.
    public mutating func next() async -> Data? { await next(isolation: #isolation) }

    /// Returns the next piece, or `nil` at the end.
    ///
    /// The live feed suspends until something changes, for 15 seconds at most. It ends when the
    /// task is cancelled or the inspector is deallocated.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Data? {
      switch state {
      case .whole(let data):
        state = .whole(nil)
        return data
      case .live(var feed):
        let data = await feed.next()
        state = .live(feed)
        return data
      }
    }
  }
}
