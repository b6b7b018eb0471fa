import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// Stored responses whose validators do not help: the server refuses them, or the stored body
/// cannot be used.
@Suite("Validators of a stored response", .timeLimit(.minutes(5)))
struct RefusedValidatorTests {
  private struct Dated: Codable, Sendable, Equatable {
    var id: Int
    var text: String
    var date: String
  }

  private static let tag: HTTPFields = [.eTag: "\"1\"", .cacheControl: "max-age=0"]

  /// Answers `refusal` to each request with validators, and the note to each without.
  private func bench(_ refusal: HTTPResponse.Status, persistence: (any Persistence)? = MemoryPersistence()) -> Bench {
    Bench(
      persistence: persistence,
      transport: ScriptedTransport { request, _ in
        request.headerFields[.ifNoneMatch] == nil
          ? .json(Note(1, "one").json, headers: Self.tag) : .response(refusal)
      })
  }

  @Test(arguments: [HTTPResponse.Status.badRequest, .forbidden, .preconditionFailed])
  func `a server that refuses them is asked once without them`(refusal: HTTPResponse.Status) async throws {
    let bench = bench(refusal)
    _ = try await bench.notes.fetch("note")
    for policy in [FetchPolicy.cacheFirst, .networkFirst, .networkOnly] {
      bench.clock.advance(by: .seconds(1))
      #expect(try await bench.notes.fetch("note", policy: policy).text == "one")
    }
    #expect(try await bench.restarted().notes.fetch("note", policy: .networkOnly).text == "one")
    let conditional = bench.transport.requests.map { $0.request.headerFields[.ifNoneMatch] != nil }
    #expect(conditional == [false] + [true, false, true, false, true, false, true, false])
  }

  @Test func `a stream becomes fresh behind a server that refuses them`() async throws {
    let bench = bench(.badRequest)
    _ = try await bench.notes.fetch("note")
    bench.clock.advance(by: .seconds(1))
    var states = bench.notes.states(for: "note").makeAsyncIterator()
    let state = await states.first { $0.fetchStatus == .idle && $0.origin == .network }
    #expect(state?.value?.text == "one" && state?.error == nil)
  }

  @Test func `the second refusal is the answer`() async throws {
    let bench = bench(.badRequest)
    _ = try await bench.notes.fetch("note")
    bench.transport.answer("/v1/note", with: .response(.badRequest))
    #expect(await error { try await bench.notes.fetchFromNetwork("note") }?.status == 400)
    #expect(bench.transport.requestCount == 3)
  }

  @Test(arguments: [HTTPResponse.Status.unauthorized, .notFound, .gone, .tooManyRequests])
  func `an answer about something else is not requested twice`(status: HTTPResponse.Status) async throws {
    let bench = bench(status)
    _ = try await bench.notes.fetch("note")
    #expect(await error { try await bench.notes.fetchFromNetwork("note") }?.status == status.code)
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `conditions of the program itself stay`() async throws {
    let bench = bench(.badRequest)
    let own = Resource("note", headers: [.ifNoneMatch: "\"0\""])
    #expect(await error { try await bench.notes.fetchFromNetwork(own) }?.status == 400)
    #expect(bench.transport.requestCount == 1)
  }

  @Test(arguments: [FetchPolicy.networkFirst, .networkOnly, .cacheFirst, .staleWhileRevalidate])
  func `a body that a new release cannot parse lends none`(policy: FetchPolicy) async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json, headers: Self.tag))
    _ = try await bench.notes.fetch("note")
    // The member that is new in the model is in the server's answer by now.
    let script = ScriptedTransport { request, _ in
      request.headerFields[.ifNoneMatch] == "\"1\""
        ? .response(.notModified, headers: Self.tag)
        : .json(#"{"id":1,"text":"one","date":"today"}"#, headers: Self.tag)
    }
    let dated = Bench(persistence: bench.persistence, clock: bench.clock, transport: script).layer.reactor(Dated.self)
    #expect(try await dated.fetch("note", policy: policy) == Dated(id: 1, text: "one", date: "today"))
    let requests = script.requestCount
    #expect(try await dated.fetch("note", policy: .networkOnly).date == "today")
    #expect(script.requestCount == requests + 1)
  }

  @Test func `a stream under networkOnly gets past a body that cannot be parsed`() async throws {
    let persistence = MemoryPersistence()
    let old = Bench(persistence: persistence)
    old.transport.answer("/v1/note", with: .json(Note(1, "one").json, headers: Self.tag))
    _ = try await old.notes.fetch("note")
    let bench = Bench(
      persistence: persistence, clock: old.clock,
      transport: ScriptedTransport { request, _ in
        request.headerFields[.ifNoneMatch] == nil
          ? .json(#"{"id":1,"text":"one","date":"today"}"#) : .response(.notModified, headers: Self.tag)
      })
    var states = bench.layer.reactor(Dated.self).states(for: "note", policy: .networkOnly).makeAsyncIterator()
    let state = await states.first { $0.fetchStatus == .idle }
    #expect(state?.value?.date == "today" && state?.error == nil)
  }

  @Test func `a body that the server itself sends wrong is an error after one more request`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json, headers: Self.tag))
    _ = try await bench.notes.fetch("note")
    let script = ScriptedTransport { request, _ in
      request.headerFields[.ifNoneMatch] == nil
        ? .json("no JSON", headers: Self.tag) : .response(.notModified, headers: Self.tag)
    }
    let dated = Bench(persistence: bench.persistence, clock: bench.clock, transport: script).layer.reactor(Dated.self)
    guard case .parser? = await error({ try await dated.fetch("note", policy: .networkOnly) }) else {
      Issue.record("it is not an error of the parser")
      return
    }
    #expect(script.requestCount == 2)
  }

  @Test func `a 304 with another charset does not change how the stored text is read`() async throws {
    let latin: HTTPFields = [
      .contentType: "text/plain; charset=iso-8859-1", .eTag: "\"1\"", .cacheControl: "max-age=0",
    ]
    let utf: HTTPFields = [.contentType: "text/plain; charset=utf-8", .eTag: "\"1\"", .cacheControl: "max-age=0"]
    let bench = Bench()
    bench.transport.answer(
      "/v1/text", with: .response(headers: latin, body: Data([0x63, 0x61, 0x66, 0xE9])),
      .response(.notModified, headers: utf))
    let texts = bench.layer.reactor(String.self)
    #expect(try await texts.fetch("text") == "café")
    #expect(try await texts.fetch("text", policy: .networkOnly) == "café")
    #expect(try await bench.restarted().layer.reactor(String.self).fetch("text", policy: .cacheOnly) == "café")
  }
}
