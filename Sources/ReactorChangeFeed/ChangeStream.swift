import Synchronization

/// The body of one client's response: pieces of an event stream, each to be written at once.
///
/// It is for one reader, and ends when its task is cancelled, or with a farewell when its time is
/// over. Releasing it ends the client.
public struct ChangeStream: AsyncSequence, Sendable {
  public typealias Element = [UInt8]
  public typealias Failure = Never

  /// The client's place and rights.
  struct Client {
    var position: UInt64
    let audiences: Set<ChangeAudience>
    let endsAt: Duration
    var heardAt: Duration
  }

  /// Counts the client for as long as its stream or its iterator lives.
  fileprivate final class Seat: Sendable {
    let feed: ChangeFeed

    init(_ feed: ChangeFeed) { self.feed = feed }
    deinit { feed.close() }
  }

  private let seat: Seat
  private let greeting: [UInt8]
  private let position: UInt64
  private let audiences: Set<ChangeAudience>
  private let endsAt: Duration

  init(
    _ feed: ChangeFeed, greeting: [UInt8], position: UInt64, audiences: Set<ChangeAudience>, endsAt: Duration
  ) {
    seat = Seat(feed)
    (self.greeting, self.position, self.audiences, self.endsAt) = (greeting, position, audiences, endsAt)
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(
      seat: seat, greeting: greeting,
      client: Client(position: position, audiences: audiences, endsAt: endsAt, heardAt: .zero))
  }

  /// The iterator of the one reader.
  public struct Iterator: AsyncIteratorProtocol {
    private let seat: Seat
    private var greeting: [UInt8]?
    private var client: Client
    private var isOver = false

    fileprivate init(seat: Seat, greeting: [UInt8], client: Client) {
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
        case .wait: await feed.wait(behind: client.position)
        }
      }
      return nil
    }
  }
}
