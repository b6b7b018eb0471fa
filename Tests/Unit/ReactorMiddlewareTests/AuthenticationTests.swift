import Foundation
import HTTPTypes
import ReactorCore
import ReactorMiddleware
import ReactorTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `An authentication middleware` {
  private let transport = ScriptedTransport()
  private let authenticator = TokenAuthenticator()
  private let request = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/notes")

  private func backend(_ origins: URL..., then middlewares: any TransportMiddleware...) -> Backend {
    Backend(
      baseURL: Bench.url, transport: transport,
      authentication: AuthenticationMiddleware(
        authenticator, credential: "1", origins: origins.isEmpty ? [Bench.url] : origins),
      middlewares: middlewares)
  }

  @Test func `an authentication middleware signs each request`() async throws {
    transport.answer("/notes", with: .json("[]"))
    let backend = backend()
    for _ in 1...2 { _ = try await backend.send(request, body: nil) }
    #expect(transport.tokens == ["1", "1"])
    #expect(authenticator.refused.isEmpty)
  }

  @Test func `after a 401, a request is sent once more with a new token, which signs later ones`() async throws {
    transport.answer("/notes", with: .response(.unauthorized), .json("[]"))
    let backend = backend()
    let (response, body) = try await backend.send(request, body: Data("?".utf8))
    #expect(response.status == .ok)
    #expect(body == Data("[]".utf8))
    _ = try await backend.send(request, body: nil)
    #expect(transport.tokens == ["1", "2", "2"])
    #expect(transport.requests.map(\.body) == [Data("?".utf8), Data("?".utf8), nil])
    #expect(authenticator.refused == ["1"])
  }

  @Test func `an authentication middleware takes a second 401 for the answer`() async throws {
    transport.answer("/notes", with: .response(.unauthorized, body: Data("no".utf8)))
    let (response, body) = try await backend().send(request, body: nil)
    #expect(response.status == .unauthorized)
    #expect(body == Data("no".utf8))
    #expect(transport.tokens == ["1", "2"])
    #expect(authenticator.refused == ["1"])
  }

  @Test(arguments: [403, 400, 407, 503])
  func `an authentication middleware takes any other status for the answer`(code: Int) async throws {
    transport.answer("/notes", with: .response(.init(code: code)))
    #expect(try await backend().send(request, body: nil).0.status.code == code)
    #expect(authenticator.refused.isEmpty)
  }

  @Test func `a failed refresh is an authentication error, and the next 401 refreshes again`() async throws {
    transport.answer("/notes", with: .response(.unauthorized), .response(.unauthorized), .json("[]"))
    authenticator.fail(with: Broken())
    let backend = backend()
    #expect(await error { try await backend.send(request, body: nil) }?.signInFailure is Broken)
    authenticator.fail(with: nil)
    #expect(try await backend.send(request, body: nil).0.status == .ok)
    #expect(transport.tokens == ["1", "1", "2"])
    #expect(authenticator.refused == ["1", "1"])
  }

  @Test(arguments: [
    ("https", "api.example.com"), ("https", "api.example.com:443"), ("https", "API.Example.COM"),
  ])
  func `the middleware signs requests to its origin, however that is spelled`(scheme: String, authority: String)
    async throws
  {
    transport.answer("/notes", with: .json("[]"))
    let request = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: "/notes")
    _ = try await backend().send(request, body: nil)
    #expect(transport.tokens == ["1"])
  }

  @Test(arguments: [
    ("http", "api.example.com"), ("https", "api.example.com:8443"), ("https", "example.com"),
    ("https", "api.example.com.evil.example"), ("https", "evil.example"), ("ftp", "api.example.com"),
  ])
  func `an authentication middleware signs no request to another origin, and takes its 401 for the answer`(
    scheme: String, authority: String
  ) async throws {
    transport.answer("/notes", with: .response(.unauthorized))
    let request = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: "/notes")
    #expect(try await backend().send(request, body: nil).0.status == .unauthorized)
    #expect(transport.tokens == ["-"])
    #expect(authenticator.refused.isEmpty)
  }

  @Test func `the middleware signs for each of its origins, and for none without one`() async throws {
    transport.answer("/notes", with: .json("[]"))
    let other = try #require(URL(string: "http://images.example.com:8080/v1"))
    let nowhere = try #require(URL(string: "file:///notes"))
    let toOther = HTTPRequest(method: .get, scheme: "http", authority: "images.example.com:8080", path: "/notes")
    for request in [request, toOther] { _ = try await backend(Bench.url, other).send(request, body: nil) }
    _ = try await backend(nowhere).send(request, body: nil)
    #expect(transport.tokens == ["1", "1", "-"])
  }

  /// Follows redirects as the real transports do.
  private struct Following: Transport {
    let transport: ScriptedTransport

    func send(
      _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> (HTTPResponse, Data) {
      try await Redirect.following(request, body: body, limit: 5) { request, body in
        try await transport.send(request, body: body, progress: progress)
      }
    }
  }

  @Test(arguments: [
    "https://files.example/notes", "http://api.example.com/there", "https://api.example.com:8443/there",
  ])
  func `an authentication middleware takes the 401 of another origin for the answer`(location: String) async throws {
    let transport = ScriptedTransport { request, _ in
      request.authority == "api.example.com" && request.scheme == "https"
        ? .response(.found, fields: [.location: location]) : .response(.unauthorized)
    }
    let backend = Backend(
      baseURL: Bench.url, transport: Following(transport: transport),
      authentication: AuthenticationMiddleware(authenticator, credential: "1", origins: [Bench.url]))
    #expect(try await backend.send(request, body: nil).0.status == .unauthorized)
    #expect(transport.tokens == ["1", "-"])
    #expect(authenticator.refused.isEmpty)
  }

  @Test func `a 401 of the middleware's own origin after a redirect starts a refresh`() async throws {
    transport.answer("/notes", with: .response(.found, fields: [.location: "/there"]))
    transport.answer("/there", with: .response(.unauthorized), .json("[]"))
    let backend = Backend(
      baseURL: Bench.url, transport: Following(transport: transport),
      authentication: AuthenticationMiddleware(authenticator, credential: "1", origins: [Bench.url]))
    #expect(try await backend.send(request, body: nil).0.status == .ok)
    #expect(transport.tokens == ["1", "1", "2", "2"])
    #expect(authenticator.refused == ["1"])
  }

  @Test func `a change is not repeated if the result that it redirects to is refused`() async throws {
    transport.answer("/notes", with: .response(.seeOther, fields: [.location: "/there"]))
    transport.answer("/there", with: .response(.unauthorized))
    let backend = Backend(
      baseURL: Bench.url, transport: Following(transport: transport),
      authentication: AuthenticationMiddleware(authenticator, credential: "1", origins: [Bench.url]))
    var post = request
    post.method = .post
    #expect(try await backend.send(post, body: nil).0.status == .unauthorized)
    #expect(transport.requests.map(\.request.method) == [.post, .get])
    #expect(authenticator.refused.isEmpty)
  }

  /// Signs in a separate field and in the query, and changes all that it can.
  private struct Digest: Authenticator {
    func sign(_ request: inout HTTPRequest, body: Data?, with key: String) throws {
      let name = try #require(HTTPField.Name("X-Signature"))
      request.headerFields[name] = "\(key) \(body?.count ?? 0)"
      request.headerFields[values: .accept].append("text/plain")
      request.path = "\(request.path ?? "")?signature=\(key)"
      request.authority = "evil.example"
      request.method = .delete
    }
    func refresh(_ key: String) async throws -> String { key }
  }

  @Test func `the middleware marks the signature's fields, and takes nothing else from it but the path`()
    async throws
  {
    transport.answer("/notes", with: .json("[]"))
    var request = request
    request.headerFields = [.accept: "application/json", .acceptLanguage: "de"]
    let middleware = AuthenticationMiddleware(Digest(), credential: "s3cret", origins: [Bench.url])
    _ = try await Backend(baseURL: Bench.url, transport: transport, authentication: middleware)
      .send(request, body: Data("1234".utf8))
    let sent = try #require(transport.requests.first?.request)
    #expect(sent.method == .get)
    #expect(sent.authority == "api.example.com")
    #expect(sent.path == "/notes?signature=s3cret")
    let marks = sent.headerFields.map { "\($0): \($0.indexingStrategy == .disallow)" }.sorted()
    #expect(
      marks == [
        "Accept-Language: de: false", "Accept: application/json: true", "Accept: text/plain: true",
        "X-Signature: s3cret 4: true",
      ])
  }

  /// Refreshes through the backend that waits for it.
  private final class Entangled: Authenticator {
    let backend = Shared<Backend?>(nil)

    func sign(_ request: inout HTTPRequest, body: Data?, with token: String) {
      request.headerFields[.authorization] = "Bearer \(token)"
    }
    func refresh(_ token: String) async throws -> String {
      let backend = try #require(backend.value)
      let request = HTTPRequest(method: .post, scheme: "https", authority: "api.example.com", path: "/token")
      return String(decoding: try await backend.send(request, body: nil).1, as: UTF8.self)
    }
  }

  @Test func `an authentication middleware passes on unsigned what its own refresh sends`() async throws {
    transport.answer("/notes", with: .response(.unauthorized), .json("[]"))
    transport.answer("/token", with: .response(body: Data("2".utf8)))
    let authenticator = Entangled()
    let backend = Backend(
      baseURL: Bench.url, transport: transport,
      authentication: AuthenticationMiddleware(authenticator, credential: "1", origins: [Bench.url]))
    authenticator.backend.change { $0 = backend }
    #expect(try await backend.send(request, body: nil).0.status == .ok)
    #expect(transport.tokens == ["1", "-", "2"])
    authenticator.backend.change { $0 = nil }
  }
}

extension ReactorError {
  /// The refresh's own error, where signing in has failed.
  fileprivate var signInFailure: (any Error)? {
    if case .authentication(let error) = self { error } else { nil }
  }
}

/// A flow whose backend signs.
@Suite(.timeLimit(.minutes(5))) struct `A signed-in layer` {
  private let clock = TestClock()
  private let transport = ScriptedTransport()
  private let disk = MemoryPersistence()
  private let authenticator = TokenAuthenticator()

  private let authentication: AuthenticationMiddleware<TokenAuthenticator>

  init() {
    authentication = AuthenticationMiddleware(authenticator, credential: "1", origins: [Bench.url])
  }

  private func layer(_ logging: LoggingMiddleware? = nil, retry: RetryPolicy = .never) -> ModelLayer {
    var configuration = ReactorConfiguration()
    configuration.clock = clock
    configuration.now = clock.wallClock
    configuration.keepUnusedFor = .never
    configuration.retry = retry
    return ModelLayer(
      backend: Backend(
        baseURL: Bench.url, transport: transport, authentication: authentication,
        userAgent: "Newsroom/1.0", logging: logging, reachability: .always),
      persistence: disk, scope: "ada", configuration: configuration)
  }

  @Test func `the token is in no record, key, event or log, and responses do not vary on it`() async throws {
    let told = Shared<[String]>([])
    let layer = layer(LoggingMiddleware(clock: clock) { exchange in told.change { $0.append("\(exchange)") } })
    let log = EventRecorder(layer)
    transport.answer(
      "/v1/note", with: .response(.unauthorized),
      .json(Note(1, "one").json, fields: [.vary: "Authorization", .cacheControl: "max-age=60"]), .response(.forbidden))
    let notes = layer.reactor(Note.self)
    #expect(try await notes.fetch("note").text == "one")
    // Fresh under the new token too: whose copy it is, the scope says.
    #expect(try await notes.fetch("note").text == "one")
    let failure = await error { try await notes.fetchFromNetwork("note") }
    var text = told.value.joined() + log.events.map(\.description).joined()
    dump(failure, to: &text)
    for entry in try await disk.entries(in: nil, url: nil) {
      dump(entry, to: &text)
      dump(try await disk.load(entry.key), to: &text)
    }
    #expect(transport.tokens == ["1", "2", "2"])
    #expect(text.contains("note"))
    #expect(!text.contains("Bearer"))
    let key = try #require(try await disk.entries(in: nil, url: nil).first?.key)
    let stored = try #require(try await disk.load(key))
    #expect(stored.head.variant?.matches([:]) == true)
  }

  @Test func `a signed-in layer signs each attempt of a retry again`() async throws {
    transport.answer(
      "/v1/note", with: .response(.serviceUnavailable, fields: [.retryAfter: "5"]), .response(.unauthorized),
      .json(Note(1, "one").json))
    let notes = layer(retry: RetryPolicy()).reactor(Note.self)
    let caller = Task { try await notes.fetch("note").text }
    try await clock.waitForSleepers()
    clock.advance(by: .seconds(5))
    #expect(try await caller.value == "one")
    #expect(transport.tokens == ["1", "1", "2"])
    #expect(transport.requests.allSatisfy { $0.request.headerFields[.userAgent] == "Newsroom/1.0" })
    try clock.checkNobodySleeps()
  }

  @Test func `a signed-in layer retries a refresh that found no connection`() async throws {
    transport.answer("/v1/note", with: .response(.unauthorized), .response(.unauthorized), .json(Note(1, "one").json))
    authenticator.fail(with: ReactorError.noConnectivity)
    let notes = layer(retry: RetryPolicy()).reactor(Note.self)
    let caller = Task { try await notes.fetch("note").text }
    try await clock.waitForSleepers()
    authenticator.fail(with: nil)
    clock.advance(by: .seconds(1))
    #expect(try await caller.value == "one")
    #expect(transport.tokens == ["1", "1", "2"])
    try clock.checkNobodySleeps()
  }

  @Test func `a refused refresh is reported once, with its error`() async throws {
    transport.answer("/v1/note", with: .response(.unauthorized), .response(.unauthorized))
    let refusal = ReactorError.server(HTTPResponse(status: .badRequest), body: Data("invalid_grant".utf8))
    authenticator.fail(with: refusal)
    let layer = layer(retry: RetryPolicy())
    let log = EventRecorder(layer)
    let failure = try #require(await error { try await layer.reactor(Note.self).fetch("note") })
    #expect((failure.signInFailure as? ReactorError)?.status == 400)
    #expect("\(failure)".hasPrefix("signing in failed: "))
    #expect(!"\(failure)".contains("invalid_grant"))
    // No retry makes another refresh of it.
    #expect(transport.tokens == ["1"])
    #expect(authenticator.refused == ["1"])
    #expect(log.count(.retry) == 0)
    #expect(log.kinds.count { if case .failed(.authentication) = $0 { true } else { false } } == 1)
    try clock.checkNobodySleeps()
  }

  @Test func `a failed sign-in has no stale fallback, a refresh without a connection has one`() async throws {
    transport.answer("/v1/note", with: .json(Note(1, "one").json), .response(.unauthorized), .response(.unauthorized))
    let notes = layer().reactor(Note.self)
    _ = try await notes.fetch("note")
    authenticator.fail(with: Broken())
    #expect(await error { try await notes.fetch("note", policy: .networkFirst) }?.signInFailure is Broken)
    authenticator.fail(with: ReactorError.timedOut)
    #expect(try await notes.fetch("note", policy: .networkFirst).text == "one")
  }

  @Test func `after a sign-out, a layer sends and stores nothing until the next sign-in`() async throws {
    transport.answer("/v1/note", with: .json(Note(1, "one").json, headers: [.cacheControl: "max-age=60"]))
    let layer = layer(retry: RetryPolicy())
    let notes = layer.reactor(Note.self)
    _ = try await notes.fetch("note")
    try await layer.signOut()
    #expect(notes.cached("note") == nil)
    #expect(await error { try await notes.fetch("note") }?.signInFailure is ReactorError.SignedOut)
    let failure = await error { try await notes.send(Resource("note", method: .post)) }?.signInFailure
    #expect(failure is ReactorError.SignedOut)
    #expect(transport.tokens == ["1"])
    #expect(try await disk.entries(in: nil, url: nil).isEmpty)
    #expect(authenticator.refused.isEmpty)
    authentication.signIn("9")
    #expect(try await notes.fetch("note").text == "one")
    #expect(transport.tokens == ["1", "9"])
    try clock.checkNobodySleeps()
  }

  @Test func `a signed-in layer continues with its credential after all is removed`() async throws {
    transport.answer("/v1/note", with: .json(Note(1, "one").json))
    let layer = layer()
    _ = try await layer.reactor(Note.self).fetch("note")
    try await layer.removeAll()
    _ = try await layer.reactor(Note.self).fetch("note")
    #expect(transport.tokens == ["1", "1"])
  }

  /// Keeps a session in a cookie.
  private final class Cookies: TransportMiddleware {
    let session = Shared<String?>("1")

    func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
      try await next(request, body)
    }
    func signOut() { session.change { $0 = nil } }
  }

  @Test func `a sign-out makes every middleware of the layer forget the user`() async throws {
    let cookies = Cookies()
    let backend = Backend(baseURL: Bench.url, transport: transport, middlewares: [cookies])
    try await ModelLayer(backend: backend).signOut()
    #expect(cookies.session.value == nil)
  }
}
