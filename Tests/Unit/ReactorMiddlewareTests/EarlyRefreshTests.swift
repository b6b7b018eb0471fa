import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A token that is refreshed before its end, and a refresh that outlives the requests that wait.
@Suite("The refresh of a bearer token", .timeLimit(.minutes(5)))
struct EarlyRefreshTests: BearerTokenTesting {
  let clock = TestClock()
  let tokens = ScriptedTokens()

  private func fetch(_ notes: Reactor<Note>, _ count: Int) async throws {
    for _ in 0..<count { _ = try await notes.fetchFromNetwork("note") }
  }

  @Test func `an early refresh begins once, a minute before the expiry, and requests use the valid token`()
    async throws
  {
    try await MockServer.run { _ in
      Self.note
    } body: { server async throws in
      let notes = layer(server, token(server)).reactor(Note.self)
      clock.advance(by: .seconds(3_539))
      try await fetch(notes, 1)
      #expect(tokens.refused.value == [])
      tokens.gate.close()
      clock.advance(by: .seconds(1))
      try await fetch(notes, 5)
      try await tokens.gate.waitForArrival()
      try await fetch(notes, 5)
      clock.advance(by: .seconds(59))
      try await fetch(notes, 1)
      #expect(tokens.gate.waitingCount == 1)
      // The token has expired: from here on, requests wait.
      clock.advance(by: .seconds(1))
      let callers = (1...20).map { number in Task { try await notes.fetch(Resource("note/\(number)")).text } }
      tokens.gate.open()
      for caller in callers { #expect(try await caller.value == "one") }
      #expect(tokens.refused.value == ["1"])
      #expect(sent(server) == Array(repeating: "Bearer 1", count: 12) + Array(repeating: "Bearer 2", count: 20))
    }
  }

  @Test func `an early refresh that hangs delays only the requests that got a 401`() async throws {
    let isRevoked = Shared(false)
    try await MockServer.run { request in
      isRevoked.value && request["Authorization"] == "Bearer 1" ? .status(401) : Self.note
    } body: { server async throws in
      let notes = layer(server, token(server, left: 60)).reactor(Note.self)
      clock.advance(by: .seconds(30))
      tokens.gate.close()
      try await fetch(notes, 2)
      try await tokens.gate.waitForArrival()
      isRevoked.change { $0 = true }
      let refused = Task { try await notes.fetch("refused").text }
      try await server.waitForRequests(count: 3)
      tokens.gate.open()
      #expect(try await refused.value == "one")
      #expect(sent(server) == ["Bearer 1", "Bearer 1", "Bearer 1", "Bearer 2"] && tokens.refused.value == ["1"])
    }
  }

  @Test func `a token that lives for less than the margin is not refreshed before each request`() async throws {
    try await MockServer.run { _ in
      Self.note
    } body: { server async throws in
      let notes = layer(server, token(server, lifetime: 30)).reactor(Note.self)
      try await fetch(notes, 3)
      #expect(tokens.refused.value == [])
      clock.advance(by: .seconds(15))
      tokens.gate.close()
      try await fetch(notes, 1)
      try await tokens.gate.waitForArrival()
      tokens.gate.open()
      try await fetch(notes, 3)
      #expect(tokens.refused.value == ["1"])
    }
  }

  @Test func `an early refresh that fails is repeated at the expiry, and the valid token is used until then`()
    async throws
  {
    try await MockServer.run { _ in
      Self.note
    } body: { server async throws in
      // The last request may come while the first refresh has yet to report its failure.
      let notes = layer(server, token(server, left: 30), retry: RetryPolicy()).reactor(Note.self)
      tokens.error.change { $0 = URLError(.cannotConnectToHost) }
      tokens.gate.close()
      clock.advance(by: .seconds(20))
      try await fetch(notes, 1)
      try await tokens.gate.waitForArrival()
      tokens.error.change { $0 = nil }
      tokens.gate.open()
      try await fetch(notes, 2)
      #expect(tokens.refused.value == ["1"])
      clock.advance(by: .seconds(10))
      try await fetch(notes, 1)
      #expect(sent(server) == ["Bearer 1", "Bearer 1", "Bearer 1", "Bearer 2"])
      #expect(tokens.refused.value == ["1", "1"])
    }
  }

  @Test(arguments: [false, true])
  func `an early refresh continues when its only waiter is cancelled, and its token is used`(isAfter401: Bool)
    async throws
  {
    try await MockServer.run { request in
      request["Authorization"] == "Bearer 2" ? Self.note : .status(401)
    } body: { server async throws in
      let notes = layer(server, token(server, left: isAfter401 ? 3_600 : -1)).reactor(Note.self)
      tokens.gate.close()
      let caller = Task { await error { try await notes.fetch("note") } }
      try await tokens.gate.waitForArrival()
      caller.cancel()
      #expect(await caller.value?.isCancelled == true)
      tokens.gate.open()
      #expect(try await notes.fetch("note").text == "one")
      #expect(sent(server) == (isAfter401 ? ["Bearer 1"] : []) + ["Bearer 2"] && tokens.refused.value == ["1"])
    }
  }

  @Test(
    arguments: [
      ReactorError.network(URLError(.cannotConnectToHost)), .timedOut,
      .server(HTTPResponse(status: .serviceUnavailable), body: Data()),
    ], [false, true])
  func `an early refresh that fails is no outage of the API's server`(failure: ReactorError, isAfter401: Bool)
    async throws
  {
    try await MockServer.run { request in
      request["Authorization"] == "Bearer 2" ? Self.note : .status(401)
    } body: { server async throws in
      let layer = layer(server, token(server, left: isAfter401 ? 3_600 : -1), remembersOutages: true)
      let (notes, events) = (layer.reactor(Note.self), EventRecorder(layer))
      tokens.error.change { $0 = failure }
      #expect(await error { try await notes.fetch("note") }?.isCancelled == false)
      tokens.error.change { $0 = nil }
      #expect(try await notes.fetch("note").text == "one")
      #expect(!events.kinds.contains { if case .outageBegan = $0 { true } else { false } })
    }
  }

  @Test func `an early refresh slower than a request's timeout is no outage of the API's server`() async throws {
    try await MockServer.run { _ in
      Self.note
    } body: { server async throws in
      let notes = layer(server, token(server, left: -1), remembersOutages: true).reactor(Note.self)
      tokens.gate.close()
      var timed = Resource("note")
      timed.timeout = .seconds(5)
      let note = timed
      let caller = Task { await error { try await notes.fetch(note) } }
      try await tokens.gate.waitForArrival()
      try await clock.waitForSleepers()
      clock.advance(by: .seconds(5))
      guard case .timedOut? = await caller.value else { return #expect(Bool(false)) }
      tokens.gate.open()
      #expect(try await notes.fetch(note).text == "one")
      #expect(tokens.refused.value == ["1"])
    }
  }
}
