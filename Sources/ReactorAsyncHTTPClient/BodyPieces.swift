#if AsyncHTTPClient
  import Foundation
  import NIOCore
  import ReactorCore

  /// The body of a request, in pieces that the connection takes one by one. So a mapped file is
  /// read while it is sent.
  struct BodyPieces: AsyncSequence, Sendable {
    typealias Element = ByteBuffer
    typealias Failure = Never

    let body: Data
    let report: TransferReport

    func makeAsyncIterator() -> Iterator { Iterator(rest: body, size: body.count, report: report) }

    struct Iterator: AsyncIteratorProtocol {
      fileprivate var rest: Data
      fileprivate let size: Int
      fileprivate let report: TransferReport

      mutating func next() async -> ByteBuffer? {
        // A request for the next piece means that all earlier ones were sent.
        report.sent(Int64(size - rest.count))
        guard !rest.isEmpty else { return nil }
        let piece = rest.prefix(Self.pieceSize)
        rest = rest.dropFirst(Self.pieceSize)
        return ByteBuffer(bytes: piece)
      }

      private static let pieceSize = 64 << 10
    }
  }
#endif
