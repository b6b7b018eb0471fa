import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// The rules of HTTP in the flow of models.
@Suite("Models under the rules of HTTP", .timeLimit(.minutes(5)))
struct CachingSemanticsTests {
  private struct Title: Codable, Sendable { var text: String }

  private static func key(_ path: String) -> RecordKey {
    RecordKey(method: .get, url: "https://api.example.com/v1/\(path)")
  }

  @Test(arguments: ["max-age=0, must-revalidate", "no-cache", "max-age=0"])
  func `two types that watch one URL ask once, however short its life`(cacheControl: String) async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json, fields: [.cacheControl: cacheControl]))
    var titles = bench.layer.reactor(Title.self).states(for: "note", policy: .cacheFirst).makeAsyncIterator()
    #expect(await titles.first { $0.value?.text == "one" && $0.fetchStatus == .idle } != nil)
    bench.clock.advance(by: .seconds(1))
    bench.transport.answer("/v1/note", with: .json(Note(1, "two").json, fields: [.cacheControl: cacheControl]))
    var notes = bench.notes.states(for: "note", policy: .cacheFirst).makeAsyncIterator()
    #expect(await notes.first { $0.value?.text == "two" && $0.fetchStatus == .idle } != nil)
    #expect(await titles.first { $0.value?.text == "two" && $0.fetchStatus == .idle } != nil)
    try await bench.transport.waitUntilIdle()
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `an error that another program has stored is no model`() async throws {
    let bench = Bench()
    let key = Self.key("note")
    let now = bench.clock.wallClock()
    let head = Record.Head(
      identity: key.identity, status: .notFound, fields: [.cacheControl: "max-age=60"], requestedAt: now,
      receivedAt: now)
    try await bench.persistence?.save(Record(head: head, body: Data(Note(1, "error").json.utf8)), for: key)
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    #expect(try await bench.notes.fetch("note").text == "one")
    await #expect(throws: ReactorError.self) {
      _ = try await Bench(persistence: bench.persistence, clock: bench.clock).notes.fetch("other", policy: .cacheOnly)
    }
  }

  @Test(arguments: [HTTPField.Name.range, .ifRange])
  func `a part of a resource cannot be requested`(name: HTTPField.Name) async throws {
    let bench = Bench()
    await #expect { _ = try await bench.notes.fetch(Resource("note", headers: [name: "bytes=0-1"])) } throws: {
      guard case ReactorError.invalidResource = $0 else { return false }
      return true
    }
    #expect(bench.transport.requestCount == 0)
  }

  @Test func `a part that comes all the same is an error, and what is stored stays`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    _ = try await bench.notes.fetch("note")
    bench.transport.answer("/v1/note", with: .json(Note(1, "part").json, status: .partialContent))
    await #expect(throws: ReactorError.self) { _ = try await bench.notes.fetchFromNetwork("note") }
    #expect(try await bench.restarted().notes.fetch("note", policy: .cacheOnly).text == "one")
  }

  @Test func `a response to a request with no-store is not kept`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json, fields: [.cacheControl: "max-age=60"]))
    let secret = Resource("note", headers: [.cacheControl: "no-store"])
    #expect(try await bench.notes.fetch(secret).text == "one")
    #expect(bench.notes.cached(secret) == nil)
    #expect(try await bench.persistence?.entries(in: nil, url: nil).isEmpty == true)
  }

  @Test func `a stored value stays when it is requested once with no-store`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json, fields: [.cacheControl: "max-age=60"]))
    _ = try await bench.notes.fetch("note")
    _ = try await bench.notes.fetchFromNetwork(Resource("note", headers: [.cacheControl: "no-store"]))
    #expect(try await bench.restarted().notes.fetch("note", policy: .cacheOnly).text == "one")
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `a 304 of another version is requested again, without validators`() async throws {
    let bench = Bench()
    let fields: HTTPFields = [.cacheControl: "max-age=0", .eTag: "\"1\""]
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json, fields: fields), .response(.notModified, fields: [.eTag: "\"2\""]),
      .json(Note(1, "two").json, fields: [.cacheControl: "max-age=60", .eTag: "\"2\""]))
    #expect(try await bench.notes.fetch("note").text == "one")
    bench.clock.advance(by: .seconds(1))
    #expect(try await bench.notes.fetch("note").text == "two")
    let sent = bench.transport.requests.map(\.request.headerFields[.ifNoneMatch])
    #expect(sent == [nil, "\"1\"", nil])
    #expect(try await bench.restarted().notes.fetch("note", policy: .cacheOnly).text == "two")
  }

  @Test(arguments: [HTTPResponse.Status.seeOther, .created])
  func `resources that an unsafe method's response names are requested again`(status: HTTPResponse.Status) async throws
  {
    let bench = Bench()
    for path in ["note", "list", "other"] {
      bench.transport.answer("/v1/\(path)", with: .json(Note(1, path).json))
      _ = try await bench.notes.fetch(Resource(path))
    }
    bench.transport.answer(
      "/v1/note",
      with: .json(Note(1, "new").json, status: status, fields: [.location: "list", .contentLocation: "/v1/note"]))
    _ = try? await bench.notes.send(Resource("note", method: .post))
    let requests = bench.transport.requestCount
    for path in ["note", "list", "other"] {
      bench.transport.answer("/v1/\(path)", with: .json(Note(1, "anew").json))
    }
    #expect(try await bench.notes.fetch("note").text == "anew")
    #expect(try await bench.notes.fetch("list").text == "anew")
    #expect(try await bench.notes.fetch("other").text == "other")
    #expect(bench.transport.requestCount == requests + 2)
  }

  @Test func `an invalidated value is not shown within the server's window`() async throws {
    let bench = Bench()
    let fields: HTTPFields = [.cacheControl: "max-age=60, stale-while-revalidate=600"]
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json, fields: fields))
    _ = try await bench.notes.fetch("note")
    bench.transport.answer("/v1/note", with: .json(Note(1, "two").json, fields: fields))
    await bench.notes.invalidate("note")
    bench.clock.advance(by: .seconds(1))
    #expect(try await bench.notes.fetch("note").text == "two")
  }

  @Test func `variants of one URL are each requested once`() async throws {
    let bench = Bench()
    let fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept-Language"]
    func resource(_ language: String) -> Resource { Resource("note", headers: [.acceptLanguage: language]) }
    for language in ["de", "fr"] {
      bench.transport.answer("/v1/note", with: .json(Note(1, language).json, fields: fields))
      #expect(try await bench.notes.fetch(resource(language)).text == language)
    }
    let again = bench.restarted()
    for language in ["de", "fr"] { #expect(try await again.notes.fetch(resource(language)).text == language) }
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `secret query items are in no field that is stored`() async throws {
    let bench = Bench()
    let link = try #require(HTTPField.Name("Link"))
    let fields: HTTPFields = [
      .contentLocation: "/v1/note?token=s3cret", link: "</v1/note?page=2&api_key=s3cret>; rel=\"next\"", .eTag: "\"1\"",
      .cacheControl: "max-age=0",
    ]
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json, fields: fields), .response(.notModified, fields: fields))
    for _ in 0..<2 {
      _ = try await bench.notes.fetch("note")
      let stored = try await bench.persistence?.load(Self.key("note"))?.head.fields
      #expect(stored?[link]?.hasPrefix("</v1/note?page=2&api_key=hmac-") == true)
      #expect(stored?[.contentLocation]?.hasPrefix("/v1/note?token=hmac-") == true)
      #expect("\(String(describing: stored))".contains("s3cret") == false)
    }
    #expect(bench.transport.requests.last?.request.headerFields[.ifNoneMatch] == "\"1\"")
  }

  @Test func `a resource that a change's response names with a secret is requested again`() async throws {
    let bench = Bench()
    let list = Resource("list", query: ["token": "s3cret"])
    bench.transport.answer("/v1/list", with: .json(Note(1, "list").json))
    _ = try await bench.notes.fetch(list)
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "new").json, status: .created, fields: [.location: "list?token=s3cret"]))
    _ = try await bench.notes.send(Resource("note", method: .post))
    bench.transport.answer("/v1/list", with: .json(Note(1, "anew").json))
    #expect(try await bench.notes.fetch(list).text == "anew")
  }
}
