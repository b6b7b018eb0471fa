package import Foundation
package import HTTPTypes
package import ReactorCore
import Testing

extension TransportConformance {
  /// The transport under test.
  struct Subject: Sendable {
    let make: @Sendable (Settings) -> any Transport
    let exceptions: Set<Exception>
    let check: String
    let location: SourceLocation

    /// Runs `body` with a server and a new transport.
    func serving(
      _ handler: @escaping LoopbackServer.Handler, settings: Settings = Settings(),
      body: (LoopbackServer, any Transport) async throws -> Void
    ) async throws {
      try await LoopbackServer.run(handler) { try await body($0, make(settings)) }
    }

    func expect(_ condition: Bool, _ what: @autoclosure () -> String) {
      #expect(condition, "\(check): \(what())", sourceLocation: location)
    }

    /// The error that `body` throws; an issue where it throws none.
    @discardableResult func failure<Value>(
      of what: String, _ body: () async throws -> Value
    ) async -> (any Error)? {
      do {
        let value = try await body()
        expect(false, "\(what): expected an error, got \(value)")
        return nil
      } catch {
        return error
      }
    }

    /// Expects an error of the transport's own words: neither a cancellation nor a timeout.
    func expectFailure<Value>(of what: String, _ body: () async throws -> Value) async {
      let error = await failure(of: what, body)
      expect(!(error is CancellationError) && !(error is ReactorError), "\(what): threw \(String(describing: error))")
    }

    func expectFailure<Value>(of what: String, _ expected: TransportError, _ body: () async throws -> Value) async {
      let error = await failure(of: what, body)
      expect(error as? TransportError == expected, "\(what): threw \(String(describing: error))")
    }

    func expectCancellation<Value>(of what: String, _ body: () async throws -> Value) async {
      let error = await failure(of: what, body)
      expect(error is CancellationError, "\(what): threw \(String(describing: error))")
    }

    /// Expects that the server answers as it should, and that its answer is taken for the right one.
    func expectGood(_ transport: any Transport, _ server: LoopbackServer, after what: String) async {
      do {
        let (response, body) = try await transport.send(server.request("/good"))
        expect(
          response.status == .ok && body == Data("good".utf8),
          "the exchange after \(what) got \(response.status), \(body)")
      } catch {
        expect(false, "the exchange after \(what) threw \(error)")
      }
    }
  }
}

extension Transport {
  package func send(_ request: HTTPRequest, body: Data? = nil) async throws -> (HTTPResponse, Data) {
    try await send(request, body: body, progress: { _ in })
  }
}

extension LoopbackServer {
  package func request(
    _ target: String = "/", method: HTTPRequest.Method = .get, fields: HTTPFields = [:]
  ) -> HTTPRequest {
    HTTPRequest(method: method, scheme: "http", authority: authority, path: target, headerFields: fields)
  }
}
