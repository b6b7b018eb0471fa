public import Foundation
import ReactorLoopback

extension MockServer {
  /// A request as it came over the wire.
  public struct Request: Sendable {
    let message: LoopbackRequest

    /// The first line, such as `GET /articles?page=2 HTTP/1.1`.
    public var requestLine: String { message.requestLine }
    /// The method, in the case that it was sent in.
    public var method: String { message.method }
    /// The path and the query, byte for byte.
    public var target: String { message.target }
    /// The header fields in order, with duplicates, in the case that they were sent in.
    public var headers: [(name: String, value: String)] { message.headers }
    /// The body, without the framing of its chunks.
    public var body: Data { message.body }
    /// A Boolean value that indicates whether the client began a TLS handshake instead.
    package var isTLS: Bool { message.isTLS }

    /// The value of the first header field of that name; `nil` if the request has no such field.
    /// Case does not matter.
    ///
    /// ```swift
    /// #expect(server.requests.first?["If-None-Match"] == #""v1""#)
    /// ```
    public subscript(name: String) -> String? { message[name] }
  }
}
