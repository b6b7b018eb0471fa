import Foundation
import HTTPTypes
import ReactorCore
import ReactorMiddleware
import ReactorOutbox
import ReactorTesting
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The outcome of an attempt depends on what was done with the write, not on who threw the error.
@Suite("Whose error it was", .timeLimit(.minutes(2)))
struct WhoseErrorTests {
  @Test func `a refresh of the credential without an answer leaves no doubt about a write that a 401 refused`()
    async throws
  {
    let tokens = Tokens()
    let writer = Writer(authentication: AuthenticationMiddleware(tokens, credential: 1, origins: [Bench.url])) {
      // What is in doubt is not sent again.
      $0.idempotencyWindow = .zero
    }
    tokens.error.change { $0 = URLError(.timedOut) }
    writer.transport.answer("/v1/b", with: .response(.unauthorized), accepted)
    let submission = try await writer.layer.submit(Add(name: "b"))
    await writer.wait(for: "waiting, backoff")
    tokens.error.change { $0 = nil }
    writer.clock.advance(by: .seconds(10))
    _ = try await submission.answer()
    #expect(writer.sent.count == 2)
    try await writer.end()
  }

  @Test(arguments: [
    ReactorError.network(URLError(.secureConnectionFailed)), .network(TransportError.notSecure("no TLS")),
    .server(HTTPResponse(status: .tooManyRequests), body: Data()), .cancelled,
  ])
  func `a token that the network does not renew refuses no write, and requests no sign-in`(
    failure: ReactorError
  ) async throws {
    let bench = Bench()
    let error = Shared<ReactorError?>(failure)
    let token = BearerToken(
      BearerToken.Credential("1", goodUntil: bench.clock.date), origins: [Bench.url], now: bench.clock.wallClock
    ) { _ in
      if let error = error.value { throw error }
      return BearerToken.Credential("2")
    }
    let writer = Writer(on: bench, authentication: token)
    writer.transport.answer("/v1/b", with: accepted)
    let submission = try await writer.layer.submit(Add(name: "b"))
    await writer.wait(for: "waiting, backoff")
    #expect(writer.sent.isEmpty)
    error.change { $0 = nil }
    writer.clock.advance(by: .seconds(10))
    _ = try await submission.answer()
    #expect(writer.transport.tokens == ["2"])
    try await writer.end()
  }

  private struct Failure: Error, CustomStringConvertible {
    var description: String { "cannot save s3cret" }
  }

  @Test(
    arguments: [(Failure(), "waiting, sign in"), (ReactorError.network(Failure()), "waiting, backoff")]
      as [(any Error, String)])
  func `a token store that fails leaves none of its words in the saved entry`(failure: any Error, state: String)
    async throws
  {
    let storage = MemoryStore()
    let token = BearerToken(BearerToken.Credential("1"), origins: [Bench.url]) { _ in throw failure }
    let writer = Writer(storage: storage, authentication: token)
    writer.transport.answer("/v1/b", with: .response(.unauthorized))
    _ = try await writer.layer.submit(Add(name: "b"))
    await writer.wait(for: state)
    let saved = try await storage.contents(of: .shared).entries.map { String(decoding: $0.bytes, as: UTF8.self) }
    #expect(saved.count == 1 && saved.allSatisfy { $0.contains("Failure") && !$0.contains("s3cret") }, "\(saved)")
    #expect(writer.outbox.entries.allSatisfy { !"\($0)".contains("s3cret") })
  }

  @Test func `a static token that a 401 refuses waits for a sign-in, which sends the write`() async throws {
    let token = BearerToken("1", origins: [Bench.url])
    let writer = Writer(authentication: token)
    writer.transport.answer("/v1/b", with: .response(.unauthorized), accepted)
    let submission = try await writer.layer.submit(Add(name: "b"))
    await writer.wait(for: "waiting, sign in")
    token.signIn("2")
    _ = try await submission.answer()
    #expect(writer.transport.tokens == ["1", "2"])
    try await writer.end()
  }

  @Test func `a write that waits for a sign-in is sent once the credential can be refreshed after all`() async throws {
    let error = Shared<(any Error)?>(Failure())
    let token = BearerToken(BearerToken.Credential("1"), origins: [Bench.url]) { _ in
      if let error = error.value { throw error }
      return BearerToken.Credential("2")
    }
    let writer = Writer(authentication: token)
    writer.transport.answer("/v1/b", with: .response(.unauthorized), accepted)
    let submission = try await writer.layer.submit(Add(name: "b"))
    await writer.wait(for: "waiting, sign in")
    error.change { $0 = nil }
    writer.transport.answer("/v1/list", with: .response(.unauthorized), Writer.answer(["a"]))
    _ = try await writer.notes.fetch(writer.list)
    _ = try await submission.answer()
    #expect(writer.transport.tokens == ["1", "1", "2", "2"])
    try await writer.end()
  }

  @Test func `a URL that answers 401 to a new credential too holds its lane, and no other`() async throws {
    let authentication = AuthenticationMiddleware(Tokens(), credential: 1, origins: [Bench.url])
    let writer = Writer(authentication: authentication)
    writer.transport.answer("/v1/b", with: .response(.unauthorized))
    let first = try await writer.layer.submit(Add(name: "b", lane: "other"))
    await writer.wait(for: "waiting, sign in")
    for name in ["c", "d"] {
      writer.transport.answer("/v1/\(name)", with: .json("\"done\""))
      _ = try await writer.layer.submit(Add(name: name)).answer()
    }
    let behind = try await writer.layer.submit(Add(name: "e", lane: "other"))
    #expect(writer.states == ["waiting, sign in", "waiting, turn"])
    // Once more after a sign-in, and no more.
    authentication.signIn(7)
    await writer.wait(for: "waiting, sign in", "waiting, turn")
    try await writer.transport.waitForRequests(count: 6)
    await writer.wait(for: "waiting, sign in", "waiting, turn")
    #expect(writer.sent.filter { $0.contains("/v1/b") }.count == 4)
    // What was refused can be taken back.
    #expect(await writer.outbox.withdraw(first.id))
    writer.transport.answer("/v1/e", with: .json("\"done\""))
    _ = try await behind.answer()
    try await writer.end()
  }

  @Test func `a request that meets a 401 while it is made waits for a sign-in, and asks once`() async throws {
    let tokens = Tokens()
    let authentication = AuthenticationMiddleware(tokens, credential: 1, origins: [Bench.url])
    let writer = Writer(authentication: authentication) { $0.mutations.append(Prepared.self) }
    Prepared.notes.change { $0 = writer.notes }
    tokens.error.change { $0 = CocoaError(.userCancelled) }
    writer.transport.answer("/v1/base", with: .response(.unauthorized), .json("[]"))
    writer.transport.answer("/v1/prepared", with: accepted)
    let submission = try await writer.layer.submit(Prepared())
    await writer.wait(for: "waiting, sign in")
    writer.clock.advance(by: .seconds(3_600))
    #expect(writer.transport.requests.count == 1)
    authentication.signIn(2)
    _ = try await submission.answer()
    #expect(writer.transport.requests.count == 3)
    try await writer.end()
  }

  @Test(arguments: [false, true])
  func `a page behind a redirect is found whether the transport follows redirects or not`(
    follows: Bool
  ) async throws {
    for status in [HTTPResponse.Status.found, .seeOther] {
      let writer = Writer(followsRedirects: follows)
      writer.transport.answer("/v1/b", with: .response(status, fields: [.location: "/v1/login"]))
      writer.transport.answer("/v1/login", with: .page)
      let submission = try await writer.layer.submit(Add(name: "b"))
      // Without a look at it, a 303 is an acceptance.
      let isAccepted = status == .seeOther && !follows
      #expect((await TestSupport.error { try await submission.answer() } == nil) == isAccepted, "\(status)")
    }
  }

  @Test(arguments: [
    // An expired session, a trailing slash, and a network's gate.
    Detour(.found, "/v1/login", .page), Detour(.seeOther, "/v1/login", .page),
    Detour(.found, "https://sign-in.example/v1/login", .response(.ok)),
    Detour(.movedPermanently, "/v1/b/", .json("[]"), "refused"), Detour(.found, "/v1/b/", .json("[]"), "refused"),
    Detour(.ok, nil, .page),
    Detour(.temporaryRedirect, "https://sign-in.example/v1/login", .response(.ok), "refused"),
  ])
  func `a page for a person is no acceptance, and the write is not repeated`(detour: Detour) async throws {
    let writer = Writer(followsRedirects: true)
    try await writer.fetch("a")
    if let location = detour.location {
      let path = location.contains("login") ? "/v1/login" : "/v1/b/"
      writer.transport.answer("/v1/b", with: .response(detour.status, fields: [.location: location]), accepted)
      writer.transport.answer(path, with: detour.answer)
    } else {
      writer.transport.answer("/v1/b", with: detour.answer, accepted)
    }
    let submission = try await writer.layer.submit(Add(name: "b"))
    let error = await TestSupport.error { try await submission.answer() }
    let diverted = try #require(error?.diverted, "\(String(describing: error))")
    #expect(diverted.target == detour.location)
    #expect(writer.states == [detour.state])
    writer.clock.advance(by: .seconds(3_600))
    #expect(writer.sent == ["POST /v1/b b"])
    #expect(await writer.outbox.retry(submission.id))
    await writer.wait()
    #expect(writer.sent.count == 2)
    try await writer.end()
  }

  @Test func `a mutation that does not take a success for one is refused, and says why`() async throws {
    let writer = Writer(storage: MemoryStore()) { $0.mutations.append(Checked.self) }
    try await writer.fetch("a")
    writer.transport.answer("/v1/checked", with: .json(#"{"error": "too late"}"#), .json("{}"))
    let submission = try await writer.layer.submit(Checked())
    let error = await TestSupport.error { try await submission.answer() }
    guard case .network(let cause) = error else { return #expect(Bool(false), "\(String(describing: error))") }
    #expect(cause as? Checked.Refusal == Checked.Refusal(description: "too late"))
    #expect(writer.shown == ["a"])
    let next = writer.relaunched { $0.mutations.append(Checked.self) }
    await next.wait(for: "refused")
    guard case .refused(let saved)? = next.outbox.entries.first?.state else { return #expect(Bool(false)) }
    #expect(saved.description.contains("too late"))
    #expect(await next.outbox.retry(submission.id))
    await next.wait()
    #expect(try await next.notes.fetch(next.list, policy: .cacheOnly) == ["a", "checked"])
    #expect(next.sent.count == 2)
    try await next.end()
  }

  @Test func `a success that the mutation takes for a sign-in, or for another's answer, leaves it there`() async throws
  {
    for (error, state) in [
      (ReactorError.authentication(CocoaError(.userCancelled)), "waiting, sign in"),
      (.network(ReactorError.Diverted()), "unresolved"),
    ] {
      let writer = Writer { $0.mutations.append(Checked.self) }
      writer.transport.answer("/v1/checked", with: .json(#"{"error": "look"}"#))
      Checked.error.change { $0 = error }
      defer { Checked.error.change { $0 = nil } }
      try await writer.layer.submit(Checked(throwsError: true))
      await writer.wait(for: state)
      try await writer.end()
    }
  }

  @Test func `content of the type of a page that cannot be read is no acceptance`() async throws {
    let writer = Writer { $0.mutations.append(Checked.self) }
    let text = Data("<p>Sign in".utf8)
    writer.transport.answer("/v1/checked", with: .response(.ok, fields: [.contentType: "text/html"], body: text))
    let submission = try await writer.layer.submit(Checked())
    #expect(await TestSupport.error { try await submission.answer() }?.diverted == ReactorError.Diverted())
    #expect(writer.states == ["unresolved"])
    try await writer.end()
  }

  @Test func `a page is an answer where the write requests one`() async throws {
    let writer = Writer { $0.mutations.append(Form.self) }
    writer.transport.answer("/v1/form", with: .page)
    _ = try await writer.layer.submit(Form()).answer()
    try await writer.end()
  }
}

/// A response to a write that does not answer it.
struct Detour: Sendable {
  let status: HTTPResponse.Status
  let location: String?
  let answer: ScriptedTransport.Answer
  let state: String

  init(
    _ status: HTTPResponse.Status, _ location: String?, _ answer: ScriptedTransport.Answer,
    _ state: String = "unresolved"
  ) {
    self.status = status
    self.location = location
    self.answer = answer
    self.state = state
  }
}

extension ScriptedTransport.Answer {
  fileprivate static var page: Self {
    .response(.ok, fields: [.contentType: "text/html; charset=utf-8"], body: Data("\n<!DOCTYPE html><p>Sign in".utf8))
  }
}

/// Tokens that cannot be renewed while there is an error.
private struct Tokens: Authenticator {
  let error = Shared<(any Error)?>(nil)

  func sign(_ request: inout HTTPRequest, body: Data?, with credential: Int) {
    request.headerFields[.authorization] = "Bearer \(credential)"
  }

  func refresh(_ credential: Int) throws -> Int {
    if let error = error.value { throw error }
    return credential + 1
  }
}

/// A mutation that asks before it is sent.
private struct Prepared: Mutation {
  static let notes = Shared<Reactor<[String]>?>(nil)

  func request(_ known: Known) async throws -> Resource {
    _ = try await Self.notes.value?.fetch("base", policy: .networkOnly)
    return Resource("prepared", method: .post)
  }
}

/// A mutation of a server that answers 200 to everything.
private struct Checked: Mutation {
  struct Answer: Decodable, Sendable {
    var error: String?
  }
  struct Refusal: Error, Equatable, CustomStringConvertible {
    var description: String
  }

  static let error = Shared<ReactorError?>(nil)
  var throwsError = false

  func request(_ known: Known) -> Resource { Resource("checked", method: .post) }

  func draft(_ drafts: inout Drafts) {
    drafts.change([String].self, at: "list") { if !$0.contains("checked") { $0.append("checked") } }
  }

  func check(_ answer: Answer) throws {
    if throwsError, let error = Self.error.value { throw error }
    if let text = answer.error { throw Refusal(description: text) }
  }
}

private struct Form: Mutation {
  func request(_ known: Known) -> Resource {
    Resource("form", method: .post, headers: [.accept: "text/html"])
  }
}
