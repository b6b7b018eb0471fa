import Foundation
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// A server that is down: ``ReactorConfiguration/remembersOutages``.
@Suite("A server that is down", .timeLimit(.minutes(5)))
struct OutageTests {
  private static let refused = ScriptedTransport.Answer.failure(TransportError.notConnected("refused"))

  /// Two notes that are stale by now, and a server that refuses connections.
  private func bench(retry: RetryPolicy = .never) async throws -> Bench {
    let bench = Bench {
      $0.freshFor = .seconds(60)
      $0.staleIfError = .seconds(3_600)
      $0.remembersOutages = true
      $0.retry = retry
    }
    for path in ["note", "other"] {
      bench.transport.answer("/v1/\(path)", with: .json(Note(1, path).json))
      _ = try await bench.notes.fetch(Resource("\(path)"))
    }
    bench.clock.advance(by: .seconds(60))
    for path in ["note", "other", "new"] { bench.transport.answer("/v1/\(path)", with: Self.refused) }
    return bench
  }

  @Test(arguments: [FetchPolicy.cacheFirst, .networkFirst])
  func `after the first failure, everybody gets the stale value at once, without a request`(
    policy: FetchPolicy
  ) async throws {
    let bench = try await bench()
    for _ in 0..<100 {
      #expect(try await bench.notes.fetch("note", policy: policy).text == "note")
      #expect(try await bench.notes.fetch("other", policy: policy).text == "other")
    }
    #expect(bench.transport.requestCount == 3)
    #expect(bench.log.count(.outageBegan) == 1)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `an error of a request that was not sent names that request, and the one that failed`() async throws {
    let bench = try await bench()
    let first = await #expect(throws: ReactorError.self) { try await bench.notes.fetch("note", policy: .networkOnly) }
    #expect(first?.description.hasPrefix("GET api.example.com/v1/note: no connection was made") == true)
    for _ in 0..<2 {
      let error = await #expect(throws: ReactorError.self) { try await bench.notes.fetch("new?token=s3cret") }
      #expect(error?.request == "GET api.example.com/v1/new")
      #expect(
        error?.description
          == "GET api.example.com/v1/new (not sent, since GET api.example.com/v1/note failed): "
          + "no connection was made: refused; check the base URL, and that the server runs")
    }
    #expect(bench.transport.requestCount == 3)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `one request at a time checks whether the server is back, in the background and without retries`()
    async throws
  {
    let bench = try await bench()
    _ = try await bench.notes.fetch("note")
    for (number, wait) in [1, 2, 4].enumerated() {
      bench.clock.advance(by: .seconds(wait))
      for _ in 0..<10 { #expect(try await bench.notes.fetch("other").text == "other") }
      try await bench.log.wait(for: .failed, count: number + 2)
      #expect(bench.transport.requestCount == number + 4)
    }
    bench.transport.answer("/v1/note", with: .json(Note(1, "back").json))
    bench.clock.advance(by: .seconds(8))
    #expect(try await bench.notes.fetch("note").text == "note")
    try await bench.log.wait(for: .outageEnded)
    try await bench.log.wait(for: .saved, count: 3)
    #expect(try await bench.notes.fetch("note").text == "back")
    bench.transport.answer("/v1/other", with: .json(Note(1, "back too").json))
    #expect(try await bench.notes.fetch("other").text == "back too")
    try await bench.waitUntilNothingWaits()
  }

  @Test func `streams that were refused in an outage fetch by themselves once the server is back`() async throws {
    let bench = try await bench()
    let notes = bench.notes
    let seen = Shared<[String]>([])
    let stream = Task {
      for await state in notes.states(for: "other") {
        if let text = state.value?.text { seen.change { $0.append(text) } }
        if state.value?.text == "back" { return }
      }
    }
    // The first request begins the outage, so that an invalidation of the other is refused.
    _ = try await notes.fetch("note")
    await notes.invalidate("other")
    try await bench.log.wait(for: .failedInOutage)
    bench.transport.answer("/v1/note", with: .json(Note(1, "note").json))
    bench.transport.answer("/v1/other", with: .json(Note(1, "back").json))
    _ = try await notes.fetch("note", policy: .networkOnly)
    await stream.value
    #expect(seen.value.last == "back")
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a caller without a value gets the error for a second, then sends one request`() async throws {
    let bench = try await bench(retry: RetryPolicy(attempts: 3, firstDelay: .zero))
    _ = try await bench.notes.fetch("note")
    #expect(bench.transport.requestCount == 5)
    for _ in 0..<10 {
      await #expect(throws: ReactorError.self) { try await bench.notes.fetch("new") }
    }
    #expect(bench.transport.requestCount == 5)
    #expect(bench.log.count(.failedInOutage) == 10)
    bench.clock.advance(by: .seconds(1))
    await #expect(throws: ReactorError.self) { try await bench.notes.fetch("new") }
    #expect(bench.transport.requestCount == 6)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `networkOnly makes a request each time`() async throws {
    let bench = try await bench()
    for count in 3...5 {
      await #expect(throws: ReactorError.self) { try await bench.notes.fetchFromNetwork("note") }
      #expect(bench.transport.requestCount == count)
    }
    #expect(try await bench.notes.fetch("other").text == "other")
    #expect(bench.transport.requestCount == 5)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a record on disk is a stale fallback without a request, too`() async throws {
    let first = try await bench()
    let bench = first.restarted {
      $0.freshFor = .seconds(60)
      $0.staleIfError = .seconds(3_600)
      $0.remembersOutages = true
    }
    #expect(try await bench.notes.fetch("note").text == "note")
    #expect(try await bench.notes.fetch("other").text == "other")
    #expect(bench.transport.requestCount == 3)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a stream keeps its value, and shows the error`() async throws {
    let bench = try await bench()
    _ = try await bench.notes.fetch("note")
    var states = bench.notes.states(for: "other").makeAsyncIterator()
    let state = await states.first { $0.error != nil }
    #expect(state?.value?.text == "other")
    #expect(bench.transport.requestCount == 3)
  }

  @Test func `without it, each fetch makes its requests`() async throws {
    let bench = Bench { $0.remembersOutages = false }
    bench.transport.answer("/v1/new", with: Self.refused)
    for count in 1...3 {
      await #expect(throws: ReactorError.self) { try await bench.notes.fetch("new") }
      #expect(bench.transport.requestCount == count)
    }
    try await bench.waitUntilNothingWaits()
  }
}
