import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// The field `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10).
@Suite("A limit of requests", .timeLimit(.minutes(5)))
struct RateLimitTests {
  private static func fields(_ limit: String, _ others: HTTPFields = [:]) -> HTTPFields {
    var fields = others
    if let name = HTTPField.Name("RateLimit") { fields[name] = limit }
    return fields
  }

  @Test func `RateLimit is read from a response, in the syntax of draft 10 and of draft 07`() async throws {
    let bench = Bench()
    func limits(_ text: String) async throws -> [Resource.RateLimit] {
      bench.transport.answer("/v1/note", with: .json(Note(1, "one").json, headers: Self.fields(text)))
      return try await bench.notes.fetchResponse("note", policy: .networkOnly).rateLimits
    }
    let limit = try await limits(#""burst";r=7;t=30, "day";r=0"#)
    #expect(limit.map(\.policy) == ["burst", "day"] && limit.map(\.remaining) == [7, 0])
    #expect(limit.map(\.resetsAfter) == [.seconds(30), nil])
    let older = try await limits("limit=10, remaining=2, reset=5")
    #expect(older.map(\.remaining) == [2] && older.map(\.resetsAfter) == [.seconds(5)])
    for text in [#""m";r=-1"#, "m;r=0", "r=0", #""m";r=0;t=1, "#, #""m";r=1.5"#, #""m";r=0;qu="content-bytes""#] {
      #expect(try await limits(text).isEmpty, "\(text)")
    }
  }

  /// Expects a wait before the retry of a 429 with these fields; with `nil`, that there is no
  /// retry.
  private func expect(_ expected: Duration?, after fields: HTTPFields, follows: Bool = true) async throws {
    let bench = Bench {
      $0.retry = RetryPolicy(attempts: 2, firstDelay: .zero)
      $0.retry.followsRateLimit = follows
    }
    bench.transport.answer(
      "/v1/note", with: .response(.tooManyRequests, headers: fields), .json(Note(1, "one").json))
    guard let expected else {
      let failure = await error { try await bench.notes.fetch("note") }
      #expect(failure?.status == 429 && bench.transport.requestCount == 1)
      return
    }
    async let note = bench.notes.fetch("note")
    try await bench.log.wait(for: .retry)
    let delays = bench.log.events.compactMap { event -> Duration? in
      if case .retry(_, let delay, _) = event.kind { delay } else { nil }
    }
    #expect(delays == [expected])
    if expected > .zero { try await bench.clock.waitForSleepers() }
    bench.clock.advance(by: expected)
    _ = try await note
  }

  @Test func `a retry waits until all used-up limits are reset, for a minute at most`() async throws {
    let limit = Self.fields(#""a";r=0;t=9, "b";r=0;t=40"#)
    try await expect(.seconds(40), after: limit)
    try await expect(.zero, after: limit, follows: false)
    try await expect(.zero, after: Self.fields(#""a";r=7;t=40"#))
    try await expect(nil, after: Self.fields(#""m";r=0;t=999999"#))
    try await expect(.seconds(5), after: Self.fields(#""m";r=0;t=30"#, [.retryAfter: "5"]))
    try await expect(.zero, after: Self.fields(#""m";r=0;t=30"#, [.age: "3"]))
  }

  @Test func `a 503 is retried although its rate limit resets after more than a minute`() async throws {
    let bench = Bench { $0.retry = RetryPolicy(attempts: 2, firstDelay: .zero) }
    bench.transport.answer(
      "/v1/note", with: .response(.serviceUnavailable, headers: Self.fields(#""day";r=0;t=80000"#)),
      .json(Note(1, "one").json))
    #expect(try await bench.notes.fetch("note").id == 1)
  }

  @Test func `a rate limit is gone after a 304 without it, and delays no later stream`() async throws {
    let bench = Bench { $0.retry.seed = 1 }
    let validated: HTTPFields = [.eTag: "\"a\"", .cacheControl: "max-age=3600"]
    bench.transport.answer(
      "/v1/note",
      with: .json(Note(1, "one").json, headers: Self.fields(#""m";r=0;t=30"#, validated)),
      .response(.notModified, headers: validated))
    #expect(try await bench.notes.fetchResponse("note").rateLimits.count == 1)
    bench.clock.advance(by: .seconds(1_000))
    var states = bench.notes.states(for: "note", polling: .seconds(5)).makeAsyncIterator()
    _ = await states.first { $0.fetchStatus == .idle }
    for count in 2...4 {
      try await bench.clock.waitForSleepers()
      bench.clock.advance(by: .seconds(5))
      try await bench.transport.waitForRequests(count: count)
      try await bench.transport.waitUntilIdle()
    }
    #expect(try await bench.notes.fetchResponse("note").rateLimits.isEmpty)
  }

  @Test func `a rate limit delays a poll, and no fetch`() async throws {
    let bench = Bench { $0.retry.seed = 1 }
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json, headers: Self.fields(#""m";r=0;t=30"#)),
      .json(Note(2, "two").json, headers: Self.fields(#""m";r=1;t=30"#)), .json(Note(3, "three").json))
    var states = bench.notes.states(for: "note", polling: .seconds(1)).makeAsyncIterator()
    _ = await states.first { $0.value?.id == 1 && $0.fetchStatus == .idle }
    bench.clock.advance(by: .seconds(29))
    #expect(bench.transport.requestCount == 1)
    bench.clock.advance(by: .seconds(1))
    _ = await states.first { $0.value?.id == 2 && $0.fetchStatus == .idle }
    // The second response leaves one request.
    bench.clock.advance(by: .seconds(1))
    _ = await states.first { $0.value?.id == 3 && $0.fetchStatus == .idle }
    let other = Bench()
    other.transport.answer("/v1/note", with: .json(Note(1, "one").json, headers: Self.fields(#""m";r=0;t=30"#)))
    for _ in 0..<2 { _ = try await other.notes.fetchFromNetwork("note") }
    #expect(other.transport.requestCount == 2)
  }
}

/// The fields `Deprecation` (RFC 9745) and `Sunset` (RFC 8594).
@Suite("A notice of deprecation", .timeLimit(.minutes(5)))
struct DeprecationTests {
  private func notices(_ fields: [(String, String)], fetches: Int = 1) async throws -> [ReactorEvent.Deprecation] {
    let bench = Bench()
    var headers = HTTPFields()
    for (name, value) in fields {
      if let name = HTTPField.Name(name) { headers.append(HTTPField(name: name, value: value)) }
    }
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json, headers: headers))
    for _ in 0..<fetches { _ = try await bench.notes.fetchFromNetwork("note") }
    await bench.layer.flushEvents()
    return bench.log.events.compactMap { if case .deprecated(let notice) = $0.kind { notice } else { nil } }
  }

  private let sunset = ("Sunset", "Sun, 06 Nov 1994 08:49:37 GMT")

  @Test func `a deprecation notice is an event, with its dates and links`() async throws {
    let link = #"</v2/note>; rel="successor-version", </why?token=x>; rel="deprecation""#
    let notice = try await notices([("Deprecation", "@1688169600"), sunset, ("Link", link)]).first
    #expect(notice?.date == Date(timeIntervalSince1970: 1_688_169_600))
    #expect(notice?.sunset == Date(timeIntervalSince1970: 784_111_777))
    #expect(notice?.successor == "/v2/note" && notice?.page == "/why")
    #expect(
      notice?.description == "deprecated from Sat, 01 Jul 2023 00:00:00 GMT, no answers after "
        + "Sun, 06 Nov 1994 08:49:37 GMT, use /v2/note, see /why")
  }

  @Test func `a deprecation is read in the syntax of older drafts, and a sunset is one by itself`() async throws {
    #expect(try await notices([("Deprecation", "true")]).first?.date == nil)
    #expect(try await notices([("Deprecation", "true")]).count == 1)
    #expect(try await notices([("Deprecation", sunset.1)]).first?.date == Date(timeIntervalSince1970: 784_111_777))
    #expect(try await notices([sunset]).first?.sunset != nil)
    #expect(try await notices([("Deprecation", #""x""#)]).isEmpty)
    #expect(try await notices([]).isEmpty)
  }

  @Test func `a deprecation notice is reported once`() async throws {
    #expect(try await notices([("Deprecation", "@1"), sunset], fetches: 3).count == 1)
  }

  @Test func `a deprecation event shows no query, fragment, user or password of a link`() async throws {
    let link = #"<https://ada:c4nary@example.com/a#access_token=c4nary>; rel="sunset""#
    let notice = try #require(try await notices([sunset, ("Link", link)]).first)
    #expect(!"\(notice)".contains("c4nary") && notice.page?.contains("example.com/a") == true)
    #expect(notice.description.hasPrefix("no answers after Sun, 06 Nov 1994 08:49:37 GMT, see "))
  }
}
