import Foundation
import Synchronization

/// A real HTTP/1.1 server on 127.0.0.1 and a free port: blocking sockets, a thread per connection.
///
/// ```swift
/// try await LoopbackServer.run { _ in .text("hello") } body: { server in
///   // requests to server.url
/// }
/// ```
package final class LoopbackServer: Sendable {
  package typealias Handler = @Sendable (Received) -> Reply

  package let port: UInt16
  private let listener: Socket
  private let isOnIPv6: Bool
  private let handler: Handler
  private let stopping = Latch()
  private let threads = DispatchGroup()
  private let state = Mutex(State())

  private struct State {
    var received: [Received] = []
    var open: Set<Int32> = []
    var accepted = 0
    var mostOpen = 0
    var isStopped = false
    var idleGates: [Latch] = []
  }

  /// The server threads that did not end.
  package struct StillRunning: Error {}

  /// - Parameters:
  ///   - isOnIPv6: whether it listens on `::1`, which a machine may not have.
  ///   - handler: called on a connection's thread.
  package init(onIPv6 isOnIPv6: Bool = false, _ handler: @escaping Handler) throws {
    (listener, port) = try Socket.listening(onIPv6: isOnIPv6)
    self.isOnIPv6 = isOnIPv6
    self.handler = handler
    start { $0.acceptConnections() }
  }

  /// Runs `body` with a server that is stopped afterwards.
  ///
  /// - Throws: what `body` throws, or ``StillRunning``.
  package static func run<Result>(
    _ handler: @escaping Handler, body: (LoopbackServer) async throws -> Result
  ) async throws -> Result {
    let server = try LoopbackServer(handler)
    let result: Result
    do {
      result = try await body(server)
    } catch {
      _ = server.stop()
      throw error
    }
    guard server.stop() else { throw StillRunning() }
    return result
  }

  /// A port with nobody listening. A port that was free a moment ago may be another test's server by now, so it is one that
  /// the system never gives out by itself.
  package static func unusedPort() throws -> UInt16 { 1 }

  /// `127.0.0.1` or `[::1]`, and the port.
  package var authority: String { "\(isOnIPv6 ? "[::1]" : "127.0.0.1"):\(port)" }
  package var url: String { "http://\(authority)" }
  /// All requests, in the order in which they came in.
  package var received: [Received] { state.withLock(\.received) }
  /// The connections taken since the start.
  package var acceptedConnections: Int { state.withLock(\.accepted) }
  package var openConnections: Int { state.withLock(\.open.count) }
  /// The most connections that were open at one time.
  package var mostOpenConnections: Int { state.withLock(\.mostOpen) }

  /// Returns once no connection is open.
  package func waitUntilIdle() async throws {
    let gate = Latch()
    let isIdle = state.withLock { state in
      if state.open.isEmpty { return true }
      state.idleGates.append(gate)
      return false
    }
    if !isIdle { try await gate.wait() }
  }

  /// Closes everything and waits for the threads; `false` where one does not end within ten seconds.
  package func stop() -> Bool {
    state.withLock { state in
      state.isStopped = true
      for descriptor in state.open { Socket(descriptor: descriptor).shutDown() }
    }
    stopping.open()
    return threads.wait(timeout: .now() + 10) == .success
  }

  private func start(_ work: @escaping @Sendable (LoopbackServer) -> Void) {
    threads.enter()
    Thread.detachNewThread {
      work(self)
      self.threads.leave()
    }
  }

  private func acceptConnections() {
    while true {
      let (_, isStopped) = listener.readable(besides: stopping.descriptor)
      if isStopped { break }
      guard let connection = listener.accepted() else { continue }
      guard add(connection) else {
        connection.close()
        break
      }
      start { server in
        server.serve(connection)
        server.remove(connection)
      }
    }
    listener.close()
  }

  private func serve(_ connection: Socket) {
    var reader = RequestReader(socket: connection)
    while let request = reader.next() {
      state.withLock { $0.received.append(request) }
      let reply = handler(request)
      guard perform(reply, on: connection), reply.keepsAlive else { return }
    }
  }

  /// `false` where the client is gone.
  private func perform(_ reply: Reply, on connection: Socket) -> Bool {
    for step in reply.steps {
      switch step {
      case .send(let data):
        guard connection.send(data) else { return false }
      case .hold(let gate, let hungUp):
        guard connection.wait(for: gate) else {
          hungUp?.open()
          return false
        }
      case .reset:
        connection.resetOnClose()
        return false
      }
    }
    return true
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

  /// Closes under the lock, so that ``stop()`` never shuts down a descriptor that is somebody else's by now.
  private func remove(_ connection: Socket) {
    let idle = state.withLock { state in
      state.open.remove(connection.descriptor)
      connection.close()
      guard state.open.isEmpty else { return [Latch]() }
      defer { state.idleGates = [] }
      return state.idleGates
    }
    for gate in idle { gate.open() }
  }
}
