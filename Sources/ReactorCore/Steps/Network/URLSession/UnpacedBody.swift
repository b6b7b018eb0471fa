import Synchronization

/// The body of a response from a client that cannot be slowed down. The bytes that nobody has read
/// are bounded.
final class UnpacedBody: Sendable {
  private let limit: Int
  private let unread = Atomic(0)
  private let continuation: AsyncThrowingStream<ArraySlice<UInt8>, any Error>.Continuation

  /// Creates a body and the pieces that its reader gets.
  ///
  /// - Parameter limit: the largest number of bytes that wait to be read.
  static func make(limit: Int) -> (UnpacedBody, Pieces) {
    let (stream, continuation) = AsyncThrowingStream<ArraySlice<UInt8>, any Error>.makeStream()
    let body = UnpacedBody(limit: limit, continuation)
    return (body, Pieces(stream: stream, body: body))
  }

  /// Sets the closure to call once the pieces are released or their reader is cancelled. It may be
  /// called under the lock of the reader's task.
  func whenReleased(_ release: @escaping @Sendable () -> Void) {
    continuation.onTermination = { if case .cancelled = $0 { release() } }
  }

  private init(limit: Int, _ continuation: AsyncThrowingStream<ArraySlice<UInt8>, any Error>.Continuation) {
    self.limit = limit
    self.continuation = continuation
  }

  /// Adds the next bytes, unless too many wait to be read.
  ///
  /// - Throws: ``TransportError/tooManyUnread(limit:request:)``.
  func add(_ bytes: ArraySlice<UInt8>) throws(TransportError) {
    guard unread.add(bytes.count, ordering: .relaxed).newValue <= limit else { throw .tooManyUnread(limit: limit) }
    continuation.yield(bytes)
  }

  /// Ends the body, after the bytes that wait to be read.
  func end(_ error: (any Error)?) { continuation.finish(throwing: error) }

  /// The bytes in the order of their arrival, for one reader.
  struct Pieces: AsyncSequence, Sendable {
    typealias Element = ArraySlice<UInt8>
    typealias Failure = any Error

    fileprivate let stream: AsyncThrowingStream<ArraySlice<UInt8>, any Error>
    fileprivate let body: UnpacedBody

    func makeAsyncIterator() -> Iterator { Iterator(stream: stream.makeAsyncIterator(), body: body) }

    struct Iterator: AsyncIteratorProtocol {
      fileprivate var stream: AsyncThrowingStream<ArraySlice<UInt8>, any Error>.Iterator
      fileprivate let body: UnpacedBody

      mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
        let piece = try await stream.next(isolation: actor)
        if let piece { body.unread.subtract(piece.count, ordering: .relaxed) }
        return piece
      }
    }
  }
}
