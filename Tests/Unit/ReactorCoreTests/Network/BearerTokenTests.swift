import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Over real connections: the API is a server on this machine.
@Suite(.timeLimit(.minutes(5))) struct `A bearer token` {
  private let clock = TestClock()

  /// The closure of a token: what it was given, and how it ends.
  private final class Tokens: Sendable {
    let refused = Shared<[String]>([])
    let error = Shared<(any Error)?>(nil)
    let gate = Gate(isOpen: true)

    func next(_ credential: BearerToken.Credential, lifetime: TimeInterval?, clock: TestClock) async throws
      -> BearerToken.Credential
    {
      refused.change { $0.append(credential.token) }
      try await gate.wait()
      if let error = error.value { throw error }
      let number = (Int(credential.token) ?? 0) + 1
      return BearerToken.Credential(
        "\(number)", refreshToken: "r\(number)", goodUntil: lifetime.map { clock.date + $0 })
    }
  }

  private let tokens = Tokens()

  private func token(_ server: MockServer, lifetime: TimeInterval? = 3_600, left: TimeInterval? = nil) -> BearerToken {
    let goodUntil = (left ?? lifetime).map { clock.date + $0 }
    return BearerToken(
      BearerToken.Credential("1", refreshToken: "r1", goodUntil: goodUntil), origins: [server.url],
      now: clock.wallClock
    ) { [tokens, clock] in try await tokens.next($0, lifetime: lifetime, clock: clock) }
  }

  private func layer(_ server: MockServer, _ token: BearerToken, retry: RetryPolicy = .never) -> ModelLayer {
    var configuration = ReactorConfiguration()
    configuration.retry = retry
    configuration.retry.firstDelay = .zero
    configuration.remembersOutages = false
    return ModelLayer(
      backend: Backend(baseURL: server.url, authentication: token, reachability: .always),
      configuration: configuration)
  }

  private static let note = MockServer.Response.json(Note(1, "one").json, headers: [.cacheControl: "no-store"])

  private func sent(_ server: MockServer) -> [String] { server.requests.map { $0["Authorization"] ?? "-" } }

  @Test func `a bearer token that never changes signs each request, and is trimmed`() async throws {
    try await MockServer.run { _ in
      Self.note
    } body: { server async throws in
      let layer = layer(server, BearerToken(" ghp_1\n", origins: [server.url]))
      for _ in 1...2 { _ = try await layer.reactor(Note.self).fetchFromNetwork("note") }
      #expect(sent(server) == ["Bearer ghp_1", "Bearer ghp_1"])
    }
  }

  @Test func `a constant token goes only to its origin`() async throws {
    try await MockServer.run { _ in
      Self.note
    } body: { other async throws in
      try await MockServer.run { _ in
        .redirect(to: "\(other.url)/note")
      } body: { server async throws in
        let layer = layer(server, BearerToken("1", origins: [server.url]))
        _ = try await layer.reactor(Note.self).fetch("note")
        #expect(sent(server) == ["Bearer 1"] && sent(other) == ["-"])
      }
    }
  }

  @Test func `that never changes has the 401 for its answer, which names the request and has the server's words`()
    async throws
  {
    try await MockServer.run { _ in
      .json(#"{"message": "Bad credentials"}"#, status: 401)
    } body: { server async throws in
      let layer = layer(server, BearerToken("1", origins: [server.url]), retry: RetryPolicy())
      let failure = try #require(await error { try await layer.reactor(Note.self).fetch("note?page=2") })
      #expect(failure.status == 401 && server.requests.count == 1)
      let host = "127.0.0.1:\(server.port)"
      #expect(
        failure.description
          == "GET \(host)/note: the server answered 401 with 30 bytes: Bad credentials; sign in, or check the credential"
      )
    }
  }

  @Test func `a bearer token that never changes is replaced by a sign-in, also for a request under way`() async throws {
    let gate = Gate()
    try await MockServer.run { request in
      request["Authorization"] == "Bearer 2" ? Self.note : .status(401).held(at: gate)
    } body: { server async throws in
      let token = BearerToken("1", origins: [server.url])
      let layer = layer(server, token)
      let caller = Task { try await layer.reactor(Note.self).fetch("note").text }
      try await gate.waitForArrival()
      token.signIn("2")
      gate.open()
      #expect(try await caller.value == "one")
      try await layer.signOut()
      let failure = await error { try await layer.reactor(Note.self).fetch("note") }
      guard case .authentication(let reason)? = failure else { return #expect(Bool(false), "\(failure as Any)") }
      #expect(reason is ReactorError.SignedOut)
      #expect(sent(server) == ["Bearer 1", "Bearer 2"])
    }
  }

  @Test func `a bearer token is refreshed after a 401, and the request sent once more`() async throws {
    try await MockServer.run { request in
      request["Authorization"] == "Bearer 2" ? Self.note : .status(401)
    } body: { server async throws in
      let layer = layer(server, token(server, lifetime: nil))
      #expect(try await layer.reactor(Note.self).fetch("note").text == "one")
      #expect(sent(server) == ["Bearer 1", "Bearer 2"] && tokens.refused.value == ["1"])
    }
  }

  @Test func `a bearer token is refreshed a minute before it expires, once for all who ask`() async throws {
    try await MockServer.run { _ in
      Self.note
    } body: { server async throws in
      let layer = layer(server, token(server))
      let notes = layer.reactor(Note.self)
      clock.advance(by: .seconds(3_539))
      _ = try await notes.fetch("first")
      #expect(tokens.refused.value == [])
      clock.advance(by: .seconds(1))
      tokens.gate.close()
      let callers = (1...20).map { number in Task { try await notes.fetch(Resource("note/\(number)")).text } }
      try await tokens.gate.waitForArrival()
      #expect(server.requests.count == 1)
      tokens.gate.open()
      for caller in callers { #expect(try await caller.value == "one") }
      #expect(tokens.refused.value == ["1"])
      #expect(sent(server) == ["Bearer 1"] + Array(repeating: "Bearer 2", count: 20))
    }
  }

  @Test func `a bearer token that lives for less than the margin is not refreshed before each request`() async throws {
    try await MockServer.run { _ in
      Self.note
    } body: { server async throws in
      let layer = layer(server, token(server, lifetime: 30))
      for _ in 1...3 { _ = try await layer.reactor(Note.self).fetchFromNetwork("note") }
      #expect(tokens.refused.value == [])
      clock.advance(by: .seconds(15))
      for _ in 1...3 { _ = try await layer.reactor(Note.self).fetchFromNetwork("note") }
      #expect(tokens.refused.value == ["1"])
    }
  }

  @Test func `a bearer token that seems to have expired when it comes is used until a 401`() async throws {
    try await MockServer.run { _ in
      Self.note
    } body: { server async throws in
      let layer = layer(server, token(server, lifetime: 0, left: 0))
      for _ in 1...3 { _ = try await layer.reactor(Note.self).fetchFromNetwork("note") }
      #expect(tokens.refused.value == ["1"])
      #expect(sent(server) == ["Bearer 2", "Bearer 2", "Bearer 2"])
    }
  }

  @Test func `that is still good is used where its refresh fails, and refreshed again at its end`() async throws {
    try await MockServer.run { _ in
      Self.note
    } body: { server async throws in
      let layer = layer(server, token(server, left: 30))
      let notes = layer.reactor(Note.self)
      tokens.error.change { $0 = URLError(.cannotConnectToHost) }
      clock.advance(by: .seconds(20))
      for _ in 1...3 { _ = try await notes.fetchFromNetwork("note") }
      #expect(tokens.refused.value == ["1"])
      tokens.error.change { $0 = nil }
      clock.advance(by: .seconds(10))
      _ = try await notes.fetchFromNetwork("note")
      #expect(sent(server) == ["Bearer 1", "Bearer 1", "Bearer 1", "Bearer 2"])
      #expect(tokens.refused.value == ["1", "1"])
    }
  }

  @Test func `that the server has refused is not used where its refresh fails, however long it is good`() async throws {
    try await MockServer.run { _ in
      .status(401)
    } body: { server async throws in
      let layer = layer(server, token(server))
      tokens.gate.close()
      tokens.error.change { $0 = Broken() }
      let first = Task { await error { try await layer.reactor(Note.self).fetch("first") } }
      try await tokens.gate.waitForArrival()
      // It begins during the refresh, and is never sent.
      let second = Task { await error { try await layer.reactor(Note.self).fetch("second") } }
      #expect(sent(server) == ["Bearer 1"])
      tokens.gate.open()
      for failure in [await first.value, await second.value] {
        guard case .authentication? = failure else { return #expect(Bool(false), "\(failure as Any)") }
      }
    }
  }

  @Test(arguments: [
    ReactorError.network(URLError(.secureConnectionFailed)), .timedOut,
    .server(HTTPResponse(status: .tooManyRequests), body: Data()),
    .server(HTTPResponse(status: .serviceUnavailable), body: Data()),
    .server(HTTPResponse(status: .init(code: 520)), body: Data()), .cancelled,
    .network(TransportError.notSecure("no TLS")),
  ])
  func `a failed refresh by network or server signs no user out`(failure: ReactorError) async throws {
    try await MockServer.run { _ in
      Self.note
    } body: { server async throws in
      let layer = layer(server, token(server, left: -1))
      tokens.error.change { $0 = failure }
      let found = try #require(await error { try await layer.reactor(Note.self).fetch("note") })
      if case .authentication = found { #expect(Bool(false), "\(found)") }
      #expect(found.reasonText == failure.reasonText)
      #expect(server.requests.isEmpty)
      tokens.error.change { $0 = nil }
      #expect(try await layer.reactor(Note.self).fetch("note").text == "one")
      #expect(sent(server) == ["Bearer 2"])
    }
  }

  @Test func `a bearer token is refreshed again by a retry, where the server of tokens was gone`() async throws {
    let tick = Tick()
    try await MockServer.run { _ in
      tick.next() < 3 ? .status(503, headers: [.retryAfter: "0"]) : .json(#"{"access": "2"}"#)
    } body: { accounts async throws in
      try await MockServer.run { _ in
        Self.note
      } body: { server async throws in
        var plain = ReactorConfiguration()
        plain.retry = .never
        plain.remembersOutages = false
        let answers = ModelLayer(baseURL: accounts.url, configuration: plain).reactor([String: String].self)
        let token = BearerToken(
          BearerToken.Credential("1", goodUntil: clock.date), origins: [server.url], now: clock.wallClock
        ) { _ in
          let answer = try await answers.send(Resource("token", method: .post))
          return BearerToken.Credential(answer["access"] ?? "")
        }
        let layer = layer(server, token, retry: RetryPolicy())
        #expect(try await layer.reactor(Note.self).fetch("note").text == "one")
        #expect(sent(server) == ["Bearer 2"] && accounts.requests.count == 3)
      }
    }
  }

  @Test func `that the server of tokens refuses requests a sign-in, and names the request`() async throws {
    try await MockServer.run { _ in
      .json(#"{"error": "invalid_grant"}"#, status: 400)
    } body: { accounts async throws in
      try await MockServer.run { _ in
        .status(401)
      } body: { server async throws in
        let answers = ModelLayer(baseURL: accounts.url).reactor([String: String].self)
        let token = BearerToken(BearerToken.Credential("1"), origins: [server.url]) { _ in
          BearerToken.Credential(try await answers.send(Resource("token", method: .post))["access"] ?? "")
        }
        let failure = try #require(
          await error { try await layer(server, token, retry: RetryPolicy()).reactor(Note.self).fetch("note") })
        #expect(
          failure.description == "signing in failed: POST 127.0.0.1:\(accounts.port)/token: "
            + "the server answered 400 with 26 bytes; sign in again")
        #expect(accounts.requests.count == 1 && server.requests.count == 1)
      }
    }
  }

  @Test func `a bearer token shows nothing of a response of its refresh that cannot be read`() async throws {
    try await MockServer.run { _ in
      .json(#"{"access": 1, "refresh": "s3cret"}"#)
    } body: { accounts async throws in
      try await MockServer.run { _ in
        .status(401)
      } body: { server async throws in
        let answers = ModelLayer(baseURL: accounts.url).reactor([String: String].self)
        let token = BearerToken(BearerToken.Credential("1"), origins: [server.url]) { _ in
          BearerToken.Credential(try await answers.send(Resource("token", method: .post))["access"] ?? "")
        }
        let failure = try #require(await error { try await layer(server, token).reactor(Note.self).fetch("note") })
        #expect(failure.description.contains("expected") && !failure.description.contains("s3cret"))
      }
    }
  }

  @Test func `a bearer token shows neither token in its description`() throws {
    let credential = BearerToken.Credential("s3cret", refreshToken: "s3cret", goodUntil: Date())
    var text = "\(credential)" + String(reflecting: credential)
    dump(credential, to: &text)
    #expect(text.contains("good until") && !text.contains("s3cret"))
    let saved = try JSONDecoder().decode(BearerToken.Credential.self, from: JSONEncoder().encode(credential))
    #expect(saved == credential)
  }
}

extension ReactorError {
  /// The failure without a request, which an error may have been given on its way.
  fileprivate var reasonText: String {
    let text = description
    guard let request else { return text }
    return String(text.dropFirst(request.count + 2))
  }
}
