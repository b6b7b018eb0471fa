package import Foundation

/// An HTTP/1.1 request as it came over the wire.
package struct LoopbackRequest: Sendable {
  /// The first line, such as `GET /articles?page=2 HTTP/1.1`.
  package let requestLine: String
  /// The method, in the case that it was sent in.
  package let method: String
  /// The path and the query, byte for byte.
  package let target: String
  /// The header fields in order, with duplicates, in the case that they were sent in.
  package let headers: [(name: String, value: String)]
  /// The body, without the framing of its chunks.
  package internal(set) var body = Data()
  /// A Boolean value that indicates whether the client began a TLS handshake instead.
  package let isTLS: Bool

  /// The value of the first header field of that name; `nil` if the request has no such field. Case
  /// does not matter.
  package subscript(name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  /// A Boolean value that indicates whether the client sends no further request on the connection
  /// (RFC 9112 §9.3).
  package var isLast: Bool {
    requestLine.hasSuffix(" HTTP/1.0") || self["Connection"]?.lowercased() == "close"
  }

  static let clientHello = Self(requestLine: "", method: "", target: "", headers: [], isTLS: true)
}

extension LoopbackRequest {
  /// Creates a request from its head. Returns `nil` if the first line does not have three parts.
  ///
  /// - Parameter head: The head without its empty line.
  init?(head: String) {
    var lines = head.components(separatedBy: "\r\n")
    requestLine = lines.removeFirst()
    let parts = requestLine.components(separatedBy: " ")
    guard parts.count == 3 else { return nil }
    (method, target, isTLS) = (parts[0], parts[1], false)
    headers = lines.compactMap { line in
      guard let colon = line.firstIndex(of: ":") else { return nil }
      return (String(line[..<colon]), line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces))
    }
  }
}
