import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The results of a bad server, a bad network and a bad disk: a precise error or a miss with an
/// event, never a crash, and no loss of a stored record. Over real HTTP and real files.
@Suite("Bad input", .timeLimit(.minutes(5)))
struct BadInputTests {
  struct Bad: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reply: MockServer.Response
    let isExpected: @Sendable (ReactorError) -> Bool

    init(
      _ name: String, _ reply: MockServer.Response, _ isExpected: @escaping @Sendable (ReactorError) -> Bool
    ) {
      testDescription = name
      self.reply = reply
      self.isExpected = isExpected
    }

    init(_ name: String, _ body: [UInt8], _ reason: ParserError.Reason, at offset: Int? = nil, path: String = "") {
      self.init(name, .status(200, body: Data(body))) { error in
        guard case .parser(let error) = error else { return false }
        return error.reason == reason && (offset == nil || error.position?.offset == offset) && error.codingPath == path
          && error.excerpt?.utf8.count ?? 0 <= 80 && !error.expected.isEmpty
      }
    }

    init(_ name: String, _ body: String, _ reason: ParserError.Reason, at offset: Int? = nil, path: String = "") {
      self.init(name, Array(body.utf8), reason, at: offset, path: path)
    }
  }

  static let deep = String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000)

  static let bodies: [Bad] = [
    Bad("not JSON", "certainly not", .notJSON, at: 0),
    Bad("HTML with status 200", "<!doctype html><p>Welcome to the hotel's network", .notJSON, at: 0),
    Bad(
      "HTML with status 200 and its type",
      .status(200, headers: [.contentType: "text/html"], body: Data("<html>Please log in, s3cret</html>".utf8))
    ) { error in
      guard case .parser(let cause) = error else { return false }
      return cause.reason == .notJSON && cause.excerpt == nil && !error.description.contains("s3cret")
        && error.description.contains("a web page (text/html), perhaps of a sign-in or of a captive portal")
    },
    Bad("truncated JSON", #"{"id":1,"text":"o"#, .notJSON, at: 17),
    Bad("nested 10,000 deep", deep, .tooDeep),
    Bad("invalid UTF-8", Array(#"{"id":1,"text":""#.utf8) + [0xff, 0xfe] + Array(#""}"#.utf8), .notJSON, at: 16),
    Bad("a NUL byte", Array(#"{"id":1,"text":""#.utf8) + [0] + Array(#""}"#.utf8), .notJSON, at: 16),
    Bad("bytes after the value", #"{"id":1,"text":"one"} and more"#, .notJSON, at: 22),
    Bad("an array where an object was expected", "[1]", .wrongType, at: 0),
    Bad("a number beyond Int64", #"{"id":9223372036854775808,"text":"one"}"#, .unacceptable, at: 6, path: "id"),
    Bad("a number beyond Double", #"{"id":1e999,"text":"one"}"#, .unacceptable, at: 6, path: "id"),
    Bad("a member missing", #"{"id":1}"#, .missing, path: "text"),
    Bad("a 200 without a body", "", .empty),
    Bad("a 204 without a body", .status(204)) {
      if case .parser(let error) = $0 { error.reason == .empty } else { false }
    },
  ]

  static let exchanges: [Bad] = [
    Bad("a body that ends early", .short(announcing: 100, body: Data("{".utf8))) { $0.isNetwork },
    Bad("a connection reset", .reset()) { $0.isNetwork },
    Bad("closed before an answer", .close) { $0.isNetwork },
    Bad("a redirect loop", .redirect(to: "/v1/note")) { $0.isNetwork },
    Bad("larger than the limit", .status(200, body: Data(repeating: 0x20, count: 40_000))) { error in
      if case .network(let cause) = error, case .responseTooLarge(32_768, let request)? = cause as? TransportError {
        request?.hasPrefix("GET 127.0.0.1") == true && request?.hasSuffix("/v1/note") == true
      } else {
        false
      }
    },
    Bad("a refusal with a body", .status(403, body: Data("no such note".utf8))) { error in
      if case .server(let response, let body) = error {
        response.status.code == 403 && body == Data("no such note".utf8)
      } else {
        false
      }
    },
  ]

  @Test(arguments: bodies + exchanges)
  func `each bad answer is a precise error, and what was stored stays`(bad: Bad) async throws {
    try await withTemporaryDirectory { directory in
      let replies = Replies([.status(200, body: Data(Note(1, "good").json.utf8)), bad.reply])
      try await MockServer.run { _ in
        replies.next()
      } body: { server async throws in
        let base = server.url.appending(path: "v1")
        let notes = Reactor<Note>(
          baseURL: base, transport: URLSessionTransport(maximumResponseSize: 32_768),
          persistence: FilePersistence(directory: directory))
        _ = try await notes.fetch("note")
        let failure = await error { try await notes.fetchFromNetwork("note") }
        #expect(failure.map(bad.isExpected) == true, "\(String(describing: failure))")
        #expect(try await notes.fetch("note").text == "good")
        let next = Reactor<Note>(baseURL: base, persistence: FilePersistence(directory: directory))
        #expect(try await next.fetch("note", policy: .cacheOnly).text == "good")
      }
    }
  }

  @Test func `the first of duplicate members is used, with an event`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(#"{"id":1,"text":"first","text":"second"}"#))
    #expect(try await bench.notes.fetch("note").text == "first")
    #expect(bench.log.kinds.count { if case .duplicateMembers(["text"]) = $0 { true } else { false } } == 1)
  }

  @Test func `an array whose elements are all bad is an error, which a good answer mends and which keeps a good value`()
    async throws
  {
    let bench = Bench()
    let bad = #"[{"id":1},{"text":"x"},3]"#
    bench.transport.answer("/v1/empty", with: .json("[]"))
    bench.transport.answer("/v1/bad", with: .json(bad), .json("[\(Note(1, "one").json)]"), .json(bad))
    let lists = bench.layer.reactor([Note].self)
    #expect(try await lists.fetch("empty").isEmpty)
    let failure = try #require(await error { try await lists.fetch("bad") })
    guard case .parser(let parserError) = failure else { return #expect(Bool(false), "\(failure)") }
    #expect(parserError.codingPath == "[0].text")
    #expect(parserError.expected.contains("none of its 3 elements could be read"))
    #expect(try await lists.fetch("bad") == [Note(1, "one")])
    #expect(await error { try await lists.fetchFromNetwork("bad") } != nil)
    #expect(try await lists.fetch("bad") == [Note(1, "one")])
    #expect(try await bench.restarted().layer.reactor([Note].self).fetch("bad", policy: .cacheOnly) == [Note(1, "one")])
    #expect(bench.log.count(.pruned) == 0)
  }

  @Test func `a model that nothing can parse is an error before a request is sent`() async throws {
    struct Neither: Sendable {}
    let bench = Bench(except: [.ownSteps])
    let reactor = bench.layer.reactor(Neither.self)
    for isRead in [true, false] {
      let failure = try #require(
        await error {
          if isRead {
            try await reactor.fetch("note")
          } else {
            try await reactor.send(Resource("note", method: .post))
          }
        })
      guard case .parser(let parserError) = failure else { return #expect(Bool(false), "\(failure)") }
      #expect(parserError.reason == .unsupported)
      #expect(parserError.expected.contains("Neither is neither Codable nor Mappable"))
    }
    #expect(bench.transport.requests.isEmpty)
  }

  @Test func `bytes, text and no content are models`() async throws {
    let bench = Bench()
    let latin = ScriptedTransport.Answer.response(
      fields: [.contentType: "text/plain; charset=iso-8859-1"], body: Data([0xE9]))
    bench.transport.answer("/v1/text", with: latin)
    bench.transport.answer("/v1/bytes", with: latin)
    bench.transport.answer("/v1/gone", with: .response(.noContent), .response(.noContent))
    #expect(try await bench.layer.reactor(String.self).fetch("text") == "é")
    #expect(try await bench.layer.reactor(Data.self).fetch("bytes") == Data([0xE9]))
    try await bench.layer.reactor(Void.self).send(Resource("gone", method: .delete))
    #expect(try await bench.layer.reactor(Note?.self).fetch("gone") == nil)
    let later = bench.restarted().layer
    #expect(try await later.reactor(String.self).fetch("text", policy: .cacheOnly) == "é")
    #expect(try await later.reactor(Data.self).fetch("bytes", policy: .cacheOnly) == Data([0xE9]))
  }

  @Test func `an event counts all pruned elements and names the first`() async throws {
    let bench = Bench()
    let bad = (0..<40).map { "\($0)" }.joined(separator: ",")
    bench.transport.answer("/v1/many", with: .json("[\(Note(1, "one").json),\(bad)]"))
    #expect(try await bench.layer.reactor([Note].self).fetch("many") == [Note(1, "one")])
    let event = try #require(bench.log.kinds.first { $0.name == .pruned })
    guard case .pruned(let elements, count: 40) = event else { return #expect(Bool(false), "\(event)") }
    #expect(elements.first?.index == 1)
    #expect(event.description.hasSuffix("; and 37 more"))
  }

  @Test func `a port without a listener is a network error, and so is a name that does not resolve`() async throws {
    let urls = ["http://127.0.0.1:\(MockServer.unusedPort)/v1", "http://does-not-exist.invalid/v1"]
    for url in urls {
      var configuration = ReactorConfiguration()
      configuration.retry = .never
      let layer = ModelLayer(
        baseURL: try #require(URL(string: url)), reachability: .always, configuration: configuration)
      let notes = layer.reactor(Note.self)
      let failure = await error { try await notes.fetch("note") }
      #expect(failure?.isNetwork == true, "\(url): \(String(describing: failure))")
    }
  }

  @Test(arguments: [
    "https://elsewhere.example/x", "//elsewhere.example/x", "../up", "a/../../up", "%2e%2E/up", "file:/x",
  ])
  func `a path that is no path below the base is refused before anything is sent`(path: String) async throws {
    let bench = Bench()
    let resource = Resource(path)
    #expect(await error { try await bench.notes.fetch(resource) }?.isInvalidResource == true)
    #expect(await error { try await bench.notes.fetch(resource, policy: .cacheOnly) }?.isInvalidResource == true)
    #expect(await error { try await bench.notes.save(Note(1, "x"), for: resource) }?.isInvalidResource == true)
    #expect(await error { try await bench.notes.remove(resource) }?.isInvalidResource == true)
    #expect(bench.notes.cached(resource) == nil)
    #expect(bench.transport.requestCount == 0)
  }

  @Test func `a header field that the transport owns, and a secret identity header, are refused`() async throws {
    let bench = Bench()
    var owned: Resource = "note"
    owned.headers[.contentLength] = "3"
    #expect(await error { try await bench.notes.fetch(owned) }?.isInvalidResource == true)
    var secret: Resource = "note"
    secret.identityHeaders = [.authorization]
    #expect(await error { try await bench.notes.fetch(secret) }?.isInvalidResource == true)
  }

  @Test func `a store that is a file fails no fetch, and says so`() async throws {
    try await withTemporaryDirectory { directory in
      try Data("a file".utf8).write(to: directory)
      let bench = Bench(persistence: FilePersistence(directory: directory))
      bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
      #expect(try await bench.notes.fetch("note").text == "one")
      #expect(bench.log.kinds.count { if case .saveFailed(.persistence) = $0 { true } else { false } } == 1)
      #expect(try Data(contentsOf: directory) == Data("a file".utf8))
      let strict = Bench(persistence: bench.persistence, transport: bench.transport) { $0.saving = .required }
      let failure = await error { try await strict.notes.fetch("note") }
      #expect(failure?.cause is FilePersistence.Failure)
    }
  }

  enum Damage: CaseIterable, Sendable { case half, nothing, garbage }

  @Test(arguments: Damage.allCases)
  func `a damaged record is a miss with an event, and others are untouched`(damage: Damage) async throws {
    try await withTemporaryDirectory { directory in
      let bench = Bench(persistence: FilePersistence(directory: directory))
      bench.transport.answer("/v1/a", with: .json(Note(1, "a").json), .json(Note(1, "a again").json))
      bench.transport.answer("/v1/b", with: .json(Note(2, "b").json))
      _ = try await bench.notes.fetch("a")
      let before = files(in: directory, suffix: ".record")
      _ = try await bench.notes.fetch("b")
      let record = try #require(before.first)
      let bytes = try Data(contentsOf: record)
      switch damage {
      case .half: try bytes.prefix(bytes.count / 2).write(to: record)
      case .nothing: try Data().write(to: record)
      case .garbage: try Data(bytes.map { $0 ^ 0x5a }).write(to: record)
      }
      let next = bench.restarted()
      #expect(try await next.notes.fetch("a").text == "a again")
      #expect(next.log.kinds.count { if case .loadFailed(.persistence) = $0 { true } else { false } } == 1)
      #expect(try await next.notes.fetch("b").text == "b")
      #expect(try await bench.restarted().notes.fetch("a", policy: .cacheOnly).text == "a again")
    }
  }

  @Test func `a model that is neither Codable nor Mappable is said to be so`() async throws {
    struct Opaque: Sendable {}
    let bench = Bench(except: [.ownSteps])
    bench.transport.answer("/v1/note", with: .json("{}"))
    let failure = await error { try await bench.layer.reactor(Opaque.self).fetch("note") }
    #expect((failure?.cause as? ParserError)?.reason == .unsupported)
  }
}

/// Replies in their order, the last one for good.
private final class Replies: Sendable {
  private let replies: [MockServer.Response]
  private let tick = Tick()

  init(_ replies: [MockServer.Response]) { self.replies = replies }

  func next() -> MockServer.Response { replies[min(tick.next(), replies.count) - 1] }
}

extension ReactorError {
  fileprivate var isNetwork: Bool { if case .network = self { true } else { false } }

  fileprivate var cause: (any Error)? {
    switch self {
    case .persistence(let error), .network(let error): error
    case .parser(let error): error
    default: nil
    }
  }
}
