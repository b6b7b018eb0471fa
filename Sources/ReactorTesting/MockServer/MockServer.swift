public import Foundation
import Synchronization

/// A real HTTP/1.1 server on this machine, for what only a real connection shows: headers on the wire, redirects, bodies that
/// end early, connections that break.
///
/// ```swift
/// try await MockServer.run { _ in .json(#"[{"id": 1}]"#) } body: { server in
///   let layer = ModelLayer(baseURL: server.url)
///   // …
/// }
/// ```
///
/// It listens on 127.0.0.1, takes any number of connections, and keeps each open for further requests as HTTP/1.1 does. Each
/// connection has a thread of its own, so a handler may block, and is called concurrently. There is no TLS.
///
/// A test that needs no connection is faster and simpler with ``ScriptedTransport``.
public final class MockServer: Sendable {
  /// Decides how a request is answered. It is called on the thread of the request's connection.
  public typealias Handler = @Sendable (Request) -> Response

  /// A thread of the server did not end within ten seconds, since a handler does not return.
  public struct StillRunning: Error {}

  private struct State {
    var scripts = Scripts<Response>()
    var requests: [Request] = []
    var open: Set<Int32> = []
    var accepted = 0
    var mostOpen = 0
    var isStopped = false
  }

  /// The port that it listens on.
  public let port: Int
  /// `http://127.0.0.1`, with the port and without a path.
  public let url: URL
  /// The host and the port of ``url``.
  package let authority: String
  private let listener: Socket
  private let work: @Sendable (MockServer, Socket) -> Void
  private let state = Mutex(State())
  private let stopping = Latch()
  private let threads = DispatchGroup()
  private let arrivals = Tally()
  /// Counts down with each connection, and up with its end.
  private let ended = Tally()

  /// Starts a server that answers each request as `handler` says, unless its path is scripted.
  ///
  /// It runs until ``stop()``, also if nobody refers to it any more; ``run(_:body:)`` stops it by itself.
  ///
  /// - Parameters:
  ///   - port: where it listens; 0 is any port that is free.
  ///   - handler: by default, every request gets a 404.
  /// - Throws: `POSIXError`: `EADDRINUSE` where the port is taken.
  public convenience init(port: Int = 0, handler: @escaping Handler = { _ in .status(404) }) throws {
    try self.init(port: port, onIPv6: false) { $0.exchange(on: $1, handler) }
  }

  /// Starts a server on `::1`, which a machine may not have.
  package static func onIPv6(_ handler: @escaping Handler) throws -> MockServer {
    try MockServer(port: 0, onIPv6: true) { $0.exchange(on: $1, handler) }
  }

  /// Starts a server that speaks no HTTP by itself: `serve` reads from each connection and writes to it, on the connection's
  /// thread. The connection is closed when `serve` returns.
  package static func withoutHTTP(_ serve: @escaping @Sendable (Connection) -> Void) throws -> MockServer {
    try MockServer(port: 0, onIPv6: false) { serve(Connection(socket: $1)) }
  }

  private init(port: Int, onIPv6: Bool, work: @escaping @Sendable (MockServer, Socket) -> Void) throws {
    guard let port = UInt16(exactly: port) else { throw POSIXError(.EADDRNOTAVAIL) }
    (listener, self.port) = try Socket.listening(port: port, onIPv6: onIPv6)
    authority = "\(onIPv6 ? "[::1]" : "127.0.0.1"):\(self.port)"
    guard let url = URL(string: "http://\(authority)") else { throw POSIXError(.EADDRNOTAVAIL) }
    self.url = url
    self.work = work
    start { $0.acceptConnections() }
  }

  /// Runs `body` with a server that is stopped afterwards.
  ///
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws; ``StillRunning``; `POSIXError` where there is no port to listen on.
  public static func run<Result>(
    _ handler: @escaping Handler, body: (MockServer) async throws -> Result
  ) async throws -> Result {
    let server = try MockServer(handler: handler)
    let result: Result
    do {
      result = try await body(server)
    } catch {
      server.stop()
      throw error
    }
    guard server.stop() else { throw StillRunning() }
    return result
  }

  /// Sets how requests of `path` are answered: with the responses in their order, the last one from then on.
  ///
  /// - Parameter path: as in the request. With a query it stands for that query alone and goes first; without, for all.
  public func answer(_ path: String, with responses: Response...) {
    state.withLock { $0.scripts[path] = responses }
  }

  /// The requests received, in order.
  public var requests: [Request] { state.withLock(\.requests) }

  /// Returns once `count` requests were received, counted from the start of the server.
  ///
  /// - Throws: `CancellationError`, at once when the task is cancelled.
  public func waitForRequests(count: Int = 1) async throws { try await arrivals.wait(for: count) }

  /// Returns once no connection is open: at once where none is.
  ///
  /// - Throws: `CancellationError`, at once when the task is cancelled.
  public func waitUntilDisconnected() async throws { try await ended.wait(for: 0) }

  /// Closes the port and every connection, and waits for the server's threads to end, on the thread of the caller. It may be
  /// called more than once.
  ///
  /// - Returns: `false` where a handler does not return within ten seconds.
  @discardableResult public func stop() -> Bool {
    state.withLock { state in
      state.isStopped = true
      for descriptor in state.open { Socket(descriptor: descriptor).shutDown() }
    }
    stopping.open()
    return threads.wait(timeout: .now() + 10) == .success
  }
}

extension MockServer {
  /// A port with nobody listening. A port that was free a moment ago may be another test's server by now, so it is one that
  /// the system never assigns by itself.
  package static let unusedPort = 1

  /// The number of connections accepted since the start.
  package var acceptedConnections: Int { state.withLock(\.accepted) }
  /// The number of connections that are open now.
  package var openConnections: Int { state.withLock(\.open.count) }
  /// The most connections that were open at one time.
  package var mostOpenConnections: Int { state.withLock(\.mostOpen) }

  private func start(_ work: @escaping @Sendable (MockServer) -> Void) {
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
        server.work(server, connection)
        server.remove(connection)
      }
    }
    listener.close()
  }

  private func exchange(on connection: Socket, _ handler: Handler) {
    var reader = RequestReader(socket: connection)
    while let request = reader.next() {
      let scripted = state.withLock { state in
        state.requests.append(request)
        return state.scripts.next(for: request.target)
      }
      arrivals.add(1)
      let response = scripted ?? handler(request)
      guard response.perform(on: connection, for: request), response.keepsAlive, !request.isLast else { return }
    }
  }

  private func add(_ connection: Socket) -> Bool {
    let isAdded = state.withLock { state in
      guard !state.isStopped else { return false }
      state.open.insert(connection.descriptor)
      state.accepted += 1
      state.mostOpen = max(state.mostOpen, state.open.count)
      return true
    }
    if isAdded { ended.add(-1) }
    return isAdded
  }

  /// Closes under the lock, so that ``stop()`` never shuts down a descriptor that is somebody else's by now.
  private func remove(_ connection: Socket) {
    state.withLock { state in
      state.open.remove(connection.descriptor)
      connection.close()
    }
    ended.add(1)
  }
}
