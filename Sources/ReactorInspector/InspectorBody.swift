public import Foundation

/// The body of an answer, piece by piece. That of the live feed ends only with its reader; the others are one piece.
public struct InspectorBody: AsyncSequence, Sendable {
  public typealias Element = Data
  public typealias Failure = Never

  enum Content: Sendable {
    case whole(Data)
    case live(LiveFeed)
  }

  let content: Content

  init(_ content: Content) { self.content = content }

  public func makeAsyncIterator() -> Iterator {
    switch content {
    case .whole(let data): Iterator(state: .whole(data.isEmpty ? nil : data))
    case .live(let feed): Iterator(state: .live(LiveFeed.Iterator(feed)))
    }
  }

  public struct Iterator: AsyncIteratorProtocol {
    enum State {
      case whole(Data?)
      case live(LiveFeed.Iterator)
    }

    var state: State

    public mutating func next() async -> Data? { await next(isolation: #isolation) }

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
