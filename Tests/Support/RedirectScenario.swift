import Foundation
import HTTPTypes
public import ReactorCore
import ReactorTesting
import Testing

/// The records that a flow stores for redirected answers, from a real server over a real transport.
public struct RedirectScenario: Sendable {
  private let transport: any Transport
  private let clock = TestClock()
  private let persistence = MemoryPersistence()

  public init(_ transport: any Transport) { self.transport = transport }

  /// A copy is fresh for as long as the redirect is, and is then asked for again, without the
  /// validators of another URL.
  public func expectShortestFreshness() async throws {
    try await MockServer.run { request in
      request.target == "/note"
        ? .status(302, fields: [("Location", "/there"), ("Cache-Control", "max-age=10"), ("Vary", "Accept")])
        : .text(Note(1, "one").json, fields: [("Cache-Control", "max-age=100"), ("ETag", "\"1\"")])
    } body: { server in
      let notes = try reactor(server)
      #expect(try await notes.fetch("note").text == "one")
      let head = try await head(server)
      #expect(head?.fields[.eTag] == nil)
      #expect(head?.fields[.cacheControl] == "max-age=10")
      #expect(head?.variant?.names == ["accept"])
      clock.advance(by: .seconds(9))
      #expect(try await notes.fetch("note").text == "one")
      #expect(server.requests.map(\.target) == ["/note", "/there"])
      clock.advance(by: .seconds(1))
      #expect(try await notes.fetch("note").text == "one")
      #expect(server.requests.map(\.target) == ["/note", "/there", "/note", "/there"])
      #expect(server.requests.allSatisfy { $0["If-None-Match"] == nil })
    }
  }

  /// Expects that a URL with the same entity tag does not confirm the record of a URL that is
  /// redirected to it.
  public func expectNoValidatorsElsewhere() async throws {
    let hasMoved = Shared(false)
    let fields = [
      ("Cache-Control", "max-age=0"), ("ETag", "\"1\""), ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ]
    try await MockServer.run { request in
      switch request.target {
      case "/note" where hasMoved.value: .redirect(301, to: "/there")
      case "/note": .text(Note(1, "one").json, fields: fields)
      default:
        request["If-None-Match"] == nil && request["If-Modified-Since"] == nil
          ? .text(Note(2, "two").json, fields: fields) : .head(304, fields: [("ETag", "\"1\"")])
      }
    } body: { server in
      let notes = try reactor(server)
      #expect(try await notes.fetch("note").text == "one")
      hasMoved.change { $0 = true }
      #expect(try await notes.fetch("note").text == "two")
      #expect(server.requests.map { $0["If-None-Match"] } == [nil, "\"1\"", nil])
    }
  }

  /// An unsolicited 304 from another URL, confirms nothing.
  public func expectNoConfirmationFromElsewhere() async throws {
    let hasMoved = Shared(false)
    try await MockServer.run { request in
      switch request.target {
      case "/note" where hasMoved.value: .redirect(to: "/there")
      case "/note": .text(Note(1, "one").json, fields: [("Cache-Control", "max-age=0"), ("ETag", "\"1\"")])
      default: .head(304, fields: [("ETag", "\"1\""), ("Cache-Control", "max-age=100")])
      }
    } body: { server in
      let notes = try reactor(server)
      #expect(try await notes.fetch("note").text == "one")
      hasMoved.change { $0 = true }
      #expect(await error { try await notes.fetch("note", policy: .networkOnly) }?.status == 304)
      #expect(try await head(server)?.fields[.cacheControl] == "max-age=0")
    }
  }

  /// A redirect that may not be stored leaves nothing of its target; neither does a redirect that
  /// follows a change.
  public func expectNothingStored() async throws {
    try await MockServer.run { request in
      switch (request.method, request.target) {
      case ("POST", _): .redirect(303, to: "/there")
      case (_, "/note"): .status(307, fields: [("Location", "/there"), ("Cache-Control", "no-store")])
      default: .text(Note(1, "one").json, fields: [("Cache-Control", "max-age=100")])
      }
    } body: { server in
      let notes = try reactor(server)
      #expect(try await notes.fetch("note").text == "one")
      #expect(try await notes.send(Resource("note", method: .post)).text == "one")
      #expect(try await persistence.entries(in: nil, url: nil).isEmpty)
    }
  }

  /// A change has been made where it is redirected, also where what follows fails, and where it is
  /// redirected to.
  public func expectChange() async throws {
    let isGone = Shared(false)
    try await MockServer.run { request in
      switch (request.method, request.target) {
      case ("POST", _): .redirect(303, to: "/there")
      case ("PUT", "/note"): .redirect(308, to: "/there")
      default: isGone.value ? .status(404) : .text(Note(1, "one").json, fields: [("Cache-Control", "max-age=100")])
      }
    } body: { server in
      let notes = try reactor(server)
      for method in [HTTPRequest.Method.post, .put] {
        isGone.change { $0 = false }
        for path in ["note", "there"] { _ = try await notes.fetch(Resource(path)) }
        isGone.change { $0 = method == .post }
        _ = try? await notes.send(Resource("note", method: method))
        let count = server.requests.count
        for path in ["note", "there"] { _ = try? await notes.fetch(Resource(path)) }
        #expect(server.requests.count == count + 2, "\(method)")
      }
    }
  }

  private func reactor(_ server: MockServer) throws -> Reactor<Note> {
    var configuration = ReactorConfiguration()
    configuration.clock = clock
    configuration.now = clock.wallClock
    configuration.keepUnusedFor = .never
    configuration.retry = .never
    return ModelLayer(
      baseURL: server.url, transport: transport, persistence: persistence, reachability: .always,
      configuration: configuration
    ).reactor()
  }

  private func head(_ server: MockServer) async throws -> Record.Head? {
    try await persistence.load(RecordKey(method: .get, url: "\(server.url)/note"))?.head
  }
}
