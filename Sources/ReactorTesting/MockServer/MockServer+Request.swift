public import Foundation

extension MockServer {
  /// A request as it came over the wire.
  public struct Request: Sendable {
    /// The first line, such as `GET /articles?page=2 HTTP/1.1`.
    public let requestLine: String
    /// The method, in the case that it was sent in.
    public let method: String
    /// The path and the query, byte for byte.
    public let target: String
    /// The header fields in order, with duplicates, in the case that they were sent in.
    public let headers: [(name: String, value: String)]
    /// The body, without the framing of its chunks.
    public internal(set) var body = Data()
    /// A Boolean value that indicates whether the client began a TLS handshake instead.
    package let isTLS: Bool

    /// The value of the first header field of that name; `nil` if there is none. Case does not
    /// matter.
    public subscript(name: String) -> String? {
      headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// A Boolean value that indicates whether the client sends no further request on the connection
    /// (RFC 9112 §9.3).
    var isLast: Bool {
      requestLine.hasSuffix(" HTTP/1.0") || self["Connection"]?.lowercased() == "close"
    }
  }
}

extension MockServer.Request {
  static let clientHello = Self(
    requestLine: "", method: "", target: "", headers: [], isTLS: true)

  /// Creates a request from its head. Returns `nil` if the first line does not have three parts.
  ///
  /// - Parameter head: The head without its empty line.
  fileprivate init?(head: String) {
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

/// Splits the bytes of a connection into requests.
struct RequestReader {
  let socket: Socket
  private var buffer = Data()

  init(socket: Socket) { self.socket = socket }

  /// Returns the next request, or `nil` at the end of the connection or of valid HTTP/1.
  mutating func next() -> MockServer.Request? {
    let separator = Data("\r\n\r\n".utf8)
    while true {
      // A TLS handshake (RFC 8446 §5.1). The handler decides on the answer.
      if buffer.first == 0x16 { return .clientHello }
      if let end = buffer.range(of: separator) {
        let head = buffer[buffer.startIndex..<end.lowerBound]
        buffer = Data(buffer[end.upperBound...])
        return request(head: String(decoding: head, as: UTF8.self))
      }
      guard fill() else { return nil }
    }
  }

  private mutating func request(head: String) -> MockServer.Request? {
    guard var request = MockServer.Request(head: head) else { return nil }
    if request["Expect"]?.lowercased() == "100-continue" { socket.send(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
    guard let body = request["Transfer-Encoding"] == nil ? announced(request) : chunks() else { return nil }
    request.body = body
    return request
  }

  private mutating func announced(_ request: MockServer.Request) -> Data? {
    bytes(request["Content-Length"].flatMap { Int($0) }.map { max(0, $0) } ?? 0)
  }

  /// Reads a chunked body (RFC 9112 §7.1). Returns `nil` for any other transfer coding.
  private mutating func chunks() -> Data? {
    var body = Data()
    while let line = line() {
      guard let size = Int(line.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces), radix: 16), size >= 0
      else { return nil }
      guard size > 0 else { return skipTrailers() ? body : nil }
      guard let chunk = bytes(size), self.line() == "" else { return nil }
      body += chunk
    }
    return nil
  }

  private mutating func skipTrailers() -> Bool {
    while let line = line() { if line.isEmpty { return true } }
    return false
  }

  private mutating func line() -> String? {
    while true {
      if let end = buffer.range(of: Data("\r\n".utf8)) {
        defer { buffer = Data(buffer[end.upperBound...]) }
        return String(decoding: buffer[..<end.lowerBound], as: UTF8.self)
      }
      guard fill() else { return nil }
    }
  }

  /// Returns the next `count` bytes, or `nil` if the connection ends earlier.
  private mutating func bytes(_ count: Int) -> Data? {
    while buffer.count < count {
      guard fill() else { return nil }
    }
    defer { buffer = Data(buffer.dropFirst(count)) }
    return Data(buffer.prefix(count))
  }

  private mutating func fill() -> Bool {
    guard let bytes = socket.receive() else { return false }
    buffer.append(bytes)
    return true
  }
}
