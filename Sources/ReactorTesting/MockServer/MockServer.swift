public import Foundation
package import ReactorLoopback
import Synchronization

/// A real HTTP/1.1 server on this machine, for tests of real connections: header bytes, redirects,
/// bodies that end early, and connections that break.
///
/// ```swift
/// try await MockServer.run { _ in .json(#"[{"id": 1}]"#) } body: { server in
///   let layer = ModelLayer(baseURL: server.url)
///   // …
/// }
/// ```
///
/// The server listens on 127.0.0.1, accepts any number of connections, and keeps each open for
/// further requests as HTTP/1.1 does. Each connection has its own thread, so handlers run
/// concurrently and may block. There is no TLS.
///
/// A test that needs no connection is faster and simpler with ``ScriptedTransport``.
public final class MockServer: Sendable {
  /// A closure that returns the response to a request. It runs on the thread of the connection.
  public typealias Handler = @Sendable (Request) -> Response

  /// The error for a thread of the server that did not end within ten seconds, because a handler
  /// did not return.
  public struct StillRunning: Error {}

  private struct State {
    var scripts = Scripts<Response>()
    var requests: [Request] = []
  }

  private let server: LoopbackServer
  private let state = Mutex(State())
  private let arrivals = Tally()
  /// Counts down with each connection, and up with its end.
  private let ended = Tally()

  /// Starts a server. `handler` answers each request, unless its path is scripted.
  ///
  /// The server runs until ``stop()``, even without references to it. ``run(_:body:)`` stops it by
  /// itself.
  ///
  /// - Parameters:
  ///   - port: The port to listen on; 0 for any free port.
  ///   - handler: The closure that answers requests. By default, every request gets a 404.
  /// - Throws: `POSIXError`, with `EADDRINUSE` if the port is taken.
  public convenience init(port: Int = 0, handler: @escaping Handler = { _ in .status(404) }) throws {
    try self.init(port: port, onIPv6: false) { $0.exchange(on: $1, handler) }
  }

  /// Starts a server on `::1`, which a machine may not have.
  package static func onIPv6(_ handler: @escaping Handler) throws -> MockServer {
    try MockServer(port: 0, onIPv6: true) { $0.exchange(on: $1, handler) }
  }

  /// Starts a server without HTTP. `serve` reads from each connection and writes to it, on the
  /// connection's thread. The connection is closed when `serve` returns.
  package static func withoutHTTP(_ serve: @escaping @Sendable (Connection) -> Void) throws -> MockServer {
    try MockServer(port: 0, onIPv6: false) { serve(Connection(socket: $1)) }
  }

  private init(port: Int, onIPv6: Bool, work: @escaping @Sendable (MockServer, Socket) -> Void) throws {
    server = try LoopbackServer(port: port, onIPv6: onIPv6)
    server.start(connectionsChanged: { self.ended.add(-$0) }, serve: { work(self, $0) })
  }

  /// The port on which the server listens.
  public var port: Int { server.port }
  /// The URL `http://127.0.0.1` with the port, and without a path.
  public var url: URL { server.url }
  /// The host and the port of ``url``.
  package var authority: String { server.authority }

  /// Runs `body` with a server, and stops the server afterwards.
  ///
  /// ```swift
  /// try await MockServer.run({ _ in .json("[]") }) { server in
  ///   let layer = ModelLayer(baseURL: server.url)
  ///   #expect(try await layer.reactor([Story].self).fetch("stories").isEmpty)
  /// }
  /// ```
  ///
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`; ``StillRunning``; `POSIXError` if there is no port to listen
  ///   on.
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

  /// Sets the responses to requests of `path`. They are used in order, and the last one repeats.
  ///
  /// ```swift
  /// server.answer("/stories", with: .json("[]"), .status(503))
  /// ```
  ///
  /// - Parameters:
  ///   - path: The path as in the request. With a query, it matches only that query and takes
  ///     precedence. Without one, it matches any query.
  ///   - responses: The responses, which replace earlier ones.
  public func answer(_ path: String, with responses: Response...) {
    state.withLock { $0.scripts[path] = responses }
  }

  /// Sets the responses to the pages of a list. Each links to the next in its `Link` field, and to
  /// the previous.
  ///
  /// ```swift
  /// server.answer("/stories", withPages: .json(#"[{"id": 1}]"#), .json(#"[{"id": 2}]"#))
  /// ```
  ///
  /// The first page answers `path`, also with any other query. The others have the query item
  /// `page`, from 2.
  ///
  /// - Parameters:
  ///   - path: The path as in the request.
  ///   - pages: The responses, in the order of the pages. Each repeats.
  public func answer(_ path: String, withPages pages: Response...) {
    state.withLock { state in
      for page in PageTarget.pages(of: path, count: pages.count) {
        let response = page.links.reduce(pages[page.index]) { $0.link($1.target, rel: $1.relation) }
        state.scripts[page.target] = [response]
      }
    }
  }

  /// The received requests, in order.
  ///
  /// ```swift
  /// #expect(server.requests.map(\.target) == ["/stories", "/stories?page=2"])
  /// ```
  public var requests: [Request] { state.withLock(\.requests) }

  /// Returns once `count` requests were received, counted from the start of the server.
  ///
  /// ```swift
  /// try await server.waitForRequests(count: 2)
  /// ```
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  public func waitForRequests(count: Int = 1) async throws { try await arrivals.wait(for: count) }

  /// Returns once no connection is open.
  ///
  /// ```swift
  /// screen.cancel()
  /// try await server.waitUntilDisconnected()
  /// ```
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  public func waitUntilDisconnected() async throws { try await ended.wait(for: 0) }

  /// Closes the port and every connection, and blocks until the server's threads have ended.
  /// Further calls have no effect.
  ///
  /// - Returns: `false` if a handler does not return within ten seconds.
  @discardableResult public func stop() -> Bool { server.stop() }
}

extension MockServer {
  /// A port without a server. The system never assigns it, so that no other test's server gets it.
  package static let unusedPort = 1

  /// The number of connections accepted since the start.
  package var acceptedConnections: Int { server.acceptedConnections }
  /// The number of open connections.
  package var openConnections: Int { server.openConnections }
  /// The maximum number of connections that were open at the same time.
  package var mostOpenConnections: Int { server.mostOpenConnections }

  private func exchange(on connection: Socket, _ handler: Handler) {
    var reader = RequestReader(socket: connection)
    while let message = reader.next() {
      let request = Request(message: message)
      let scripted = state.withLock { state in
        state.requests.append(request)
        return state.scripts.next(for: request.target)
      }
      arrivals.add(1)
      let response = scripted ?? handler(request)
      guard response.perform(on: connection, for: request), response.keepsAlive, !message.isLast else { return }
    }
  }
}

extension MockServer {
  /// A connection under the control of a test, on its own thread.
  package struct Connection: Sendable {
    let socket: Socket

    /// Reads and discards bytes until `limit` bytes have arrived or the client has disconnected.
    ///
    /// - Returns: The number of bytes that arrived.
    @discardableResult package func drain(atLeast limit: Int = .max) -> Int {
      var count = 0
      while count < limit, let data = socket.receive() { count += data.count }
      return count
    }

    /// Reads until the head of a request has arrived, and perhaps a part of its body.
    ///
    /// - Returns: The text that has arrived; `nil` if the client has disconnected before.
    package func head() -> String? {
      var data = Data()
      while data.range(of: Data("\r\n\r\n".utf8)) == nil {
        guard let next = socket.receive() else { return nil }
        data += next
      }
      return String(decoding: data, as: UTF8.self)
    }

    package func send(_ text: String) { socket.send(Data(text.utf8)) }

    /// Blocks without reading until `latch` is open or the client has disconnected.
    package func wait(for latch: Latch) { _ = socket.wait(for: latch) }
  }
}
