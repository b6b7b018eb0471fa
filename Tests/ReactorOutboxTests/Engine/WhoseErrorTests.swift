import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An attempt ends by what was done with the write, whoever has thrown the error.
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
  func `a page behind a redirect is found by a transport that follows it, and by one that does not`(
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
    Detour(.movedPermanently, "/v1/b/", .json("[]"), "refused"), Detour(.ok, nil, .page),
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
    guard case .network(MutationError.diverted(let target)) = error else {
      return #expect(Bool(false), "\(String(describing: error))")
    }
    #expect(target == detour.location)
    #expect(writer.states == [detour.state])
    writer.clock.advance(by: .seconds(3_600))
    #expect(writer.sent == ["POST /v1/b b"])
    #expect(await writer.outbox.retry(submission.id))
    await writer.wait()
    #expect(writer.sent.count == 2)
    try await writer.end()
  }

  @Test func `a page is an answer where the write asks for one`() async throws {
    let writer = Writer { $0.mutations.append(Form.self) }
    writer.transport.answer("/v1/form", with: .page)
    _ = try await writer.layer.submit(Form()).answer()
    try await writer.end()
  }
}

/// An answer to a write that is none.
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

private struct Form: Mutation {
  func request(_ known: Known) -> Resource {
    Resource("form", method: .post, headers: [.accept: "text/html"])
  }
}
