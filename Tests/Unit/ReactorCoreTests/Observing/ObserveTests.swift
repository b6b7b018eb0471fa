import Dispatch
import Foundation
import HTTPTypes
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@testable import ReactorCore

@Suite("An observer of states", .timeLimit(.minutes(5)))
struct ObserveTests {
  /// The states that an observer has got.
  private final class Seen: Sendable {
    private let states = Shared<[LoadState<Note>]>([])
    private let waiting = Shared<[(count: Int, continuation: CheckedContinuation<Void, Never>)]>([])

    func add(_ state: LoadState<Note>) {
      let count = states.change { states in
        states.append(state)
        return states.count
      }
      resume(at: count)
    }

    var all: [LoadState<Note>] { states.value }
    var texts: [String?] { all.map { $0.value?.text } }

    /// Returns the first state that meets a condition, once there is one.
    func first(where isMet: (LoadState<Note>) -> Bool) async -> LoadState<Note>? {
      var count = 0
      while true {
        let all = all
        if let state = all.first(where: isMet) { return state }
        count = all.count
        await withCheckedContinuation { continuation in
          waiting.change { $0.append((count + 1, continuation)) }
          resume(at: states.value.count)
        }
      }
    }

    private func resume(at count: Int) {
      let due = waiting.change { waiting in
        defer { waiting.removeAll { $0.count <= count } }
        return waiting.filter { $0.count <= count }
      }
      for waiter in due { waiter.continuation.resume() }
    }
  }

  @Test func `an observer gets the current state and every newer one, as a stream does`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate), .response(.serviceUnavailable))
    let seen = Seen()
    let token = bench.notes.observe("note") { seen.add($0) }
    _ = await seen.first { $0.fetchStatus == .fetching && $0.value == nil }
    gate.open()
    _ = await seen.first { $0.value?.text == "one" && $0.fetchStatus == .idle }
    try await bench.notes.save(Note(2, "mine"), for: "note")
    _ = await seen.first { $0.value?.text == "mine" }
    await bench.notes.invalidate("note")
    _ = await seen.first { $0.error?.status == 503 && $0.value?.text == "mine" }
    try await bench.notes.remove("note")
    _ = await seen.first { $0.isRemoved }
    #expect(zip(seen.all, seen.all.dropFirst()).allSatisfy { $0.revision < $1.revision })
    token.cancel()
    try await bench.waitUntilNothingWaits()
  }

  @Test func `an observer first gets the value in memory, without a request`() async throws {
    let bench = Bench { $0.freshFor = .never }
    try await bench.notes.save(Note(1, "known"), for: "note")
    let seen = Seen()
    let token = bench.notes.observe("note") { seen.add($0) }
    let first = await seen.first { _ in true }
    #expect(first?.value?.text == "known" && first?.fetchStatus == .idle)
    #expect(bench.transport.requestCount == 0)
    token.cancel()
    try await bench.waitUntilNothingWaits()
  }

  @MainActor @Test func `a closure of the main actor is called there, and needs no attribute`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    let screen = Screen()
    let seen = Seen()
    let token = bench.notes.observe("note") { state in
      screen.text = state.value?.text
      seen.add(state)
    }
    _ = await seen.first { $0.value != nil }
    #expect(screen.text == "one")
    token.cancel()
    try await bench.waitUntilNothingWaits()
  }

  @MainActor private final class Screen { var text: String? }

  /// An actor whose jobs are counted.
  private actor Counted {
    final class Executor: SerialExecutor {
      let jobs = Shared(0)
      private let queue = DispatchQueue(label: "counted")

      func enqueue(_ job: consuming ExecutorJob) {
        jobs.change { $0 += 1 }
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
      }

      /// Returns after the jobs that are queued, and the jobs that they enqueue.
      func settle() async {
        for _ in 0..<2 { await withCheckedContinuation { done in queue.async { done.resume() } } }
      }
    }

    nonisolated let executor = Executor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    var texts: [Int: String] = [:]
    private var tokens: [ModelLayer.ObservationToken] = []

    func observe(_ reactor: Reactor<Note>, count: Int, then: @escaping @Sendable (LoadState<Note>) -> Void) {
      for number in 0..<count {
        tokens.append(
          reactor.observe("note") { state in
            self.texts[number] = state.value?.text
            if number == count - 1 { then(state) }
          })
      }
    }

    func end() { tokens = [] }
  }

  @Test func `a change takes one turn of an actor, however many of its observers see it`() async throws {
    let bench = Bench { $0.freshFor = .never }
    try await bench.notes.save(Note(1, "one"), for: "note")
    let (counted, seen) = (Counted(), Seen())
    await counted.observe(bench.notes, count: 1_000) { seen.add($0) }
    _ = await seen.first { $0.value?.text == "one" }
    // It must have had the turn after which it finds nothing more.
    await counted.executor.settle()
    let before = counted.executor.jobs.value
    try await bench.notes.save(Note(2, "two"), for: "note")
    _ = await seen.first { $0.value?.text == "two" }
    await counted.executor.settle()
    let jobs = counted.executor.jobs.value - before
    // One job calls them, and one finds that nothing more is due. No job is new if the first
    // change's job had yet to find that.
    #expect(jobs <= 3, "\(jobs) jobs")
    let texts = await counted.texts
    #expect(texts.count == 1_000 && texts.values.allSatisfy { $0 == "two" })
    await counted.end()
    try await bench.waitUntilNothingWaits()
  }

  @Test func `after being busy, an observer gets only the latest state`() async throws {
    let bench = Bench { $0.freshFor = .never }
    try await bench.notes.save(Note(0, "0"), for: "note")
    let (seen, isBusy, goesOn) = (Seen(), Gate(), DispatchSemaphore(value: 0))
    // The main actor's thread is not needed by the writes.
    let token = bench.notes.observe("note") { @MainActor state in
      seen.add(state)
      guard state.value?.text == "0" else { return }
      isBusy.open()
      goesOn.wait()
    }
    try await isBusy.wait()
    for number in 1...100 { try await bench.notes.save(Note(number, "\(number)"), for: "note") }
    goesOn.signal()
    _ = await seen.first { $0.value?.text == "100" }
    #expect(seen.texts == ["0", "100"])
    token.cancel()
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a change that only another stream can see calls no observer`() async throws {
    let bench = Bench { $0.freshFor = .zero }
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    _ = try await bench.notes.fetch("note")
    bench.reachability.set(false)
    let seen = Seen()
    let token = bench.notes.observe("note", policy: .networkFirst) { seen.add($0) }
    _ = await seen.first { $0.fetchStatus == .paused && $0.value != nil }
    let count = seen.all.count
    for _ in 0..<10 {
      let later = Seen()
      let other = bench.notes.observe("note", policy: .networkFirst) { later.add($0) }
      // Called after the first, if that is called.
      #expect(await later.first { $0.value != nil }?.fetchStatus == .paused)
      other.cancel()
    }
    try await bench.notes.save(Note(2, "mine"), for: "note")
    _ = await seen.first { $0.value?.text == "mine" }
    #expect(seen.texts.dropFirst(count).first == "mine")
    let revisions = seen.all.map(\.revision)
    #expect(zip(revisions, revisions.dropFirst()).allSatisfy { $0 < $1 })
    token.cancel()
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a change calls the observers of every actor`() async throws {
    let bench = Bench { $0.freshFor = .never }
    try await bench.notes.save(Note(1, "one"), for: "note")
    let (free, main, own, counted) = (Seen(), Seen(), Seen(), Counted())
    let tokens = [
      bench.notes.observe("note") { free.add($0) }, bench.notes.observe("note") { @MainActor in main.add($0) },
    ]
    await counted.observe(bench.notes, count: 1) { own.add($0) }
    for number in 2...5 {
      try await bench.notes.save(Note(number, "\(number)"), for: "note")
      for seen in [free, main, own] { _ = await seen.first { $0.value?.text == "\(number)" } }
    }
    for token in tokens { token.cancel() }
    await counted.end()
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a cancelled observation makes no further call, and ends its request`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
    let seen = Seen()
    let token = bench.notes.observe("note") { seen.add($0) }
    try await gate.waitForArrival()
    _ = await seen.first { _ in true }
    let count = seen.all.count
    token.cancel()
    try await bench.notes.save(Note(2, "mine"), for: "note")
    try await bench.waitUntilNothingWaits()
    #expect(seen.all.count == count && bench.transport.inFlight == 0)
  }

  @Test func `a state that waits when the observation is cancelled is not shown`() async throws {
    let bench = Bench { $0.freshFor = .never }
    try await bench.notes.save(Note(0, "0"), for: "note")
    let (seen, later, token) = (Seen(), Seen(), Shared<ModelLayer.ObservationToken?>(nil))
    let first = bench.notes.observe("note") { state in
      if state.value?.text == "1" { token.change { $0?.cancel() } }
    }
    let second = bench.notes.observe("note") { seen.add($0) }
    token.change { $0 = second }
    let third = bench.notes.observe("note") { later.add($0) }
    _ = await later.first { $0.value?.text == "0" }
    try await bench.notes.save(Note(1, "1"), for: "note")
    // They are called in order.
    _ = await later.first { $0.value?.text == "1" }
    #expect(seen.texts == ["0"])
    for observation in [first, third] { observation.cancel() }
    token.change { $0 = nil }
    try await bench.waitUntilNothingWaits()
  }

  @Test func `observers that saw the value arrive and that found it see different origins`() async throws {
    let bench = Bench { $0.freshFor = .never }
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json).held(at: gate))
    let (witness, finder) = (Seen(), Seen())
    let first = bench.notes.observe("note") { witness.add($0) }
    _ = await witness.first { $0.value != nil && $0.fetchStatus == .idle }
    let second = bench.notes.observe("note") { finder.add($0) }
    _ = await finder.first { $0.value != nil }
    let refresh = Task { try await bench.notes.fetch("note", policy: .networkOnly) }
    try await gate.waitForArrival()
    #expect(await witness.first { $0.value != nil && $0.fetchStatus == .fetching }?.origin == .network)
    #expect(await finder.first { $0.value != nil && $0.fetchStatus == .fetching }?.origin == .memory)
    gate.open()
    #expect(try await refresh.value.text == "two")
    for token in [first, second] { token.cancel() }
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a state that is offered late is dropped, and so is one after the end`() async {
    func state(_ revision: UInt64) -> KeySnapshot { KeySnapshot(nil, "note", error: nil, revision: revision) }
    let slot = StateSlot(1)
    slot.offer(state(0))
    slot.offer(state(2))  // replaces the waiting state
    #expect(slot.take()?.revision == 2)
    slot.offer(state(1))
    #expect(slot.take() == nil)
    slot.offer(state(4))
    #expect(await slot.next()?.revision == 4)
    slot.offer(state(5))
    slot.end()
    slot.offer(state(6))
    #expect(slot.take() == nil)
    #expect(await slot.next() == nil)
  }

  @Test func `observers of other resources with the same key see their own state`() async throws {
    let bench = Bench { $0.freshFor = .never }
    try await bench.notes.save(Note(1, "one"), for: "note")
    var short: Resource = "note"
    short.freshFor = .zero
    let (long, soon) = (Seen(), Seen())
    let tokens = [(Resource("note"), long), (short, soon)].map { resource, seen in
      bench.notes.observe(resource, policy: .cacheOnly) { seen.add($0) }
    }
    try await bench.notes.save(Note(2, "two"), for: "note")
    #expect(await long.first { $0.value?.text == "two" }?.isStale == false)
    #expect(await soon.first { $0.value?.text == "two" }?.isStale == true)
    for token in tokens { token.cancel() }
    try await bench.waitUntilNothingWaits()
  }

  @Test func `the owner is not retained, and the state after its end ends the observation`() async throws {
    final class Owner: Sendable {}
    let bench = Bench { $0.freshFor = .never }
    try await bench.notes.save(Note(1, "one"), for: "note")
    let seen = Seen()
    var owner: Owner? = Owner()
    weak let released = owner
    if let owner { bench.notes.observe("note", for: owner) { _, state in seen.add(state) } }
    _ = await seen.first { $0.value?.text == "one" }
    #expect(bench.reachability.openStreams == 1)
    owner = nil
    #expect(released == nil)
    try await bench.notes.save(Note(2, "two"), for: "note")
    try await bench.waitUntilNothingWaits()
    #expect(seen.texts == ["one"])
  }

  @Test func `an observation with an owner retains no reactor`() async throws {
    final class Owner: Sendable {}
    let (owner, seen) = (Owner(), Seen())
    weak var released: Reactor<Note>?
    let reachability = ScriptedReachability(true)
    do {
      let reactor = Reactor<Note>(
        baseURL: Bench.url, transport: ScriptedTransport { _, _ in throw Broken() }, reachability: reachability)
      released = reactor
      try await reactor.save(Note(1, "one"), for: "note")
      reactor.observe("note", for: owner, policy: .cacheOnly) { _, state in seen.add(state) }
      _ = await seen.first { $0.value?.text == "one" }
    }
    try await reachability.waitUntilNobodyListens()
    #expect(released == nil)
    withExtendedLifetime(owner) {}
  }

  @Test func `a resource that cannot be observed has one state, with the error`() async throws {
    let bench = Bench()
    let seen = Seen()
    let token = bench.notes.observe(Resource("note", method: .post)) { seen.add($0) }
    let state = await seen.first { _ in true }
    #expect(state?.error?.isInvalidResource == true)
    #expect(bench.transport.requestCount == 0)
    token.cancel()
    try await bench.waitUntilNothingWaits()
  }

  @Test func `an observation of polled states polls until its end`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    let seen = Seen()
    let token = bench.notes.states(for: "note", polling: .seconds(10)).observe { seen.add($0) }
    _ = await seen.first { $0.value?.text == "one" && $0.fetchStatus == .idle }
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(10))
    _ = await seen.first { $0.value?.text == "two" }
    token.cancel()
    try await bench.waitUntilNothingWaits()
  }

  @Test func `an observer may end its own observation, and observe in turn`() async throws {
    let bench = Bench { $0.freshFor = .never }
    try await bench.notes.save(Note(1, "one"), for: "note")
    let (outer, inner) = (Seen(), Seen())
    let tokens = Shared<[ModelLayer.ObservationToken]>([])
    let token = bench.notes.observe("note") { [notes = bench.notes] state in
      outer.add(state)
      let new = notes.observe("note") { inner.add($0) }
      tokens.change { tokens in
        tokens.first?.cancel()
        tokens.append(new)
      }
    }
    tokens.change { $0.append(token) }
    _ = await inner.first { $0.value?.text == "one" }
    try await bench.notes.save(Note(2, "two"), for: "note")
    _ = await inner.first { $0.value?.text == "two" }
    for token in tokens.change({ tokens in
      defer { tokens = [] }; return tokens
    }) { token.cancel() }
    try await bench.waitUntilNothingWaits()
  }
}
