import HTTPTypes
import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite("Operators: one fetch as a sequence", .timeLimit(.minutes(5)))
struct FetchSequenceTests {
  @Test func `each iteration fetches once and ends, and nothing happens before`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    let fetches = bench.notes.fetches("note", policy: .networkOnly)
    var first = fetches.makeAsyncIterator()
    #expect(bench.transport.requestCount == 0)
    #expect(try await first.next(isolation: nil)?.text == "one")
    #expect(try await first.next(isolation: nil) == nil)
    #expect(try await fetches.collect().map(\.text) == ["two"])
    #expect(bench.transport.requestCount == 2)
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `the policy is cacheFirst unless it is named`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    for _ in 0..<3 { #expect(try await bench.notes.fetches("note").collect().map(\.text) == ["one"]) }
    #expect(bench.transport.requestCount == 1)
    #expect(await error { try await bench.notes.fetches("other", policy: .cacheOnly).collect() }?.isNotCached == true)
  }

  @Test func `a failure ends it`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .response(.notFound))
    var fetches = bench.notes.fetches("note").makeAsyncIterator()
    do throws(ReactorError) {
      _ = try await fetches.next(isolation: nil)
      Issue.record("it gave a model")
    } catch { #expect(error.status == 404) }
    #expect(try await fetches.next(isolation: nil) == nil)
    #expect(bench.transport.requestCount == 1)
  }

  @Test(arguments: [true, false])
  func `a cancelled task gets cancelled, whether memory has the model or not`(isCached: Bool) async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    if isCached { _ = try await bench.notes.fetch("note") }
    let requests = bench.transport.requestCount
    let fetches = bench.notes.fetches("note")
    let cancelled = Gate()
    let reader = Task {
      await cancelled.waitIgnoringCancellation()
      return await error { try await fetches.collect() }
    }
    reader.cancel()
    cancelled.open()
    #expect(await reader.value?.isCancelled == true)
    #expect(bench.transport.requestCount == requests)
  }

  @Test func `a task that is cancelled while it waits gets cancelled, and the request ends`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: Gate()))
    let fetches = bench.notes.fetches("note")
    let reader = Task { await error { try await fetches.collect() } }
    try await bench.transport.waitForRequests()
    reader.cancel()
    #expect(await reader.value?.isCancelled == true)
    try await bench.transport.waitForCancellations()
  }

  @Test func `a fetch sequence combines with load states and reloading`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    let conditions = ScriptedSequence<Bool>()
    conditions.send(true)
    let states = bench.notes.fetches("note", policy: .networkOnly).loadStates()
      .reloadPeriodically(every: .seconds(60), while: conditions, clock: bench.clock)
      .mapValues(\.text)
    let reader = Reader(states)
    #expect(try await reader.next()?.fetchStatus == .fetching)
    #expect(try await reader.next()?.value == "one")
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(60))
    let reloading = try await reader.next()
    #expect(reloading?.value == "one" && reloading?.fetchStatus == .fetching)
    #expect(try await reader.next()?.value == "two")
    await reader.cancel()
    #expect(bench.stillWaiting.isEmpty)
  }
}
