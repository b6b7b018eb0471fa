public import Foundation
public import HTTPTypes
import Synchronization

/// A transport that can return a response at its head, and its body piece by piece.
///
/// Both transports of this package do. ``Backend/stream(for:clock:)`` uses it.
public protocol StreamingTransport: Transport {
  /// Sends `request` with `body`, and returns as soon as the head of the response has arrived,
  /// whatever its status.
  ///
  /// Redirects are followed as `send` does. Cancelling the calling task ends the exchange, and the
  /// call throws at once. The transport's timeout ends with the head, so a body may last for hours.
  /// The request is sent once: if the connection is lost, the call or the body throws.
  ///
  /// - Parameters:
  ///   - request: an absolute request: scheme, authority and path are set. Unless it has the field
  ///     `Accept-Encoding`, the transport sends `identity`, since a coding delays bytes.
  ///   - body: the bytes to send; `nil` for none.
  /// - Returns: the head, without interim responses, and the body.
  func stream(_ request: HTTPRequest, body: Data?) async throws -> (HTTPResponse, ResponseBody)
}

/// The body of a response, in pieces as they arrive.
///
/// ```swift
/// for try await piece in stream.body { parser.feed(piece) }
/// ```
///
/// No piece is empty. The sequence ends with the body, and throws if the body ends early: a short
/// body is never a success.
///
/// It is for one reader. Releasing the body or its iterator ends the exchange, and so does
/// cancelling the task that reads, which gets `CancellationError`. A second iterator throws
/// ``ReactorError/invalidResource(_:)``.
public struct ResponseBody: AsyncSequence, Sendable {
  public typealias Element = ArraySlice<UInt8>
  public typealias Failure = any Error
  private typealias Pieces = AsyncSequence<ArraySlice<UInt8>, any Error> & Sendable

  /// The pieces, until the reader takes them. From then on, only its iterator retains the exchange.
  private final class Source: Sendable {
    private let pieces: Mutex<(any Pieces)?>

    init(_ pieces: any Pieces) { self.pieces = Mutex(pieces) }

    func take() -> (any Pieces)? { pieces.withLock { $0.take() } }
  }

  private let source: Source
  private var failure: @Sendable (any Error) -> any Error = { $0 }

  /// Creates the body of a transport of yours.
  ///
  /// - Parameter pieces: The sequence to read, such as an `AsyncThrowingStream`. It is iterated at
  ///   most once. The exchange must end when the sequence is released without an iterator, when its
  ///   iterator is released, and when the task that waits in `next` is cancelled.
  public init(_ pieces: some AsyncSequence<ArraySlice<UInt8>, any Error> & Sendable) { source = Source(pieces) }

  /// Creates a body that is complete.
  package init(_ data: Data) {
    self.init(
      AsyncThrowingStream { continuation in
        if !data.isEmpty { continuation.yield(ArraySlice(data)) }
        continuation.finish()
      })
  }

  /// Returns the same body, whose errors are those of `transform`.
  func mappingErrors(_ transform: @escaping @Sendable (any Error) -> any Error) -> ResponseBody {
    var body = self
    body.failure = transform
    return body
  }

  public func makeAsyncIterator() -> Iterator {
    guard let pieces = source.take() else { return Iterator(state: .taken, failure: failure) }
    return Iterator(state: .reading(Self.iterator(of: pieces)), failure: failure)
  }

  private static func iterator(
    of pieces: some Pieces
  ) -> any AsyncIteratorProtocol<ArraySlice<UInt8>, any Error> { pieces.makeAsyncIterator() }

  /// The reader of a body. Its release ends the exchange.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate enum State {
      case reading(any AsyncIteratorProtocol<ArraySlice<UInt8>, any Error>)
      case over
      /// Another iterator reads the body.
      case taken
    }

    fileprivate var state: State
    fileprivate let failure: @Sendable (any Error) -> any Error

    /// Returns the next piece; `nil` at the end of the body.
    ///
    /// - Throws: `CancellationError`, if the task is cancelled; the error with which the body ends
    ///   early. Once it has thrown, the exchange is over, and the next call returns `nil`.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
      switch state {
      case .over: return nil
      case .taken: throw failure(ReactorError.invalidResource("a response's body has one reader; iterate it once"))
      case .reading(var pieces):
        // Released at each end below, before the caller learns of it.
        state = .over
        do {
          try Task.checkCancellation()
          let piece = try await Self.next(&pieces, actor)
          // A cancellation may end the sequence without an error. The body is then incomplete.
          if piece == nil { try Task.checkCancellation() } else { state = .reading(pieces) }
          return piece
        } catch {
          throw failure(Task.isCancelled ? CancellationError() : error)
        }
      }
    }

    /// Returns the next piece that has bytes.
    private static func next(
      _ pieces: inout any AsyncIteratorProtocol<ArraySlice<UInt8>, any Error>, _ actor: isolated (any Actor)?
    ) async throws -> ArraySlice<UInt8>? {
      while let piece = try await pieces.next(isolation: actor) {
        if !piece.isEmpty { return piece }
      }
      return nil
    }
  }
}

extension ResponseBody {
  /// The bytes that a reader with a limit has collected.
  private final class Collected: Sendable {
    private let bytes = Mutex(Data())

    var data: Data { bytes.withLock { $0 } }

    /// Adds the bytes of `piece` up to `limit`. Returns `false` once the limit is reached.
    func add(_ piece: ArraySlice<UInt8>, limit: Int) -> Bool {
      bytes.withLock { bytes in
        bytes.append(contentsOf: piece.prefix(limit - bytes.count))
        return bytes.count < limit
      }
    }
  }

  /// Returns the first `limit` bytes, and ends the exchange if there are more.
  ///
  /// A body that ends early, or does not end within `patience`, counts as far as it has arrived.
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  func prefix(_ limit: Int, within patience: Duration, on clock: any Clock<Duration>) async throws -> Data {
    let collected = Collected()
    do {
      try await withDeadline(patience, clock) {
        for try await piece in self where !collected.add(piece, limit: limit) { return }
      }
    } catch {
      try Task.checkCancellation()
    }
    return collected.data
  }
}
