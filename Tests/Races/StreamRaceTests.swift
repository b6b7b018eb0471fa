import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// Streams that leave, or are written to, just when something else happens: each order forced step
/// by step.
@Suite("Races of streams", .timeLimit(.minutes(5)))
struct StreamRaceTests {
  /// The event is told after the state has been changed and before it is delivered: there the
  /// reader is cancelled.
  @Test func `leaving while a state is being delivered ends the stream, and delivers at most that state`() async throws
  {
    let bench = Bench()
    let notes = bench.notes
    try await notes.save(Note(1, "one"), for: "note")
    let reader = Shared<Task<[String], Never>?>(nil)
    let read = Gate()
    let task = Task {
      var texts: [String] = []
      for await state in notes.states(for: "note", policy: .cacheOnly) {
        texts.append(state.value?.text ?? "")
        read.open()
      }
      return texts
    }
    reader.change { $0 = task }
    await read.waitIgnoringCancellation()
    let token = bench.layer.observeEvents { if case .savedLocally = $0.kind { reader.value?.cancel() } }
    try await notes.save(Note(2, "two"), for: "note")
    let texts = await task.value
    #expect(texts == ["one", "two"] || texts == ["one"])
    token.cancel()
    try await notes.save(Note(3, "three"), for: "note")
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a local write while a fetch is under way is what the stream shows, then and after the late answer`()
    async throws
  {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "late").json).held(at: gate, ignoresCancellation: true))
    let notes = bench.notes
    var states: LoadStates<Note>.Iterator? = notes.states(for: "note").makeAsyncIterator()
    #expect(await states?.next()?.fetchStatus == .fetching)
    try await gate.waitForArrival()
    try await notes.save(Note(2, "mine"), for: "note")
    let written = await states?.first { $0.value != nil }
    #expect(written?.value?.text == "mine" && written?.origin == .local && written?.fetchStatus == .idle)
    gate.open()
    try await bench.transport.waitUntilIdle()
    try await notes.save(Note(3, "end"), for: "note")
    // Nothing came between: the late answer made no state.
    let next = await states?.next()
    #expect(next?.value?.text == "end" && next?.revision == (written?.revision ?? 0) + 1)
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  /// Connectivity returns while the only stream is leaving: whichever comes first, nothing is left
  /// running.
  @Test(arguments: [true, false])
  func `reconnection while the last stream leaves leaves no request behind`(leavesFirst: Bool) async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
    bench.reachability.set(false)
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "note").makeAsyncIterator()
    _ = await states?.first { $0.fetchStatus == .paused }
    if leavesFirst {
      states = nil
      bench.reachability.set(true)
      try await bench.waitUntilNothingWaits()
      #expect(bench.transport.requestCount == 0)
    } else {
      bench.reachability.set(true)
      try await gate.waitForArrival()
      states = nil
      try await bench.transport.waitForCancellations()
      try await bench.waitUntilNothingWaits()
      #expect(bench.transport.requestCount == 1)
    }
  }
}
