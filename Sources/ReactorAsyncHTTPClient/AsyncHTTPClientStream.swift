#if AsyncHTTPClient
  import AsyncHTTPClient
  public import Foundation
  public import HTTPTypes
  import NIOCore
  import NIOHTTP1
  public import ReactorCore

  extension AsyncHTTPClientTransport: StreamingTransport {
    /// Sends a request and returns the response at its head, after redirects.
    ///
    /// The body is read from the connection as its reader asks for it, so a slow reader makes the
    /// server wait. The transport's own streams have connections of their own, and `send` does not
    /// wait for them. On a client that the caller provides, each stream occupies one of its
    /// connections: allow enough with
    /// `connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit`, which is eight by default.
    ///
    /// Cancelling the calling task, or releasing the body, ends the exchange.
    ///
    /// - Parameters:
    ///   - request: A request with scheme, authority and path. The scheme is `http` or `https`.
    ///   - body: The body to send; `nil` for none.
    /// - Throws: The errors of ``send(_:body:progress:)``, and so does the body.
    public func stream(_ request: HTTPRequest, body: Data?) async throws -> (HTTPResponse, ResponseBody) {
      let pool = pool?.forStreams()
      do {
        return try await TransferReport.reporting({ _ in }, bodySize: body?.count ?? 0) { report in
          try await withDeadline(timeout, clock) {
            try await Redirect.following(request, body: body, limit: maximumRedirects) { request, body in
              try await opened(HTTPClientRequest(request, body: body, report: report), pool)
            }
          }
        }
      } catch {
        throw Task.isCancelled ? CancellationError() : mapped(error)
      }
    }

    private func opened(_ request: HTTPClientRequest, _ pool: ConnectionPool?) async throws -> (
      HTTPResponse, ResponseBody
    ) {
      var request = request
      if !request.headers.contains(name: "Accept-Encoding") {
        request.headers.add(name: "Accept-Encoding", value: "identity")
      }
      // The client may send a request even if the task is already cancelled.
      try Task.checkCancellation()
      let received = try await executed(request, by: pool?.client ?? client)
      let response = try received.converted()
      let pieces = StreamPieces(
        body: received.body, response: pool.map { _ in response }, limit: maximumResponseSize, pool: pool,
        mapped: { mapped($0) })
      return (pool == nil ? response : response.decoded(), ResponseBody(pieces))
    }
  }

  /// The decoded pieces of a body, each taken from the connection when it is asked for.
  private struct StreamPieces: AsyncSequence, Sendable {
    typealias Element = ArraySlice<UInt8>
    typealias Failure = any Error

    let body: HTTPClientResponse.Body
    /// The response whose codings are removed; `nil` if the client removes them.
    let response: HTTPResponse?
    /// The largest size of a decoded piece.
    let limit: Int
    /// Retained until the end of the stream, so that the client is not shut down.
    let pool: ConnectionPool?
    let mapped: @Sendable (any Error) -> any Error

    func makeAsyncIterator() -> Iterator {
      Iterator(
        body: body.makeAsyncIterator(), decoder: response.map(BodyDecoder.init), limit: limit, pool: pool,
        mapped: mapped)
    }

    struct Iterator: AsyncIteratorProtocol {
      fileprivate var body: HTTPClientResponse.Body.AsyncIterator
      fileprivate let decoder: BodyDecoder?
      fileprivate let limit: Int
      fileprivate let pool: ConnectionPool?
      fileprivate let mapped: @Sendable (any Error) -> any Error

      mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
        do {
          guard let part = try await body.next(isolation: actor) else {
            try decoder?.finish()
            return nil
          }
          guard let decoder else { return ArraySlice(part.readableBytesView) }
          return try ArraySlice(decoder.decode(Data(part.readableBytesView), limit: limit))
        } catch {
          throw mapped(error)
        }
      }
    }
  }
#endif
