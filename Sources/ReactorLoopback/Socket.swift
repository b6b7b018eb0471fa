package import Foundation

/// A TCP socket on the loopback interface. Its calls block.
package struct Socket: Sendable {
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

  /// Returns a socket that listens on `port` of 127.0.0.1 or `::1`; 0 for any free port.
  ///
  /// - Throws: `POSIXError`.
  static func listening(port: UInt16 = 0, onIPv6 isOnIPv6: Bool = false) throws -> (socket: Socket, port: Int) {
    let made = Socket(descriptor: socket(isOnIPv6 ? AF_INET6 : AF_INET, stream, 0))
    guard made.descriptor >= 0 else { throw made.failure() }
    // The option allows a port to be reused at once, while connections of its former server linger
    // (TIME_WAIT). If the system chooses the port, the option is set after `bind`. The system would
    // otherwise choose a port that another socket has just bound.
    let reuse = { made.set(SOL_SOCKET, SO_REUSEADDR, Int32(1)) }
    if port != 0 { reuse() }
    let bound = isOnIPv6 ? made.bindToIPv6(port) : made.bindToIPv4(port)
    guard let bound else { throw made.failure() }
    reuse()
    guard listen(made.descriptor, 512) == 0 else { throw made.failure() }
    return (made, bound)
  }

  private func bindToIPv4(_ port: UInt16) -> Int? {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port.bigEndian)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    return bind(to: &address) ? Int(UInt16(bigEndian: address.sin_port)) : nil
  }

  private func bindToIPv6(_ port: UInt16) -> Int? {
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = in_port_t(port.bigEndian)
    address.sin6_addr = in6addr_loopback
    return bind(to: &address) ? Int(UInt16(bigEndian: address.sin6_port)) : nil
  }

  /// Binds, and reads the address back with the port that the system chose.
  private func bind<Address>(to address: inout Address) -> Bool {
    var length = socklen_t(MemoryLayout<Address>.size)
    return withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        Foundation.bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
      }
    }
  }

  /// Returns the next connection, or `nil` if no connection is pending.
  func accepted() -> Socket? {
    let connection = Socket(descriptor: accept(descriptor, nil, nil))
    guard connection.descriptor >= 0 else { return nil }
    connection.set(Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
    #if canImport(Darwin)
      connection.set(SOL_SOCKET, SO_NOSIGPIPE, Int32(1))
    #endif
    return connection
  }

  /// Sends all of `data`. Returns `false` if the peer has disconnected.
  @discardableResult package func send(_ data: Data) -> Bool {
    var rest = data[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, Self.sendFlags) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Waits for bytes. Returns `nil` at the end of the connection.
  package func receive() -> Data? {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    var count = recv(descriptor, &bytes, bytes.count, 0)
    while count < 0 && errno == EINTR { count = recv(descriptor, &bytes, bytes.count, 0) }
    return count > 0 ? Data(bytes[..<count]) : nil
  }

  /// Waits until `latch` is open (`true`) or the peer has disconnected (`false`).
  package func wait(for latch: Latch) -> Bool {
    var watched = Int16(POLLIN)
    while true {
      let (own, isOpen) = readable(besides: latch.descriptor, watching: watched)
      if isOpen { return true }
      if own & Int16(POLLHUP | POLLERR) != 0 { return false }
      guard own != 0 else { continue }
      var byte: UInt8 = 0
      if recv(descriptor, &byte, 1, Self.peek) <= 0 { return false }
      // Bytes that have arrived are read later; they must not end the wait again.
      watched = 0
    }
  }

  /// Waits for an event of this socket, or for data on the other descriptor. Events of this socket
  /// are those of `watching`, and its end.
  func readable(besides other: Int32, watching: Int16 = Int16(POLLIN)) -> (own: Int16, other: Bool) {
    var polled = [
      pollfd(fd: descriptor, events: watching, revents: 0), pollfd(fd: other, events: Int16(POLLIN), revents: 0),
    ]
    _ = poll(&polled, 2, -1)
    return (polled[0].revents, polled[1].revents != 0)
  }

  /// Makes the next ``close()`` send RST.
  package func resetOnClose() {
    set(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
  }

  /// Wakes the thread that waits on the socket. The descriptor stays in use until ``close()``.
  func shutDown() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

  func close() { _ = Foundation.close(descriptor) }

  private func set<Value>(_ level: Int32, _ name: Int32, _ value: Value) {
    withUnsafeBytes(of: value) { bytes in
      _ = setsockopt(descriptor, level, name, bytes.baseAddress, socklen_t(bytes.count))
    }
  }

  /// Closes the socket, and returns the error of the preceding call.
  private func failure() -> POSIXError {
    let error = POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    if descriptor >= 0 { close() }
    return error
  }
}
