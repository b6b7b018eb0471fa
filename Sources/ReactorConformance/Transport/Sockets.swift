import Foundation

/// The sockets of this process.
enum Sockets {
  /// Returns the number of sockets that are connected to a port of this machine.
  static func count(to port: Int) -> Int {
    let limit = sysconf(Int32(_SC_OPEN_MAX))
    return (0..<Int32(clamping: min(max(limit, 256), 65_536))).count { peerPort(of: $0) == port }
  }

  private static func peerPort(of descriptor: Int32) -> Int? {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) == 0 }
    }
    return isConnected && address.sin_family == sa_family_t(AF_INET) ? Int(UInt16(bigEndian: address.sin_port)) : nil
  }
}
