import Foundation

/// A TCP socket of this machine's loopback interface.
struct Socket: Sendable {
  let descriptor: Int32

  #if os(Linux)
    private static let peek = Int32(MSG_PEEK)
    private static let sendFlags = Int32(MSG_NOSIGNAL)
    static let stream = Int32(SOCK_STREAM.rawValue)
  #else
    private static let peek = MSG_PEEK
    private static let sendFlags: Int32 = 0
    static let stream = SOCK_STREAM
  #endif

  struct Failure: Error { let operation: String, code: Int32 }

  /// A socket that listens on a free port of 127.0.0.1, or of `::1`.
  static func listening(onIPv6 isOnIPv6: Bool = false) throws -> (socket: Socket, port: UInt16) {
    let (socket, port) = try isOnIPv6 ? boundOnIPv6() : bound()
    guard listen(socket.descriptor, 512) == 0 else { throw socket.failed("listen") }
    return (socket, port)
  }

  /// A socket that holds a free port, without listening on it.
  static func bound() throws -> (socket: Socket, port: UInt16) {
    let descriptor = socket(AF_INET, stream, 0)
    let made = Socket(descriptor: descriptor)
    guard descriptor >= 0 else { throw made.failed("socket") }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
      }
    }
    guard result else { throw made.failed("bind") }
    return (made, UInt16(bigEndian: address.sin_port))
  }

  private static func boundOnIPv6() throws -> (socket: Socket, port: UInt16) {
    let descriptor = socket(AF_INET6, stream, 0)
    let made = Socket(descriptor: descriptor)
    guard descriptor >= 0 else { throw made.failed("socket") }
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_addr = in6addr_loopback
    var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
      }
    }
    guard result else { throw made.failed("bind") }
    return (made, UInt16(bigEndian: address.sin6_port))
  }

  /// The next connection; `nil` where there is none to take.
  func accepted() -> Socket? {
    let connection = Socket(descriptor: accept(descriptor, nil, nil))
    guard connection.descriptor >= 0 else { return nil }
    connection.set(Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
    #if canImport(Darwin)
      connection.set(SOL_SOCKET, SO_NOSIGPIPE, Int32(1))
    #endif
    return connection
  }

  /// Sends all of `data`; `false` where the peer is gone.
  @discardableResult func send(_ data: Data) -> Bool {
    var rest = data[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, Self.sendFlags) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// What has arrived, waiting for it; `nil` at the end.
  func receive() -> Data? {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    var count = recv(descriptor, &bytes, bytes.count, 0)
    while count < 0 && errno == EINTR { count = recv(descriptor, &bytes, bytes.count, 0) }
    return count > 0 ? Data(bytes[..<count]) : nil
  }

  /// Waits until `gate` is open (`true`) or the peer is gone (`false`).
  func wait(for gate: Latch) -> Bool {
    while true {
      switch readable(besides: gate.descriptor) {
      case (_, true): return true
      case (true, _):
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Self.peek)
        if count <= 0 { return false }
      default: continue
      }
    }
  }

  /// Waits until this socket or the other descriptor has something to read.
  func readable(besides other: Int32) -> (own: Bool, other: Bool) {
    var polled = [
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0), pollfd(fd: other, events: Int16(POLLIN), revents: 0),
    ]
    _ = poll(&polled, 2, -1)
    return (polled[0].revents != 0, polled[1].revents != 0)
  }

  /// Makes the close that follows an RST.
  func resetOnClose() {
    set(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
  }

  /// Wakes whoever waits on it; the descriptor stays taken until ``close()``.
  func shutDown() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

  func close() { _ = Foundation.close(descriptor) }

  private func set<Value>(_ level: Int32, _ name: Int32, _ value: Value) {
    withUnsafeBytes(of: value) { bytes in
      _ = setsockopt(descriptor, level, name, bytes.baseAddress, socklen_t(bytes.count))
    }
  }

  private func failed(_ operation: String) -> Failure {
    defer { if descriptor >= 0 { close() } }
    return Failure(operation: operation, code: errno)
  }
}
