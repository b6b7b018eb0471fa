import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@Suite("Polling", .timeLimit(.minutes(5)))
struct PollingTests {
  /// A bench whose server counts: each answer's text is its number.
  private func counting(configure: (inout ReactorConfiguration) -> Void = { _ in }) -> Bench {
    let tick = Tick()
    return Bench(transport: ScriptedTransport { _, _ in .json(Note(1, "\(tick.next())").json) }, configure: configure)
  }

  @Test func `each interval asks once, though the copy is fresh`() async throws {
    let bench = counting { $0.freshFor = .never }
    var states: LoadStates<Note>.Iterator? =
      bench.notes.states(for: "note", polling: .seconds(30)).makeAsyncIterator()
    for n in 1...5 {
      #expect(await states?.first { $0.fetchStatus == .idle }?.value?.text == "\(n)")
      try await bench.clock.waitForSleepers()
      bench.clock.advance(by: .seconds(29))
      #expect(bench.transport.requestCount == n)
      bench.clock.advance(by: .seconds(1))
    }
    #expect(await states?.first { $0.fetchStatus == .idle }?.value?.text == "6")
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `polls never overlap: the interval begins when the answer has come`() async throws {
    let gate = Gate()
    let bench = Bench(
      transport: ScriptedTransport { _, _ in
        try await gate.wait()
        return .json(Note(1, "one").json)
      })
    var states: LoadStates<Note>.Iterator? =
      bench.notes.states(for: "note", polling: .seconds(10)).makeAsyncIterator()
    try await gate.waitForArrival()
    bench.clock.advance(by: .seconds(1_000))
    #expect(bench.clock.sleeperCount == 0 && bench.transport.requestCount == 1)
    gate.open()
    _ = await states?.first { $0.fetchStatus == .idle }
    try await waitForDeadline(.seconds(1_010), bench)
    #expect(bench.transport.maximumInFlight == 1)
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `many that poll one resource make one request an interval, the shortest of theirs`() async throws {
    let bench = counting()
    var streams = [60, 20, 40].map {
      bench.notes.states(for: "note", polling: .seconds($0)).makeAsyncIterator()
    }
    for index in streams.indices { _ = await streams[index].first { $0.value?.text == "1" && $0.fetchStatus == .idle } }
    try await waitForDeadline(.seconds(20), bench)
    #expect(bench.clock.sleeperCount == 1)
    bench.clock.advance(by: .seconds(20))
    for index in streams.indices { _ = await streams[index].first { $0.value?.text == "2" && $0.fetchStatus == .idle } }
    #expect(bench.transport.requestCount == 2)
    streams.remove(at: 1)
    // The wait that had begun is slept out, and then the next shortest counts.
    try await waitForDeadline(.seconds(40), bench)
    bench.clock.advance(by: .seconds(20))
    try await waitForDeadline(.seconds(60), bench)
    #expect(bench.transport.requestCount == 2)
    streams = []
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a failure is shown with the last value, and the next poll is made all the same`() async throws {
    let bench = Bench()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json), .response(.internalServerError), .failure(Broken()),
      .json(Note(1, "two").json))
    var states: LoadStates<Note>.Iterator? =
      bench.notes.states(for: "note", polling: .seconds(5)).makeAsyncIterator()
    _ = await states?.first { $0.fetchStatus == .idle }
    for _ in 0..<2 {
      bench.clock.advance(by: .seconds(5))
      let failed = await states?.first { $0.error != nil && $0.fetchStatus == .idle }
      #expect(failed?.value?.text == "one")
    }
    bench.clock.advance(by: .seconds(5))
    #expect(await states?.first { $0.error == nil && $0.fetchStatus == .idle }?.value?.text == "two")
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `without connectivity a poll waits for it`() async throws {
    let bench = counting()
    var states: LoadStates<Note>.Iterator? =
      bench.notes.states(for: "note", polling: .seconds(5)).makeAsyncIterator()
    _ = await states?.first { $0.fetchStatus == .idle }
    bench.reachability.set(false)
    bench.clock.advance(by: .seconds(5))
    #expect(await states?.first { $0.fetchStatus == .paused }?.value?.text == "1")
    bench.clock.advance(by: .seconds(500))
    #expect(bench.transport.requestCount == 1 && bench.clock.sleeperCount == 0)
    bench.reachability.set(true)
    #expect(await states?.first { $0.fetchStatus == .idle }?.value?.text == "2")
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test(arguments: [(Int?.none, 40), (3, 30), (1, 10), (0, 10), (-5, 10), (.max, 10_000)])
  func `in low-power mode the interval is stretched by the factor`(factor: Int?, seconds: Int) async throws {
    let bench = counting { if let factor { $0.lowPower.pollingFactor = factor } }
    var states: LoadStates<Note>.Iterator? =
      bench.notes.states(for: "note", polling: .seconds(10)).makeAsyncIterator()
    _ = await states?.first { $0.fetchStatus == .idle }
    try await waitForDeadline(.seconds(10), bench)
    bench.power.set(true)
    try await waitForDeadline(.seconds(seconds), bench)
    bench.clock.advance(by: .seconds(seconds))
    #expect(await states?.first { $0.fetchStatus == .idle }?.value?.text == "2")
    bench.power.set(false)
    try await waitForDeadline(.seconds(seconds + 10), bench)
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  /// Returns once the next sleeper wakes at `deadline`.
  private func waitForDeadline(_ deadline: Duration, _ bench: Bench) async throws {
    try await bench.clock.waitForSleeper(until: TestClock.Instant(elapsed: deadline))
  }

  @Test func `polling stops without observers, and cancels its request in flight`() async throws {
    let bench = counting()
    let notes = bench.notes
    let read = Gate()
    let reader = Task {
      for await state in notes.states(for: "note", polling: .seconds(5)) where state.fetchStatus == .idle {
        read.open()
      }
    }
    await read.waitIgnoringCancellation()
    try await bench.clock.waitForSleepers()
    #expect(bench.power.openStreams == 1)
    reader.cancel()
    await reader.value
    try await bench.waitUntilNothingWaits()
    bench.clock.advance(by: .seconds(500))
    #expect(bench.transport.requestCount == 1)
  }

  @Test(arguments: [Duration.zero, .seconds(-1), .seconds(Int64.min), .never])
  func `an interval of zero or less, or never, does not poll`(interval: Duration) async throws {
    let bench = counting()
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "note", polling: interval).makeAsyncIterator()
    #expect(await states?.first { $0.fetchStatus == .idle }?.value?.text == "1")
    #expect(bench.clock.sleeperCount == 0 && bench.power.openStreams == 0)
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test(arguments: [Duration.nanoseconds(1), .seconds(Int64.max - 1)])
  func `the shortest and the longest interval neither spin nor trap`(interval: Duration) async throws {
    let bench = counting { $0.lowPower.pollingFactor = .max }
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "note", polling: interval).makeAsyncIterator()
    #expect(await states?.first { $0.fetchStatus == .idle }?.value?.text == "1")
    bench.power.set(true)
    try await bench.clock.waitForSleepers()
    #expect(bench.transport.requestCount == 1)
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `cacheOnly does not poll`() async throws {
    let bench = counting()
    var states: LoadStates<Note>.Iterator? =
      bench.notes.states(for: "note", policy: .cacheOnly, polling: .seconds(1)).makeAsyncIterator()
    _ = await states?.first { $0.fetchStatus == .idle }
    #expect(bench.clock.sleeperCount == 0)
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a removed resource is not polled until it is fetched or saved again`() async throws {
    let bench = counting()
    var states: LoadStates<Note>.Iterator? =
      bench.notes.states(for: "note", polling: .seconds(5)).makeAsyncIterator()
    _ = await states?.first { $0.fetchStatus == .idle }
    try await bench.layer.removeAll()
    #expect(await states?.next()?.value == nil)
    try await bench.clock.waitUntilNobodySleeps()
    _ = try await bench.notes.fetch("note")
    #expect(await states?.first { $0.fetchStatus == .idle }?.value?.text == "2")
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(5))
    #expect(await states?.first { $0.fetchStatus == .idle && $0.value?.text == "3" } != nil)
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a wall clock that jumps neither hastens nor stops it`() async throws {
    let bench = counting()
    var states: LoadStates<Note>.Iterator? =
      bench.notes.states(for: "note", polling: .seconds(5)).makeAsyncIterator()
    _ = await states?.first { $0.fetchStatus == .idle }
    bench.clock.setWallClock(back: .seconds(86_400))
    bench.clock.advance(by: .seconds(5))
    #expect(await states?.first { $0.fetchStatus == .idle }?.value?.text == "2")
    bench.clock.setWallClock(forward: .seconds(864_000))
    try await waitForDeadline(.seconds(10), bench)
    states = nil
    try await bench.waitUntilNothingWaits()
  }
}
