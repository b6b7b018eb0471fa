package import Foundation
package import HTTPTypes
package import ReactorCore
import ReactorTesting
import Testing

extension TransportConformance {
  /// The transport under test.
  struct Subject: Sendable {
    let make: @Sendable (Settings) -> any Transport
    let exceptions: Set<Exception>
    let check: String
    let location: SourceLocation
    /// The time within which an immediate effect must arrive.
    var patience = Duration.seconds(20)
    /// The time within which a check must end.
    var limit = Duration.seconds(60)

    /// Runs `body` with a server and a new transport.
    func serving(
      _ handler: @escaping MockServer.Handler, settings: Settings = Settings(),
      body: (MockServer, any Transport) async throws -> Void
    ) async throws {
      try await MockServer.run(handler) { try await body($0, make(settings)) }
    }

    /// Runs `body` with a server and a new transport, if the transport can stream.
    func streaming(
      _ handler: @escaping MockServer.Handler, settings: Settings = Settings(),
      body: (MockServer, any StreamingTransport) async throws -> Void
    ) async throws {
      guard let transport = make(settings) as? any StreamingTransport else { return }
      try await MockServer.run(handler) { try await body($0, transport) }
    }

    func expect(_ condition: Bool, _ what: @autoclosure () -> String) {
      #expect(condition, "\(check): \(what())", sourceLocation: location)
    }

    /// Returns once `latch` is open.
    ///
    /// - Throws: ``NeverHappened``, if it does not open in time. A faulty transport therefore
    ///   cannot hang the suite.
    func wait(for latch: Latch, _ what: String) async throws {
      try await wait(for: latch, what, within: patience)
    }

    /// Runs the body of a check.
    ///
    /// - Throws: The error of `body`; ``NeverHappened``, if `body` does not end in time.
    func run(_ body: @escaping @Sendable (Self) async throws -> Void) async throws {
      let (ended, failure) = (Latch(), Shared<(any Error)?>(nil))
      // A body that does not end is abandoned with its connections. It may ignore cancellation, and
      // a task group would wait for it.
      let task = Task {
        do { try await body(self) } catch { failure.change { $0 = error } }
        ended.open()
      }
      defer { task.cancel() }
      try await wait(for: ended, "the end of the check", within: limit)
      if let error = failure.value { throw error }
    }

    private func wait(for latch: Latch, _ what: String, within limit: Duration) async throws {
      do {
        try await withDeadline(limit, ContinuousClock()) { try await latch.wait() }
      } catch ReactorError.timedOut {
        throw NeverHappened(what: what, limit: limit)
      }
    }

    /// Expects that the client closes the connection of a held response.
    func expectHangUp(_ hungUp: Latch, after what: String) async throws {
      try await wait(for: hungUp, "the end of the connection after \(what)")
    }

    /// Expects that the client closes every connection.
    func expectDisconnection(of server: MockServer, after what: String) async throws {
      do {
        try await withDeadline(patience, ContinuousClock()) { try await server.waitUntilDisconnected() }
      } catch ReactorError.timedOut {
        expect(false, "\(server.openConnections) connections are open after \(what)")
      }
    }

    /// Returns the error that `body` throws. It is an issue if `body` returns.
    @discardableResult func failure<Value>(
      of what: String, _ body: () async throws -> Value
    ) async -> (any Error)? {
      do {
        let value = try await body()
        expect(false, "\(what): expected an error, the transport returned \(value)")
        return nil
      } catch {
        return error
      }
    }

    /// Expects an error other than a cancellation or a `ReactorError`.
    @discardableResult func expectFailure<Value>(
      of what: String, _ body: () async throws -> Value
    ) async -> (any Error)? {
      let error = await failure(of: what, body)
      expect(
        !(error is CancellationError) && !(error is ReactorError),
        "\(what): expected an error of the transport, got \(error.map { "\($0)" } ?? "none")")
      return error
    }

    func expectFailure<Value>(of what: String, _ expected: TransportError, _ body: () async throws -> Value) async {
      let error = await failure(of: what, body)
      expect(
        error as? TransportError == expected,
        "\(what): expected the error \(expected), got \(error.map { "\($0)" } ?? "none")")
    }

    func expectCancellation<Value>(of what: String, _ body: () async throws -> Value) async {
      let error = await failure(of: what, body)
      expect(
        error is CancellationError, "\(what): expected CancellationError, got \(error.map { "\($0)" } ?? "no error")")
    }

    /// Expects that the next exchange with the server gets its own answer. It is repeated as by a
    /// ``RetryPolicy``: the server may have closed a connection that the transport has kept.
    func expectGood(_ transport: any Transport, _ server: MockServer, after what: String) async {
      for isLast in [false, false, true] {
        do {
          let (response, body) = try await transport.send(server.request("/good"))
          return expect(
            response.status == .ok && body == Data("good".utf8),
            "the next exchange after \(what) returned \(response.status), \(body)")
        } catch {
          guard isLast || !RetryPolicy.mayPass(.failure(error)) else { continue }
          return expect(false, "the next exchange after \(what) threw \(error)")
        }
      }
    }
  }
}

extension Transport {
  package func send(_ request: HTTPRequest, body: Data? = nil) async throws -> (HTTPResponse, Data) {
    try await send(request, body: body, progress: { _ in })
  }
}

extension MockServer {
  package func request(
    _ target: String = "/", method: HTTPRequest.Method = .get, fields: HTTPFields = [:]
  ) -> HTTPRequest {
    HTTPRequest(method: method, scheme: "http", authority: authority, path: target, headerFields: fields)
  }
}
