import Foundation

/// A listener that takes connections and reads nothing from them by itself.
package struct StalledServer: Sendable {
  private let listener: Socket
  private let port: UInt16

  package init() throws { (listener, port) = try Socket.listening() }

  /// `127.0.0.1` and the port.
  package var authority: String { "127.0.0.1:\(port)" }

  /// The next connection, once there is one.
  package func accepted() async throws -> Connection {
    let (listener, arrived, taken) = (listener, Latch(), Shared<Socket?>(nil))
    Thread.detachNewThread {
      taken.change { $0 = listener.accepted() }
      arrived.open()
    }
    try await arrived.wait()
    guard let socket = taken.value else { throw CancellationError() }
    return Connection(socket: socket)
  }

  package func close() { listener.close() }

  package struct Connection: Sendable {
    fileprivate let socket: Socket

    /// Reads what the peer sends and keeps none of it, until so many bytes are there or the peer has hung up.
    ///
    /// - Returns: how many bytes came.
    @discardableResult package func drain(atLeast limit: Int = .max) async throws -> Int {
      let (socket, count, done) = (socket, Shared(0), Latch())
      Thread.detachNewThread {
        while count.value < limit, let data = socket.receive() { count.change { $0 += data.count } }
        done.open()
      }
      try await done.wait()
      return count.value
    }

    package func send(_ text: String) { socket.send(Data(text.utf8)) }

    package func close() { socket.close() }
  }
}
