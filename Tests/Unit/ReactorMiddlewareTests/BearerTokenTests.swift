import Foundation
import HTTPTypes
import ReactorCore
import ReactorLoopback
import ReactorMiddleware
import ReactorTesting
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Over real connections: the API is a server on this machine.
@Suite(.timeLimit(.minutes(5))) struct `A bearer token`: BearerTokenTesting {
  let clock = TestClock()
  let tokens = ScriptedTokens()

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

  @Test func `with a fixed token, a 401 names the request and has the server's words`()
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

  @Test func `each new credential is saved, and nothing of a refresh after a sign-out`() async throws {
    try await MockServer.run { request in
      request["Authorization"] == "Bearer 2" ? Self.note : .status(401)
    } body: { server async throws in
      let (saved, ended) = (Shared<[String?]>([]), Gate())
      let token = BearerToken(
        BearerToken.Credential("1"), origins: [server.url],
        save: { credential in saved.change { $0.append(credential?.token) } }
      ) { [tokens, clock] credential in
        defer { ended.open() }
        // A token server that has answered already.
        return try await Task { try await tokens.next(credential, lifetime: nil, clock: clock) }.value
      }
      let layer = layer(server, token)
      _ = try await layer.reactor(Note.self).fetch("note")
      #expect(saved.value == ["2"])
      token.signIn("8")
      #expect(saved.value == ["2", "8"])
      tokens.gate.close()
      ended.close()
      let caller = Task { await error { try await layer.reactor(Note.self).fetchFromNetwork("note") } }
      try await tokens.gate.waitForArrival(count: 2)
      try await layer.signOut()
      #expect(saved.value == ["2", "8", nil])
      tokens.gate.open()
      try await ended.wait()
      _ = await caller.value
      token.signIn("9")
      #expect(saved.value == ["2", "8", nil, "9"])
    }
  }

  @Test func `a credential that is being saved at a sign-out is deleted behind it`() async throws {
    let (saved, saving, goes, ended) = (Shared<[String?]>([]), Gate(), Latch(), Gate())
    let save: @Sendable (BearerToken.Credential?) -> Void = { credential in
      if credential?.token == "2" {
        saving.open()
        goes.block()
      }
      saved.change { $0.append(credential?.token) }
    }
    let token = BearerToken(BearerToken.Credential("1"), origins: [], save: save) { $0 }
    Thread.detachNewThread {
      token.signIn("2")
      ended.open()
    }
    try await saving.wait()
    token.signIn("3")
    token.signOut()
    #expect(saved.value == [])
    goes.open()
    try await ended.wait()
    #expect(saved.value == ["2", nil])
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

  @Test func `a new token that seems to have expired is used until a 401`() async throws {
    try await MockServer.run { _ in
      Self.note
    } body: { server async throws in
      let layer = layer(server, token(server, lifetime: 0, left: 0))
      for _ in 1...3 { _ = try await layer.reactor(Note.self).fetchFromNetwork("note") }
      #expect(tokens.refused.value == ["1"])
      #expect(sent(server) == ["Bearer 2", "Bearer 2", "Bearer 2"])
    }
  }

  @Test func `a refused token is not used after a failed refresh, even before its expiry`() async throws {
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

  @Test(
    arguments: [
      URLError(.badURL), ReactorError.network(URLError(.badURL)), URLError(.unsupportedURL), Broken(),
    ] as [any Error])
  func `a mistake in a token's refresh asks for a sign-in, and is not retried`(mistake: any Error)
    async throws
  {
    try await MockServer.run { _ in
      Self.note
    } body: { server async throws in
      tokens.error.change { $0 = mistake }
      let layer = layer(server, token(server, left: -1), retry: RetryPolicy())
      let failure = await error { try await layer.reactor(Note.self).fetch("note") }
      guard case .authentication? = failure else { return #expect(Bool(false), "\(failure as Any)") }
      #expect(tokens.refused.value == ["1"])
    }
  }

  @Test func `a retry refreshes the token again after an outage of the token server`() async throws {
    let tick = Tick()
    try await run { _ in
      tick.next() < 3 ? .status(503, headers: [.retryAfter: "0"]) : .json(#"{"access": "2"}"#)
    } notes: { _ in
      Self.note
    } body: { accounts, server, token async throws in
      #expect(try await layer(server, token, retry: RetryPolicy()).reactor(Note.self).fetch("note").text == "one")
      #expect(sent(server) == ["Bearer 2"] && accounts.requests.count == 3)
    }
  }

  @Test func `a token that the token server refuses asks for a sign-in, and names the request`() async throws {
    try await run { _ in
      .json(#"{"error": "invalid_grant"}"#, status: 400)
    } notes: { _ in
      Self.note
    } body: { accounts, server, token async throws in
      let failure = try #require(
        await error { try await layer(server, token, retry: RetryPolicy()).reactor(Note.self).fetch("note") })
      #expect(
        failure.description == "signing in failed: POST 127.0.0.1:\(accounts.port)/token: "
          + "the server answered 400 with 26 bytes; sign in again")
      #expect(accounts.requests.count == 1 && server.requests.isEmpty)
    }
  }

  @Test(arguments: [#"{"access": 1, "refresh": "s3cret"}"#, #"{"access": "s3cret", "until": 1}"#])
  func `an unreadable response to a token's refresh is not shown`(body: String)
    async throws
  {
    try await run { _ in
      .json(body)
    } notes: { _ in
      Self.note
    } body: { _, server, token async throws in
      let failure = try #require(await error { try await layer(server, token).reactor(Note.self).fetch("note") })
      let texts = [failure.description] + tokens.texts.value
      #expect(texts.count { $0.contains("expected") } == 3 && !texts.contains { $0.contains("s3cret") }, "\(texts)")
    }
  }

  @Test(
    arguments: [
      TokenStore.Failure(text: "s3cret"), ReactorError.persistence(TokenStore.Failure(text: "s3cret")),
      ReactorError.authentication(TokenStore.Failure(text: "s3cret")),
    ] as [any Error])
  func `the error of a failed token store shows none of its words`(failure: any Error) async throws {
    try await MockServer.run { _ in
      Self.note
    } body: { server async throws in
      tokens.error.change { $0 = failure }
      let found = try #require(
        await error { try await layer(server, token(server, left: -1)).reactor(Note.self).fetch("note") })
      var text = "\(found)" + String(reflecting: found) + found.localizedDescription
      dump(found, to: &text)
      #expect(text.contains("signing in failed") && text.contains("Failure") && !text.contains("s3cret"), "\(text)")
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
