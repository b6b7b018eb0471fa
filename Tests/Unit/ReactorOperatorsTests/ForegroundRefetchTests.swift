import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite("Operators: fetching when the app comes to the foreground", .timeLimit(.minutes(5)))
struct ForegroundRefetchTests {
  private let moments = Moments()

  /// A layer whose server knows the note, and a stream that has shown it, fresh for a minute.
  private func opened(
    policy: FetchPolicy = .cacheFirst, _ second: ScriptedTransport.Answer = .response(.notFound),
    _ third: ScriptedTransport.Answer = .response(.notFound)
  ) async throws -> (Bench, LoadStates<Note>.Iterator) {
    let bench = Bench { $0.freshFor = .seconds(60) }
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), second, third)
    if policy == .cacheOnly { _ = try await bench.notes.fetch("note") }
    var states = bench.notes.states(for: "note", policy: policy).makeAsyncIterator()
    #expect(await states.first { $0.value != nil && $0.fetchStatus == .idle }?.value?.text == "one")
    return (bench, states)
  }

  /// A Boolean value that indicates whether nothing is fetched for the resource. A moment that has
  /// been dealt with has begun its fetches.
  private func isIdle(_ bench: Bench, _ resource: Resource = "note") -> Bool {
    bench.notes.states(for: resource).current.fetchStatus == .idle
  }

  @Test func `a stale value is fetched again, once for all its streams`() async throws {
    var (bench, states) = try await opened(.json(Note(1, "two").json))
    let second = bench.notes.states(for: "note").makeAsyncIterator()
    bench.layer.refetchInForeground(activity: moments)
    bench.clock.advance(by: .seconds(61))
    #expect(bench.transport.requestCount == 1)
    try await moments.comes()
    #expect(await states.first { $0.value?.text == "two" } != nil)
    #expect(bench.transport.requestCount == 2)
    withExtendedLifetime(second) {}
  }

  @Test func `without refetchInForeground nothing is fetched`() async throws {
    let (bench, states) = try await opened()
    bench.clock.advance(by: .seconds(61))
    #expect(bench.transport.requestCount == 1)
    withExtendedLifetime(states) {}
  }

  @Test func `a fresh value is fetched only if it is older than the age`() async throws {
    var (bench, states) = try await opened(.json(Note(1, "two").json))
    bench.layer.refetchInForeground(olderThan: .seconds(20), atMostEvery: .zero, activity: moments)
    bench.clock.advance(by: .seconds(20))
    try await moments.comes()
    #expect(isIdle(bench) && bench.transport.requestCount == 1)
    bench.clock.advance(by: .seconds(1))
    try await moments.comes()
    #expect(await states.first { $0.value?.text == "two" && $0.fetchStatus == .idle } != nil)
    try await moments.comes()
    #expect(isIdle(bench) && bench.transport.requestCount == 2)
  }

  @Test func `a moment within the interval is ignored`() async throws {
    var (bench, states) = try await opened(.response(.serviceUnavailable), .json(Note(1, "two").json))
    bench.layer.refetchInForeground(atMostEvery: .seconds(30), activity: moments)
    bench.clock.advance(by: .seconds(61))
    try await moments.comes()
    #expect(await states.first { $0.error != nil && $0.fetchStatus == .idle }?.value?.text == "one")
    bench.clock.advance(by: .seconds(29))
    try await moments.comes()
    #expect(isIdle(bench) && bench.transport.requestCount == 2)
    bench.clock.advance(by: .seconds(1))
    try await moments.comes()
    #expect(await states.first { $0.error == nil && $0.fetchStatus == .idle }?.value?.text == "two")
    #expect(bench.transport.requestCount == 3)
  }

  @Test func `a failure is tried again, although the value is fresh`() async throws {
    var (bench, states) = try await opened(.response(.serviceUnavailable), .json(Note(1, "two").json))
    bench.layer.refetchInForeground(activity: moments)
    _ = try? await bench.notes.fetchFromNetwork("note")
    #expect(await states.first { $0.error != nil }?.isStale == false)
    try await moments.comes()
    #expect(await states.first { $0.error == nil && $0.fetchStatus == .idle }?.value?.text == "two")
  }

  @Test func `resources without observers, removed ones, and cacheOnly ones are not fetched`() async throws {
    let (bench, states) = try await opened(policy: .cacheOnly)
    bench.transport.answer("/v1/other", with: .json(Note(2, "other").json))
    _ = try await bench.notes.fetch("other")
    var removed = bench.notes.states(for: "other").makeAsyncIterator()
    #expect(await removed.first { $0.value != nil } != nil)
    try await bench.notes.remove("other")
    bench.transport.answer("/v1/alone", with: .json(Note(3, "alone").json))
    _ = try await bench.notes.fetch("alone")
    bench.layer.refetchInForeground(atMostEvery: .zero, activity: moments)
    bench.clock.advance(by: .seconds(3600))
    try await moments.comes()
    #expect(isIdle(bench) && isIdle(bench, "other") && isIdle(bench, "alone"))
    #expect(bench.transport.requestCount == 3)
    withExtendedLifetime((states, removed)) {}
  }

  @Test func `without connectivity the request waits for it`() async throws {
    var (bench, states) = try await opened(.json(Note(1, "two").json))
    bench.layer.refetchInForeground(activity: moments)
    bench.clock.advance(by: .seconds(61))
    bench.reachability.set(false)
    try await moments.comes()
    #expect(await states.first { $0.fetchStatus == .paused } != nil)
    #expect(bench.transport.requestCount == 1)
    bench.reachability.set(true)
    #expect(await states.first { $0.value?.text == "two" } != nil)
  }

  @Test func `refetching in the foreground ends with the layer`() async throws {
    do {
      let bench = Bench()
      bench.layer.refetchInForeground(activity: moments)
      #expect(!moments.ended.isOpen)
    }
    try await moments.ended.wait()
  }
}
