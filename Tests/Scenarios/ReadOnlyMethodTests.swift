import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

/// A server that takes RFC 9110 §13 at its word: a validator that matches means 304 to GET and
/// HEAD, and 412 to others.
private struct StrictServer: Transport {
  let version = Shared(1)
  let requests = Shared(0)

  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    requests.change { $0 += 1 }
    let fields: HTTPFields = [.eTag: "\"\(version.value)\"", .lastModified: "Sat, 21 Nov 2026 12:00:00 GMT"]
    let isRead = request.method == .get || request.method == .head
    if request.headerFields[.ifNoneMatch] == fields[.eTag] {
      return (HTTPResponse(status: isRead ? .notModified : .preconditionFailed, headerFields: fields), Data())
    }
    if !isRead, request.headerFields.contains(.ifModifiedSince) { throw Unexpected() }
    return (HTTPResponse(status: .ok, headerFields: fields), Data(Note(1, "\(version.value)").json.utf8))
  }

  struct Unexpected: Error {}
}

/// Resources of every method that only read.
@Suite("Resources that only read", .timeLimit(.minutes(5)))
struct ReadOnlyMethodTests {
  @Test(arguments: ["GET", "POST", "REPORT", "PUT", "SEARCH"])
  func `a stale read-only resource is requested again, by any method, from memory and from disk`(method: String)
    async throws
  {
    let server = StrictServer()
    let clock = TestClock()
    let disk = MemoryPersistence()
    var resource = Resource("search", method: HTTPRequest.Method(rawValue: method) ?? .get, body: Data("q".utf8))
    resource.isReadOnly = true
    for changes in [false, true] {
      // Each with an empty memory, and with a filled one.
      for _ in 0..<2 {
        var configuration = ReactorConfiguration()
        (configuration.clock, configuration.now) = (clock, clock.wallClock)
        configuration.keepUnusedFor = .never
        configuration.freshFor = .seconds(60)
        configuration.retry = .never
        let layer = ModelLayer(
          baseURL: Bench.url, transport: server, persistence: disk, reachability: .always,
          configuration: configuration)
        let notes = layer.reactor(Note.self)
        for _ in 0..<2 {
          if changes { server.version.change { $0 += 1 } }
          clock.advance(by: .seconds(61))
          #expect(try await notes.fetch(resource).text == "\(server.version.value)")
        }
      }
    }
    #expect(server.requests.value == 8)
  }
}
