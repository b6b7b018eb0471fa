import Synchronization

/// The body of one client's response: pieces of an event stream, each to be written at once.
///
/// It is for one reader, and ends when its task is cancelled, or with a farewell when its time is
/// over. For a client that has asked for a long poll, it ends after one piece. Releasing it ends
/// the client.
public struct ChangeStream: AsyncSequence, Sendable {
  public typealias Element = [UInt8]
  public typealias Failure = Never

  /// The client's place and rights.
  struct Client {
    let seat: UInt64
    var place: Place
    let audiences: Set<ChangeAudience>
    let endsAt: Duration
    var heardAt: Duration
  }

  /// A client's place in the list.
  struct Place {
    var position: UInt64
    /// The client has missed something, and waits for the position of its greeting.
    var isCatchingUp: Bool
    /// The client's wish for one answer; `nil` for a stream.
    let poll: LongPoll?
  }

  /// Counts the client for as long as its stream or its iterator lives.
  fileprivate final class Seat: Sendable {
    let feed: ChangeFeed
    private let id: UInt64

    init(_ feed: ChangeFeed, _ id: UInt64) { (self.feed, self.id) = (feed, id) }
    deinit { feed.close(id) }
  }

  private let seat: Seat
  private let greeting: [UInt8]?
  private let client: Client

  init(_ feed: ChangeFeed, greeting: [UInt8]?, client: Client) {
    seat = Seat(feed, client.seat)
    (self.greeting, self.client) = (greeting, client)
  }

  /// Returns the iterator, for one reader.
  public func makeAsyncIterator() -> Iterator { Iterator(seat: seat, greeting: greeting, client: client) }

  /// The iterator of the one reader.
  public struct Iterator: AsyncIteratorProtocol {
    private let seat: Seat
    private var greeting: [UInt8]?
    private var client: Client
    private var isOver = false

    fileprivate init(seat: Seat, greeting: [UInt8]?, client: Client) {
      (self.seat, self.greeting, self.client) = (seat, greeting, client)
    }

    /// Returns the next piece; `nil` after the farewell, or if the task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> [UInt8]? {
      let feed = seat.feed
      if let greeting {
        self.greeting = nil
        client.heardAt = feed.elapsed()
        return greeting
      }
      while !isOver, !Task.isCancelled {
        switch feed.next(for: &client) {
        case .bytes(let bytes): return bytes
        case .end(let bytes):
          isOver = true
          return bytes
        case .wait:
          guard let position = await feed.wait(for: client) else { return nil }
          // A client may be ahead of its server. Zero is a lost history.
          client.place.position = position == 0 ? 0 : Swift.max(client.place.position, position)
        }
      }
      return nil
    }
  }
}
