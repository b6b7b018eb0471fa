package import Foundation
import Synchronization

/// A TCP server on the loopback interface. It accepts any number of connections, each on a separate
/// thread.
///
/// `MockServer` of ReactorTesting answers requests on it. The demo does too, and without
/// ReactorTesting it does not link Swift Testing.
package final class LoopbackServer: Sendable {
  private struct State {
    var open: Set<Int32> = []
    var accepted = 0
    var mostOpen = 0
    var isStopped = false
  }

  /// The port on which the server listens.
  package let port: Int
  /// The URL `http://127.0.0.1` with the port, and without a path.
  package let url: URL
  /// The host and the port of ``url``.
  package let authority: String
  private let listener: Socket
  private let state = Mutex(State())
  private let stopping = Latch()
  private let threads = DispatchGroup()

  /// Listens on a port. Connections are accepted after ``start(connectionsChanged:serve:)``.
  ///
  /// - Parameters:
  ///   - port: The port to listen on; 0 for any free port.
  ///   - isOnIPv6: Pass `true` for `::1`, which a machine may not have.
  /// - Throws: `POSIXError`, with `EADDRINUSE` if the port is taken.
  package init(port: Int = 0, onIPv6 isOnIPv6: Bool = false) throws {
    guard let port = UInt16(exactly: port) else { throw POSIXError(.EADDRNOTAVAIL) }
    (listener, self.port) = try Socket.listening(port: port, onIPv6: isOnIPv6)
    authority = "\(isOnIPv6 ? "[::1]" : "127.0.0.1"):\(self.port)"
    guard let url = URL(string: "http://\(authority)") else { throw POSIXError(.EADDRNOTAVAIL) }
    self.url = url
  }

  /// Accepts connections until ``stop()``, even without references to the server. Call it once.
  ///
  /// - Parameters:
  ///   - connectionsChanged: A closure that is called with 1 for each accepted connection, and with
  ///     -1 after its end.
  ///   - serve: A closure that reads from a connection and writes to it, on the connection's
  ///     thread. The connection is closed when the closure returns.
  package func start(
    connectionsChanged: @escaping @Sendable (Int) -> Void = { _ in }, serve: @escaping @Sendable (Socket) -> Void
  ) {
    detach { [self] in
      acceptConnections { [self] connection in
        connectionsChanged(1)
        detach { [self] in
          serve(connection)
          remove(connection)
          connectionsChanged(-1)
        }
      }
    }
  }

  /// Closes the port and every connection, and blocks until the server's threads have ended.
  /// Further calls have no effect.
  ///
  /// - Returns: `false` if a connection's closure does not return within ten seconds.
  @discardableResult package func stop() -> Bool {
    state.withLock { state in
      state.isStopped = true
      for descriptor in state.open { Socket(descriptor: descriptor).shutDown() }
    }
    stopping.open()
    return threads.wait(timeout: .now() + 10) == .success
  }

  /// The number of connections accepted since the start.
  package var acceptedConnections: Int { state.withLock(\.accepted) }
  /// The number of open connections.
  package var openConnections: Int { state.withLock(\.open.count) }
  /// The maximum number of connections that were open at the same time.
  package var mostOpenConnections: Int { state.withLock(\.mostOpen) }

  private func detach(_ work: @escaping @Sendable () -> Void) {
    threads.enter()
    Thread.detachNewThread {
      work()
      self.threads.leave()
    }
  }

  private func acceptConnections(_ begin: (Socket) -> Void) {
    while true {
      let (_, isStopped) = listener.readable(besides: stopping.descriptor)
      if isStopped { break }
      guard let connection = listener.accepted() else { continue }
      guard add(connection) else {
        connection.close()
        break
      }
      begin(connection)
    }
    listener.close()
  }

  private func add(_ connection: Socket) -> Bool {
    state.withLock { state in
      guard !state.isStopped else { return false }
      state.open.insert(connection.descriptor)
      state.accepted += 1
      state.mostOpen = max(state.mostOpen, state.open.count)
      return true
    }
  }

  /// Closes the connection under the lock, so that ``stop()`` never shuts down a descriptor that
  /// the system has reused.
  private func remove(_ connection: Socket) {
    state.withLock { state in
      state.open.remove(connection.descriptor)
      connection.close()
    }
  }
}
