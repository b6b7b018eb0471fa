import Foundation

/// Splits the bytes of a connection into requests.
package struct RequestReader {
  private let socket: Socket
  private var buffer = Data()

  package init(socket: Socket) { self.socket = socket }

  /// Returns the next request, or `nil` at the end of the connection or of valid HTTP/1.
  package mutating func next() -> LoopbackRequest? {
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

  private mutating func request(head: String) -> LoopbackRequest? {
    guard var request = LoopbackRequest(head: head) else { return nil }
    if request["Expect"]?.lowercased() == "100-continue" { socket.send(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
    guard let body = request["Transfer-Encoding"] == nil ? announced(request) : chunks() else { return nil }
    request.body = body
    return request
  }

  private mutating func announced(_ request: LoopbackRequest) -> Data? {
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
