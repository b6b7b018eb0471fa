import Foundation
import HTTPTypes
import ReactorCore
import ReactorLists
import ReactorTesting
import TestSupport
import Testing

/// Searches with a body (RFC 10008), as a reactor sends, stores and validates them. The numbers are
/// those of its sections.
@Suite("A QUERY", .timeLimit(.minutes(5)))
struct QueryTests {
  private static let fields: HTTPFields = [.eTag: "\"a\"", .cacheControl: "max-age=60"]

  private func search(_ json: String, type: String? = "application/json", path: Resource.Path = "search") -> Resource {
    var fields = HTTPFields()
    fields[.contentType] = type
    return Resource(path, method: .query, headers: fields, body: Data(json.utf8))
  }

  /// A server that answers each request with the number of the request, for a minute.
  private func bench(_ fields: HTTPFields = Self.fields) -> Bench {
    let count = Shared(0)
    return Bench(
      transport: ScriptedTransport { _, _ in
        .json(
          Note(
            count.change {
              $0 += 1; return $0
            }, "text"
          ).json, headers: fields)
      })
  }

  @Test func `is answered from memory and from disk, if its bytes and their type are equal (2.7)`() async throws {
    let bench = bench()
    #expect(try await bench.notes.fetch(search(#"{"a":1}"#)).id == 1)
    bench.clock.advance(by: .seconds(59))
    #expect(try await bench.notes.fetch(search(#"{"a":1}"#)).id == 1)
    #expect(try await bench.restarted().notes.fetch(search(#"{"a":1}"#)).id == 1)
    let sent = bench.transport.requests.first
    #expect(sent?.request.method == .query && sent?.body == Data(#"{"a":1}"#.utf8))
  }

  @Test func `is another one with other bytes, another type, coding or language, and than a GET (2.7)`() async throws {
    let bench = bench()
    var coded = search(#"{"a":1}"#)
    coded.headers[.contentEncoding] = "identity"
    var german = search(#"{"a":1}"#)
    german.headers[.contentLanguage] = "de"
    let resources = [
      search(#"{"a":1}"#), search(#"{ "a":1}"#), search(#"{"a":1}"#, type: "text/plain"), coded, german,
      Resource("search"), Resource("search", method: .head), search(""),
    ]
    for _ in 0..<2 {
      var ids: [Int] = []
      for resource in resources { ids.append(try await bench.notes.fetch(resource).id) }
      #expect(ids == Array(1...resources.count))
    }
  }

  @Test func `without a type is an error, and nothing is sent (2)`() async throws {
    let bench = bench()
    let failure = await error { try await bench.notes.fetch(search("{}", type: nil)) }
    #expect(
      failure?.description == "invalid resource: QUERY search has no Content-Type, which says what its body means "
        + "(RFC 10008 §2); set it, or use json: or form:")
    #expect(bench.transport.requestCount == 0)
  }

  @Test func `that is stale is validated with its body, and a 304 renews it (2.6)`() async throws {
    let bench = bench()
    _ = try await bench.notes.fetch(search("{}"))
    bench.transport.answer("/v1/search", with: .response(.notModified, headers: Self.fields))
    bench.clock.advance(by: .seconds(61))
    #expect(try await bench.notes.fetch(search("{}")).id == 1)
    let sent = bench.transport.requests.last
    #expect(sent?.request.headerFields[.ifNoneMatch] == "\"a\"" && sent?.body == Data("{}".utf8))
    bench.clock.advance(by: .seconds(59))
    #expect(try await bench.notes.fetch(search("{}")).id == 1)
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `is sent again without validators after a 412, and has none for a day (RFC 9110, 13.1.2)`() async throws {
    let script = ScriptedTransport { request, _ in
      request.headerFields[.ifNoneMatch] == nil
        ? .json(Note(1, "one").json, headers: Self.fields) : .response(.preconditionFailed)
    }
    let bench = Bench(transport: script)
    for _ in 0..<3 {
      #expect(try await bench.notes.fetch(search("{}")).text == "one")
      bench.clock.advance(by: .seconds(61))
    }
    func conditional() -> [Bool] { script.requests.map { $0.request.headerFields[.ifNoneMatch] != nil } }
    #expect(conditional() == [false, true, false, false])
    bench.clock.advance(by: .seconds(86_400))
    _ = try await bench.notes.fetch(search("{}"))
    #expect(conditional() == [false, true, false, false, true, false])
    // A GET of the same server is conditional as ever.
    _ = try await bench.notes.fetch("note")
    bench.clock.advance(by: .seconds(61))
    _ = try await bench.notes.fetch("note")
    #expect(conditional().suffix(3) == [false, true, false])
  }

  @Test func `is sent once for those who ask at the same time`() async throws {
    let bench = bench()
    let gate = Gate()
    bench.transport.answer("/v1/search", with: .json(Note(1, "one").json).held(at: gate))
    async let first = bench.notes.fetch(search("{}"))
    try await gate.waitForArrival()
    async let second = bench.notes.fetch(search("{}"))
    try await bench.log.wait(for: .joined)
    gate.open()
    #expect(try await [first, second].map(\.id) == [1, 1])
    #expect(bench.transport.requestCount == 1)
  }

  @Test func `is retried after a failure that may be temporary`() async throws {
    let bench = Bench { $0.retry = .init(attempts: 2, firstDelay: .zero) }
    bench.transport.answer("/v1/search", with: .response(.serviceUnavailable), .json(Note(1, "one").json))
    #expect(try await bench.notes.fetch(search("{}")).text == "one")
  }

  @Test func `is observed, and a change of its URL makes every body stale (RFC 9111, 4.4)`() async throws {
    let bench = bench()
    var states = bench.notes.states(for: search("{}")).makeAsyncIterator()
    #expect(await states.first { $0.value != nil && $0.fetchStatus == .idle }?.value?.id == 1)
    #expect(try await bench.notes.fetch(search("[]")).id == 2)
    try await bench.layer.send(Resource("search", method: .post, body: Data("{}".utf8)))
    #expect(await states.first { $0.value?.id != 1 && $0.fetchStatus == .idle }?.value?.id == 4)
    #expect(try await bench.notes.fetch(search("[]")).id == 5)
  }

  @Test func `makes nothing stale, and cannot be sent as a change is`() async throws {
    let bench = bench()
    #expect(try await bench.notes.fetch("search").id == 1)
    _ = try await bench.notes.fetch(search("{}"))
    #expect(await error { try await bench.layer.send(search("[]")) }?.isInvalidResource == true)
    #expect(try await bench.notes.fetch("search").id == 1)
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `fills no other record with its Content-Location (2.3)`() async throws {
    let bench = bench([.contentLocation: "/v1/r/7", .location: "/v1/r/8", .cacheControl: "max-age=60"])
    _ = try await bench.notes.fetch(search("{}"))
    #expect(try await bench.notes.fetch("r/7").id == 2)
    #expect(try await bench.notes.fetch("r/8").id == 3)
  }

  @Test func `that is too large for a key is sent, and not stored`() async throws {
    let bench = bench()
    let large = search(String(repeating: " ", count: HTTPCache.largestQueryBody + 1))
    let largest = search(String(repeating: " ", count: HTTPCache.largestQueryBody))
    #expect(try await [bench.notes.fetch(large).id, bench.notes.fetch(largest).id] == [1, 2])
    let restarted = bench.restarted().notes
    #expect(try await [restarted.fetch(large).id, restarted.fetch(largest).id] == [3, 2])
  }

  @Test func `may be the first page of a list, by a cursor in its URL or in its body`() async throws {
    let script = ScriptedTransport { request, body in
      let isSecond = request.path?.contains("after=1") == true || body == Data(#"{"after":1}"#.utf8)
      return .json(Note(isSecond ? 2 : 1, isSecond ? "" : "1").json)
    }
    let notes = Bench(transport: script).layer.reactor(Note.self)
    let byURL = notes.pages(from: search("{}"), by: .cursor("after", next: \.text))
    let byBody = notes.pages(
      from: search("[]"),
      by: .init(next: { page, _, resource in
        var next = resource
        next.body = Data(#"{"after":\#(page.id)}"#.utf8)
        return page.text.isEmpty ? nil : next
      }))
    for list in [byURL, byBody] {
      try await list.fetch()
      #expect(try await list.loadNext())
      #expect(try await !list.loadNext())
      #expect(list.states.current.value?.map(\.id) == [1, 2])
    }
    #expect(script.requests.allSatisfy { $0.request.method == .query && $0.body != nil })
  }

  @Test func `of a form has the names and values as browsers write them`() {
    let form = Resource("search", method: .query, form: ["q": "a b&c", "ä": "*-._~\u{1}"])
    #expect(form.body == Data("q=a+b%26c&%C3%A4=*-._%7E%01".utf8))
    #expect(form.headers[.contentType] == "application/x-www-form-urlencoded")
  }
}

/// Servers that do not know QUERY.
@Suite("A QUERY that the server does not know", .timeLimit(.minutes(5)))
struct UnknownQueryTests {
  private static let refusals: [ScriptedTransport.Answer] = [
    .response(.methodNotAllowed, headers: [.allow: "GET, HEAD"]), .response(.methodNotAllowed),
    .response(.notImplemented),
  ]

  private func search(fallback: HTTPRequest.Method? = .post) throws -> Resource {
    var search = try Resource("search", method: .query, json: ["a": 1])
    search.fallbackMethod = fallback
    return search
  }

  private func bench(_ refusal: ScriptedTransport.Answer) -> Bench {
    Bench(
      transport: ScriptedTransport { request, _ in
        request.method == .query
          ? refusal : .json(Note(1, "one").json, headers: [.eTag: "\"a\"", .cacheControl: "max-age=60"])
      })
  }

  @Test(arguments: 0..<3)
  func `is sent with the fallback method, and stored as a QUERY`(index: Int) async throws {
    let bench = bench(Self.refusals[index])
    #expect(try await bench.notes.fetch(search()).text == "one")
    #expect(try await bench.notes.fetch(search()).text == "one")
    #expect(try await bench.restarted().notes.fetch(search(), policy: .cacheOnly).text == "one")
    #expect(bench.transport.requests.map(\.request.method) == [.query, .post])
    #expect(bench.transport.requests.map(\.body) == Array(repeating: Data(#"{"a":1}"#.utf8), count: 2))
    #expect(bench.log.events.contains { $0.kind.name == .methodReplaced })
  }

  @Test func `is sent with the fallback method at once for a day, without validators`() async throws {
    let bench = bench(Self.refusals[0])
    for _ in 0..<2 {
      _ = try await bench.notes.fetch(search())
      bench.clock.advance(by: .seconds(61))
    }
    bench.clock.advance(by: .seconds(86_400))
    _ = try await bench.notes.fetch(search())
    #expect(bench.transport.requests.map(\.request.method) == [.query, .post, .post, .query, .post])
    let conditional = bench.transport.requests.map { $0.request.headerFields[.ifNoneMatch] != nil }
    #expect(conditional == [false, false, false, true, false])
  }

  @Test func `is asked for again when the server refuses the fallback method too`() async throws {
    let knows = Shared(HTTPRequest.Method.post)
    let script = ScriptedTransport { request, _ in
      request.method == knows.value
        ? .json(Note(1, "one").json, headers: [.cacheControl: "max-age=0"])
        : .response(.methodNotAllowed, headers: [.allow: knows.value.rawValue])
    }
    let notes = Bench(transport: script).notes
    _ = try await notes.fetch(search())
    knows.change { $0 = .query }
    #expect(try await notes.fetchFromNetwork(search()).text == "one")
    knows.change { $0 = .delete }
    #expect(await error { try await notes.fetchFromNetwork(search()) }?.status == 405)
    #expect(script.requests.map(\.request.method) == [.query, .post, .post, .query, .query, .post])
  }

  @Test func `is sent with POST alone`() async throws {
    let bench = bench(Self.refusals[0])
    #expect(await error { try await bench.notes.fetch(search(fallback: .get)) }?.status == 405)
    #expect(bench.transport.requestCount == 1)
  }

  @Test func `is an error that says what to do, without a fallback method`() async throws {
    let bench = bench(Self.refusals[0])
    let failure = await error { try await bench.notes.fetch(search(fallback: nil)) }
    #expect(
      failure?.description == "QUERY api.example.com/v1/search: the server answered 405 with 0 bytes; the server does "
        + "not support QUERY here; it allows GET, HEAD; if its POST only reads, set the resource's fallbackMethod to .post"
    )
    #expect(bench.transport.requestCount == 1)
  }

  @Test(arguments: [400, 404, 405, 415, 422])
  func `is told from one that it has refused`(status: Int) async throws {
    let fields: HTTPFields = [.allow: "GET, QUERY"]
    let bench = bench(.response(.init(code: status), headers: fields))
    #expect(await error { try await bench.notes.fetch(search()) }?.status == status)
    #expect(bench.transport.requestCount == 1)
  }

  @Test func `in another format is an error that names the formats (3)`() async throws {
    var fields = HTTPFields()
    if let name = HTTPField.Name("Accept-Query") { fields[name] = #""application/sql", application/jsonpath"# }
    let bench = bench(.response(.unsupportedMediaType, headers: fields))
    let failure = await error { try await bench.notes.fetch(search()) }
    #expect(
      failure?.description.hasSuffix("the server takes application/sql, application/jsonpath here (Accept-Query)")
        == true)
  }
}

/// A QUERY as a real transport sends it.
@Suite("A QUERY over loopback", .timeLimit(.minutes(2)))
struct SentQueryTests {
  @Test(arguments: [301, 302, 303, 307, 308])
  func `is sent again after a redirect, and becomes a GET after a 303 (2.5)`(status: Int) async throws {
    try await MockServer.run { request in
      request.target == "/search"
        ? .status(status, fields: [("Location", "/there")]) : .text(Note(1, request.method).json)
    } body: { server in
      let layer = ModelLayer(baseURL: server.url, transport: URLSessionTransport(), persistence: MemoryPersistence())
      let search = try Resource("search", method: .query, json: ["a": 1])
      let note = try await layer.reactor(Note.self).fetch(search)
      #expect(note.text == (status == 303 ? "GET" : "QUERY"))
      let (first, last) = (server.requests.first, server.requests.last)
      #expect(first?.body == Data(#"{"a":1}"#.utf8) && first?["Content-Type"] == "application/json")
      #expect(last?.body == (status == 303 ? Data() : Data(#"{"a":1}"#.utf8)))
      #expect(last?["Content-Type"] == (status == 303 ? nil : "application/json"))
    }
  }

  @Test(arguments: [301, 302])
  func `is not answered by the GET that a redirect of its fallback method leads to`(status: Int) async throws {
    try await MockServer.run { request in
      switch (request.method, request.target) {
      case ("POST", "/search"): .status(status, fields: [("Location", "/search/")])
      case ("QUERY", _): .status(405)
      default: .text(Note(1, "all").json)
      }
    } body: { server in
      let layer = ModelLayer(baseURL: server.url, transport: URLSessionTransport(), persistence: MemoryPersistence())
      var search = try Resource("search", method: .query, json: ["a": 1])
      search.fallbackMethod = .post
      let notes = layer.reactor(Note.self)
      let query = search
      #expect(await error { try await notes.fetch(query) }?.status == status)
      #expect(notes.cached(query) == nil)
    }
  }
}
