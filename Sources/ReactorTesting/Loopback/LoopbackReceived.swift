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
    let length = request["Content-Length"].flatMap { Int($0) }.map { max(0, $0) } ?? 0
    if request["Expect"]?.lowercased() == "100-continue" { socket.send(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
    while buffer.count < length {
      guard fill() else { return nil }
    }
    request.body = Data(buffer.prefix(length))
    buffer = Data(buffer.dropFirst(length))
    return request
  }

  private mutating func fill() -> Bool {
    guard let bytes = socket.receive() else { return false }
    buffer.append(bytes)
    return true
  }
}
