import Foundation
import HTTPTypes
import ReactorCore
import ReactorMiddleware
import ReactorTesting
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5))) struct `A backend's order of middlewares` {
  private struct Spy: TransportMiddleware {
    let seen: @Sendable (HTTPRequest) -> Void

    func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
      seen(request)
      return try await next(request, body)
    }
  }

  @Test func `a backend's order of middlewares is authentication, user agent, one's own, logging`() async throws {
    let seen = Shared<[String]>([])
    let transport = ScriptedTransport { _, _ in
      seen.change { $0.append("transport") }
      return .json("[]")
    }
    let backend = Backend(
      baseURL: Bench.url, transport: transport,
      authentication: AuthenticationMiddleware(TokenAuthenticator(), credential: "1", origins: [Bench.url]),
      userAgent: "Newsroom/1.0",
      middlewares: [
        Spy { request in
          let fields = request.headerFields
          seen.change { $0.append("own: \(fields[.authorization] ?? "-"), \(fields[.userAgent] ?? "-")") }
        }
      ], logging: LoggingMiddleware { _ in seen.change { $0.append("logged") } })
    _ = try await backend.send(
      HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/notes"), body: nil)
    #expect(seen.value == ["own: Bearer 1, Newsroom/1.0", "transport", "logged"])
  }
}

@Suite struct `A user agent middleware` {
  private let transport = ScriptedTransport { _, _ in .json("[]") }

  private func sent(_ userAgent: String, _ fields: HTTPFields = [:]) async throws -> [String] {
    let request = HTTPRequest(
      method: .get, scheme: "https", authority: "api.example.com", path: "/notes", headerFields: fields)
    _ = try await Backend(baseURL: Bench.url, transport: transport, userAgent: userAgent).send(request, body: nil)
    return transport.requests.last?.request.headerFields[values: .userAgent] ?? []
  }

  @Test func `a user agent middleware names the program where the request does not`() async throws {
    #expect(try await sent("Newsroom/1.0") == ["Newsroom/1.0"])
    #expect(try await sent("Newsroom/1.0", [.userAgent: "Own/2"]) == ["Own/2"])
  }

  @Test func `a user agent middleware cannot add a field`() async throws {
    #expect(try await sent("a\r\nX-Injected: 1") == ["a  X-Injected: 1"])
  }
}

@Suite(.timeLimit(.minutes(5))) struct `A logging middleware` {
  private let clock = TestClock()
  private let transport = ScriptedTransport()
  private let told = Shared<[LoggingMiddleware.Entry]>([])

  private func send(_ path: String, body: Data? = nil) async throws {
    var request = HTTPRequest(method: .post, scheme: "https", authority: "api.example.com", path: path)
    request.headerFields[.authorization] = "Bearer s3cret"
    request.headerFields[.cookie] = "s3cret"
    let told = told
    let logging = LoggingMiddleware(clock: clock) { exchange in told.change { $0.append(exchange) } }
    _ = try await Backend(baseURL: Bench.url, transport: transport, logging: logging).send(request, body: body)
  }

  @Test func `the log has method, URL, status, bytes and duration`() async throws {
    let gate = Gate()
    transport.answer("/notes", with: .response(.created, body: Data("12345".utf8)).held(at: gate))
    let sending = Task { try await send("/notes", body: Data("123".utf8)) }
    try await gate.waitForArrival()
    clock.advance(by: .milliseconds(1_500))
    gate.open()
    try await sending.value
    #expect(
      told.value.map(\.description) == [
        "POST https://api.example.com/notes, 3 bytes: 201, 5 bytes in 1.5 seconds"
      ])
  }

  @Test(arguments: [
    ("/notes?q=s3cret", "?q=…"), ("/notes?signature=s3cret&page=1", "?signature=…&page=1"), ("/notes?s3cret", "?…"),
    ("/notes#s3cret", "?…"), ("/notes?a=1;token=s3cret&page=s3cret", "?a=…&page=…"),
    ("/notes?%74oken=1&user%5Bpassword%5D=1", "?token=…&user[password]=…"), ("/notes?page=2#page=3", "?page=2"),
    ("/notes?s3cret%20s3cret=1&after=1234567890&", "?…&after=…&…"), ("/notes?Page%5BNumber%5D=7", "?Page[Number]=7"),
    ("/notes?c2VjcmV0MQ==", "?…"), ("/notes?c2VjcmV0MTI=&page=1", "?…&page=1"),
  ])
  func `the log has a query's names and page numbers, and neither a field nor a body`(
    path: String, query: String
  ) async throws {
    transport.answer(path, with: .json(#"{"password":"s3cret"}"#, fields: [.setCookie: "s3cret"]))
    try await send(path, body: Data("s3cret".utf8))
    var text = "\(told.value)"
    dump(told.value, to: &text)
    #expect(!text.contains("s3cret"))
    #expect(told.value.map(\.url) == ["https://api.example.com/notes" + query])
  }

  @Test func `the log shows the numbers of paging items, and of other items if it is set to`() async throws {
    transport.answer("/v1/notes", with: .json("[]"))
    let told = Shared<[String]>([])
    var configuration = ReactorConfiguration()
    configuration.secretQueryItems.insert("Year")
    for numbers in [LoggingMiddleware.pagingItems, ["month", "year"]] {
      let logging = LoggingMiddleware(clock: clock, numbers: numbers) { exchange in
        told.change { $0.append(exchange.url) }
      }
      let layer = ModelLayer(
        backend: Backend(baseURL: Bench.url, transport: transport, logging: logging, reachability: .always),
        configuration: configuration)
      for page in 1...3 {
        _ = try await layer.reactor([Int].self).fetch("notes?page=\(page)&month=5&year=2026")
      }
    }
    let lines = told.value.compactMap { $0.split(separator: "?").last }
    #expect(
      lines == (1...3).map { "page=\($0)&month=…&year=…" } + (1...3).map { _ in "page=…&month=5&year=…" })
  }

  @Test func `the log shows a failure without the error's details, and the error is thrown unchanged`() async throws {
    let url = try #require(URL(string: "https://api.example.com/notes?key=s3cret"))
    transport.answer("/notes", with: .failure(URLError(.timedOut, userInfo: [NSURLErrorFailingURLErrorKey: url])))
    await #expect(throws: URLError.self) { try await send("/notes") }
    #expect(
      told.value.map(\.description) == ["POST https://api.example.com/notes, 0 bytes: timed out after 0.0 seconds"])
  }
}
