import Foundation
import Synchronization

/// An HTTP/1.1 server on 127.0.0.1 that has its answers ready: a thread per connection, and no
/// allocation per request, so that only the client's allocations count. ReactorTesting's
/// `MockServer` parses and records each request, in the process that is measured.
final class LocalServer: Sendable {
  struct Failure: Error {
    let code: Int32
  }

  let port: UInt16
  /// The delay before each answer, in microseconds.
  private let delay: UInt32
  private let listener: Int32
  private let whole: [UInt8]
  private let notModified = Array(
    "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nCache-Control: max-age=86400\r\n\r\n".utf8)
  private let requests = Atomic(0)

  /// - Parameters:
  ///   - hasValidator: whether it sends an `ETag`, and answers 304 to a request with that tag.
  ///   - delay: in microseconds.
  init(_ body: Data, hasValidator: Bool = false, delay: UInt32 = 0) throws {
    self.delay = delay
    let validator = hasValidator ? "ETag: \"1\"\r\n" : ""
    whole =
      Array(
        """
        HTTP/1.1 200 OK\r
        Content-Type: application/json\r
        Cache-Control: max-age=86400\r
        \(validator)Content-Length: \(body.count)\r
        \r

        """.utf8) + body
    (listener, port) = try Self.listening()
    Thread.detachNewThread { [weak self, listener] in
      while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0, let self else { return }
        Thread.detachNewThread { self.serve(connection) }
      }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  var authority: String { "127.0.0.1:\(port)" }
  var requestCount: Int { requests.load(ordering: .relaxed) }

  private func serve(_ connection: Int32) {
    var isOn: Int32 = 1
    setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
    withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { buffer in
      var count = 0
      while count < buffer.count {
        let received = recv(connection, buffer.baseAddress?.advanced(by: count), buffer.count - count, 0)
        guard received > 0 else { break }
        count += received
        let request = UnsafeRawBufferPointer(rebasing: buffer[..<count])
        guard request.suffix(4).elementsEqual(Self.end) else { continue }
        requests.add(1, ordering: .relaxed)
        if delay > 0 { usleep(delay) }
        guard send(Self.asksWhetherModified(request) ? notModified : whole, connection) else { break }
        count = 0
      }
    }
    close(connection)
  }

  private func send(_ bytes: [UInt8], _ connection: Int32) -> Bool {
    bytes.withUnsafeBytes { buffer in
      var sent = 0
      while sent < buffer.count {
        let count = Foundation.send(
          connection, buffer.baseAddress?.advanced(by: sent), buffer.count - sent, Int32(Self.noSignal))
        guard count > 0 else { return false }
        sent += count
      }
      return true
    }
  }

  private static let end = Array("\r\n\r\n".utf8)
  private static let field = Array("\r\nIf-None-Match:".utf8)

  private static func asksWhetherModified(_ request: UnsafeRawBufferPointer) -> Bool {
    field.withUnsafeBytes { field in
      guard request.count >= field.count, let start = request.baseAddress, let wanted = field.baseAddress else {
        return false
      }
      return (0...(request.count - field.count)).contains { memcmp(start + $0, wanted, field.count) == 0 }
    }
  }

  private static func listening() throws -> (listener: Int32, port: UInt16) {
    let listener = socket(AF_INET, stream, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    guard listener >= 0, with(&address, { bind(listener, $0, size) }) == 0, listen(listener, 128) == 0,
      with(&address, { getsockname(listener, $0, &size) }) == 0
    else { throw Failure(code: errno) }
    return (listener, UInt16(bigEndian: address.sin_port))
  }

  private static func with<Result>(
    _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> Result
  ) -> Result {
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0) }
    }
  }

  #if os(Linux)
    private static let stream = Int32(SOCK_STREAM.rawValue)
    private static let noSignal = MSG_NOSIGNAL
  #else
    private static let stream = SOCK_STREAM
    private static let noSignal = 0
  #endif
}
