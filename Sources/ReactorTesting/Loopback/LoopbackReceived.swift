package import Foundation

extension LoopbackServer {
  /// A request as it came over the wire.
  package struct Received: Sendable {
    package var method: String
    /// As it stood in the request line, byte for byte.
    package var target: String
    /// In order, with duplicates.
    package var fields: [(name: String, value: String)]
    package var body: Data

    /// The value of the first field of that name, compared without regard to case.
    package subscript(name: String) -> String? {
      fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }
  }
}

/// Cuts what a connection delivers into requests.
struct RequestReader {
  let socket: Socket
  private var buffer = Data()

  init(socket: Socket) { self.socket = socket }

  private static let clientHello = LoopbackServer.Received(method: "TLS", target: "", fields: [], body: Data())

  /// The next request; `nil` when the peer is done.
  mutating func next() -> LoopbackServer.Received? {
    let separator = Data("\r\n\r\n".utf8)
    while true {
      // A TLS handshake (RFC 8446 §5.1), to which a plain server answers as it likes.
      if buffer.first == 0x16 { return Self.clientHello }
      if let end = buffer.range(of: separator) {
        let head = buffer[buffer.startIndex..<end.lowerBound]
        buffer = Data(buffer[end.upperBound...])
        return request(head: String(decoding: head, as: UTF8.self))
      }
      guard fill() else { return nil }
    }
  }

  private mutating func request(head: String) -> LoopbackServer.Received? {
    var lines = head.components(separatedBy: "\r\n")
    let start = lines.removeFirst().components(separatedBy: " ")
    guard start.count == 3 else { return nil }
    let fields = lines.compactMap { line -> (name: String, value: String)? in
      guard let colon = line.firstIndex(of: ":") else { return nil }
      return (String(line[..<colon]), line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces))
    }
    var request = LoopbackServer.Received(method: start[0], target: start[1], fields: fields, body: Data())
    if request["Expect"]?.lowercased() == "100-continue" { socket.send(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
    guard let body = request["Transfer-Encoding"] == nil ? announced(request) : chunks() else { return nil }
    request.body = body
    return request
  }

  private mutating func announced(_ request: LoopbackServer.Received) -> Data? {
    bytes(request["Content-Length"].flatMap { Int($0) }.map { max(0, $0) } ?? 0)
  }

  /// A body in chunks (RFC 9112 §7.1); `nil` for anything else that is in a transfer coding.
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

  /// The next bytes, so many.
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
