import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// The parts of a response beside the body.
@Suite("The response of a model", .timeLimit(.minutes(5))) struct ModelResponseTests {
  private let bench = Bench()

  private func answer(_ path: String, _ note: Note, headers: HTTPFields) {
    bench.transport.answer(path, with: .json(note.json, headers: headers))
  }

  private static func link(_ value: String) throws -> HTTPFields { [try #require(HTTPField.Name("Link")): value] }

  @Test func `the response of a model has the header fields from network, memory and disk`() async throws {
    let limit = try #require(HTTPField.Name("X-RateLimit-Remaining"))
    answer(
      "/v1/note", Note(1, "one"),
      headers: [limit: "42", .cacheControl: "max-age=60", .age: "10", .setCookie: "session=secret"])
    var response = try await bench.notes.fetchResponse("note")
    #expect(response.model == Note(1, "one"))
    #expect(response.origin == .network)
    #expect(response.age == .seconds(10))
    bench.clock.advance(by: .seconds(5))
    let expected: [(Origin, Duration)] = [(.memory, .seconds(15)), (.persistence, .seconds(20))]
    for (index, (origin, age)) in expected.enumerated() {
      let notes = index == 0 ? bench.notes : bench.restarted().notes
      response = try await notes.fetchResponse("note")
      #expect(response.model == Note(1, "one"))
      #expect(response.origin == origin)
      #expect(response.age == age)
      #expect(response.status == .ok)
      #expect(response.headers[limit] == "42")
      #expect(response.headers[.setCookie] == nil)
      #expect(!response.isStale)
      bench.clock.advance(by: .seconds(5))
    }
    bench.clock.advance(by: .seconds(60))
    #expect(try await bench.notes.fetchResponse("note", policy: .cacheOnly).isStale)
    #expect(bench.transport.requests.count == 1)
  }

  @Test func `the response of a model has the header fields that a 304 has renewed`() async throws {
    let name = try #require(HTTPField.Name("X-Page"))
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json, headers: [.eTag: "\"1\"", name: "old"]),
      .response(.notModified, headers: [.eTag: "\"1\"", name: "new"]))
    #expect(try await bench.notes.fetchResponse("note").headers[name] == "old")
    bench.clock.advance(by: .seconds(400))
    let response = try await bench.notes.fetchResponse("note")
    #expect(response.headers[name] == "new")
    #expect(response.status == .ok)
    #expect(response.origin == .network)
  }

  @Test func `the response to a write has its status and its header fields`() async throws {
    bench.transport.answer(
      "/v1/notes", with: .json(Note(7, "new").json, status: .created, headers: [.location: "/v1/notes/7"]))
    let response = try await bench.notes.sendResponse(Resource("notes", method: .post, json: Note(0, "new")))
    #expect(response.status == .created)
    #expect(response.headers[.location] == "/v1/notes/7")
    #expect(response.origin == .network)
  }

  @Test func `the response of a local write has neither a status nor header fields`() async throws {
    try await bench.notes.save(Note(1, "mine"), for: "note")
    for notes in [bench.notes, bench.restarted().notes] {
      let response = try await notes.fetchResponse("note")
      #expect(response.status == nil)
      #expect(response.headers.isEmpty && response.links.isEmpty)
      #expect(try response.link(rel: "next") == nil)
    }
  }

  @Test func `the response of a model joins the flight of a fetch`() async throws {
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json, headers: [.server: "x"]).held(at: gate))
    let notes = bench.notes
    let fetch = Task { try await notes.fetch("note") }
    try await gate.waitForArrival()
    let response = Task { try await notes.fetchResponse("note").headers[.server] }
    gate.open()
    #expect(try await fetch.value.id == 1)
    #expect(try await response.value == "x")
    #expect(bench.transport.requests.count == 1)
  }

  @Test(arguments: [
    "https://api.example.com/v1/notes?page=2", "/v1/notes?page=2", "?page=2", "notes?page=2",
    "//api.example.com/v1/notes?page=2",
    "HTTPS://API.example.com:443/v1/x/../notes?page=2#top",
  ])
  func `the response of a model leads to the next page, however its target is written`(target: String) async throws {
    answer("/v1/notes?page=1", Note(1, "one"), headers: try Self.link("<\(target)>; rel=\"next\""))
    answer("/v1/notes?page=2", Note(2, "two"), headers: [:])
    var first = Resource("notes", query: ["page": "1"], headers: [.acceptLanguage: "de"])
    first.freshFor = .seconds(7)
    let page = try await bench.notes.fetchResponse(first)
    let next = try #require(try page.link(rel: "Next"))
    let second = try await bench.notes.fetchResponse(next)
    #expect(second.model.id == 2)
    #expect(try second.link(rel: "next") == nil)
    #expect(bench.transport.requests.last?.request.headerFields[.acceptLanguage] == "de")
    #expect(next.freshFor == .seconds(7))
    // One record and one key, however the page is asked for.
    #expect(try await bench.notes.fetch(Resource("notes", query: ["page": "2"]), policy: .cacheOnly).id == 2)
  }

  @Test func `the response of a model leads out of the path of the base URL, from disk too`() async throws {
    answer("/v1/notes", Note(1, "one"), headers: try Self.link("</other/notes?page=2>; rel=next"))
    answer("/other/notes?page=2", Note(2, "two"), headers: [:])
    _ = try await bench.notes.fetch("notes")
    let restarted = bench.restarted()
    let next = try #require(try await restarted.notes.fetchResponse("notes", policy: .cacheOnly).link(rel: "next"))
    #expect(try await restarted.notes.fetch(next).id == 2)
  }

  @Test func `the response of a model leads nowhere with an anchor, or another relation`() async throws {
    answer(
      "/v1/notes", Note(1, "one"),
      headers: try Self.link("</a>; rel=next; anchor=\"#x\", </b>; rel=\"last next\", </c>; rel=prev"))
    let page = try await bench.notes.fetchResponse("notes")
    #expect(try page.link(rel: "next")?.path == "https://api.example.com/b")
    #expect(try page.link(rel: "up") == nil)
    #expect(page.links.map(\.target) == ["/a", "/b", "/c"])
  }

  @Test(arguments: [
    "https://evil.example/v1/notes", "http://api.example.com/v1/notes", "https://api.example.com:8443/v1/notes",
    "//evil.example/v1", "https://api.example.com.evil.example/",
  ])
  func `the response of a model leads to no other origin`(target: String) async throws {
    answer("/v1/notes", Note(1, "one"), headers: try Self.link("<\(target)>; rel=next"))
    let page = try await bench.notes.fetchResponse("notes")
    for resource in [{ try page.link(rel: "next") }, { Resource(link: target) }] as [() throws -> Resource?] {
      let failure = await error {
        guard let next = try resource() else { return }
        _ = try await bench.notes.fetch(next)
      }
      #expect(failure?.isInvalidResource == true, "\(String(describing: failure))")
    }
    #expect(bench.transport.requests.count == 1)
  }

  @Test func `the response of a model says why a link with a secret in its query cannot be followed`() async throws {
    answer("/v1/notes", Note(1, "one"), headers: try Self.link("</v1/notes?token=c0ffee>; rel=next"))
    let page = try await bench.notes.fetchResponse("notes")
    let failure = await error { try page.link(rel: "next") }
    #expect("\(failure ?? .cancelled)".contains("query item token is a secret query item"))
    #expect(!page.headers.contains { $0.value.contains("c0ffee") })
  }

  @Test func `a fetch of a link follows the same cache rules as any other`() async throws {
    bench.transport.answer("/v1/a", with: .json(Note(1, "one").json))
    #expect(try await bench.notes.fetch(Resource(link: "/v1/a")).id == 1)
    #expect(try await bench.notes.fetch("a").id == 1)
    #expect(bench.transport.requests.count == 1)
    for target in [
      "", "a", "?page=2", "//api.example.com/a", "https://ada:secret@api.example.com/a", "/../a", "mailto:a",
    ] {
      let failure = await error { try await bench.notes.fetch(Resource(link: target)) }
      #expect(failure?.isInvalidResource == true, "\(target)")
      #expect(!"\(failure ?? .cancelled)".contains("secret"))
    }
    #expect("\(Resource(link: "/a?token=1"))" == "GET /a")
  }
}
