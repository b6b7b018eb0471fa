import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@Suite("States of a resource", .timeLimit(.minutes(5)))
struct LoadStatesTests {
  @Test func `nothing happens until the sequence is iterated`() async throws {
    let bench = Bench()
    let states = bench.notes.states(for: "note")
    #expect(states.current.value == nil && states.current.fetchStatus == .idle)
    #expect(bench.transport.requestCount == 0)
    #expect(bench.log.events.isEmpty)
  }

  @Test func `a stream goes from loading to loaded, with the value's origin`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
    var states = bench.notes.states(for: "note").makeAsyncIterator()
    let loading = await states.next()
    #expect(loading?.fetchStatus == .fetching && loading?.value == nil && loading?.origin == nil)
    gate.open()
    let loaded = await states.first { $0.fetchStatus == .idle }
    #expect(loaded?.value == Note(1, "one") && loaded?.origin == .network && loaded?.isStale == false)
    #expect(loaded?.fetchedAt == bench.clock.date)
    let current = bench.notes.states(for: "note").current
    #expect(current.value == Note(1, "one") && current.origin == .memory)
  }

  @Test func `a stale value from disk is shown while the new one loads`() async throws {
    let first = Bench { $0.freshFor = .seconds(60) }
    first.transport.answer("/v1/note", with: .json(Note(1, "old").json))
    _ = try await first.notes.fetch("note")
    first.clock.advance(by: .seconds(61))
    let bench = first.restarted { $0.freshFor = .seconds(60) }
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "new").json).held(at: gate))
    var states = bench.notes.states(for: "note").makeAsyncIterator()
    let old = await states.first { $0.value != nil }
    #expect(old?.value?.text == "old" && old?.origin == .persistence && old?.isStale == true)
    #expect(old?.fetchStatus == .fetching)
    gate.open()
    #expect(await states.first { $0.fetchStatus == .idle }?.value?.text == "new")
  }

  @Test(arguments: [
    (FetchPolicy.cacheFirst, false), (.staleWhileRevalidate, true), (.networkFirst, false), (.networkOnly, false),
    (.cacheOnly, true),
  ])
  func `the policy decides whether a stream shows a stale copy before its request ends`(
    policy: FetchPolicy, showsStale: Bool
  ) async throws {
    let bench = Bench { $0.freshFor = .zero }
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "old").json), .json(Note(1, "new").json).held(at: gate))
    _ = try await bench.notes.fetch("note")
    #expect(bench.notes.states(for: "note", policy: policy).current.value?.text == (showsStale ? "old" : nil))
    var states = bench.notes.states(for: "note", policy: policy).makeAsyncIterator()
    let first = await states.next()
    #expect(first?.value?.text == (showsStale ? "old" : nil))
    #expect(first?.fetchStatus == (policy == .cacheOnly ? .idle : .fetching))
    guard policy != .cacheOnly else { return #expect(bench.transport.requestCount == 1) }
    try await gate.waitForArrival()
    gate.open()
    #expect(await states.first { $0.fetchStatus == .idle }?.value?.text == "new")
  }

  @Test func `when the network fails, networkFirst shows the stored value, networkOnly and cacheFirst only the error`()
    async throws
  {
    for (policy, shows) in [(FetchPolicy.networkFirst, true), (.networkOnly, false), (.cacheFirst, false)] {
      let bench = Bench { $0.freshFor = .zero }
      bench.transport.answer("/v1/note", with: .json(Note(1, "old").json), .response(.serviceUnavailable))
      _ = try await bench.notes.fetch("note")
      var states = bench.notes.states(for: "note", policy: policy).makeAsyncIterator()
      let failed = await states.first { $0.fetchStatus == .idle }
      #expect(failed?.error?.status == 503)
      #expect((failed?.value != nil) == shows, "\(policy)")
    }
  }

  @Test func `cacheOnly without a copy says so, and sees what others bring`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    var states = bench.notes.states(for: "note", policy: .cacheOnly).makeAsyncIterator()
    #expect(await states.first { $0.fetchStatus == .idle }?.error?.isNotCached == true)
    _ = try await bench.notes.fetch("note")
    let state = await states.first { $0.value != nil && $0.fetchStatus == .idle }
    #expect(state?.error == nil)
    #expect(bench.transport.requestCount == 1)
  }

  @Test func `each open stream gets what a fetch, a local write and a removal bring`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    var first = bench.notes.states(for: "note").makeAsyncIterator()
    var second = bench.notes.states(for: "note", policy: .cacheFirst).makeAsyncIterator()
    #expect(await first.first { $0.fetchStatus == .idle }?.value?.text == "one")
    #expect(await second.first { $0.fetchStatus == .idle }?.value?.text == "one")
    _ = try await bench.notes.fetchFromNetwork("note")
    #expect(await first.first { $0.fetchStatus == .idle }?.value?.text == "two")
    #expect(await second.first { $0.fetchStatus == .idle }?.value?.text == "two")
    try await bench.notes.save(Note(1, "mine"), for: "note")
    let written = await first.next()
    #expect(written?.value?.text == "mine" && written?.origin == .local)
    #expect(await second.next()?.value?.text == "mine")
    try await bench.notes.remove("note")
    #expect(await first.next()?.value == nil)
    #expect(await second.next()?.value == nil)
  }

  @Test func `a slow reader gets the latest state only, and none twice`() async throws {
    let bench = Bench()
    try await bench.notes.save(Note(0, "0"), for: "note")
    var states = bench.notes.states(for: "note").makeAsyncIterator()
    var revisions = [await states.next()?.revision]
    for n in 1...100 { try await bench.notes.save(Note(n, "\(n)"), for: "note") }
    let latest = await states.next()
    #expect(latest?.value == Note(100, "100"))
    revisions.append(latest?.revision)
    let notes = bench.notes
    let write = Task { try await notes.save(Note(101, "101"), for: "note") }
    let after = await states.next()
    #expect(after?.value == Note(101, "101"))
    try await write.value
    revisions.append(after?.revision)
    let known = revisions.compactMap(\.self)
    #expect(known.count == 3 && known == known.sorted() && Set(known).count == 3)
  }

  @Test func `a state that has waited for a slow reader is stale if its value is by then`() async throws {
    let bench = Bench { $0.freshFor = .seconds(60) }
    try await bench.notes.save(Note(0, "0"), for: "note")
    var (slow, quick) = (
      bench.notes.states(for: "note", policy: .cacheOnly).makeAsyncIterator(),
      bench.notes.states(for: "note", policy: .cacheOnly).makeAsyncIterator()
    )
    _ = (await slow.next(), await quick.next())
    try await bench.notes.save(Note(1, "1"), for: "note")
    #expect(await quick.next()?.isStale == false)
    bench.clock.advance(by: .seconds(61))
    let late = await slow.next()
    #expect(late?.value?.text == "1" && late?.isStale == true)
  }

  @Test func `streams of other resources with the same key see their own state`() async throws {
    let bench = Bench { $0.freshFor = .never }
    try await bench.notes.save(Note(0, "0"), for: "note")
    var short: Resource = "note"
    short.freshFor = .zero
    let readers = [Resource("note"), short].map { [notes = bench.notes] resource in
      let (hasBegun, states) = (Gate(), notes.states(for: resource, policy: .cacheOnly))
      let reader = Task {
        var states = states.makeAsyncIterator()
        _ = await states.next()
        hasBegun.open()
        return await states.next()
      }
      return (hasBegun, reader)
    }
    for (hasBegun, _) in readers { try await hasBegun.wait() }
    try await bench.notes.save(Note(1, "1"), for: "note")
    let states = await [readers[0].1.value, readers[1].1.value]
    #expect(states.map { $0?.value?.text } == ["1", "1"])
    #expect(states.map { $0?.isStale } == [false, true])
  }

  @Test func `a cancelled task gets no state, though one waits for it`() async throws {
    let bench = Bench()
    try await bench.notes.save(Note(0, "0"), for: "note")
    let notes = bench.notes
    let (hasBegun, goesOn) = (Gate(), Gate())
    let reader = Task {
      var states = notes.states(for: "note", policy: .cacheOnly).makeAsyncIterator()
      _ = await states.next()
      hasBegun.open()
      await goesOn.waitIgnoringCancellation()
      return await states.next()
    }
    try await hasBegun.wait()
    try await notes.save(Note(1, "1"), for: "note")
    reader.cancel()
    goesOn.open()
    #expect(await reader.value == nil)
    #expect(bench.reachability.openStreams == 0)
  }

  @Test func `a stream ends with its task, and its subscription with its iterator`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    let notes = bench.notes
    let started = Gate()
    let reader = Task {
      for await state in notes.states(for: "note") where state.value != nil { started.open() }
      return "ended"
    }
    await started.waitIgnoringCancellation()
    reader.cancel()
    #expect(await reader.value == "ended")
    await notes.invalidate("note")
    #expect(bench.transport.requestCount == 1)
    do {
      var states: LoadStates<Note>.Iterator? = notes.states(for: "note", policy: .cacheOnly).makeAsyncIterator()
      _ = await states?.next()
      states = nil
    }
    await notes.invalidate("note")
    #expect(bench.transport.requestCount == 1)
    #expect(bench.reachability.openStreams == 0)
  }

  @Test func `an invalidated resource is requested once for all its streams`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    var streams = (0..<10).map { _ in bench.notes.states(for: "note").makeAsyncIterator() }
    for index in streams.indices {
      #expect(await streams[index].first { $0.fetchStatus == .idle }?.value?.text == "one")
    }
    await bench.notes.invalidate("note")
    for index in streams.indices {
      #expect(await streams[index].first { $0.fetchStatus == .idle && !$0.isStale }?.value?.text == "two")
    }
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `offline a stream is paused, shows what it has, and asks when connectivity is back`() async throws {
    let bench = Bench { $0.freshFor = .zero }
    bench.transport.answer("/v1/note", with: .json(Note(1, "old").json), .json(Note(1, "new").json))
    _ = try await bench.notes.fetch("note")
    bench.reachability.set(false)
    var states = bench.notes.states(for: "note").makeAsyncIterator()
    let paused = await states.first { $0.fetchStatus == .paused }
    #expect(paused?.value?.text == "old" && paused?.error == nil)
    #expect(await error { try await bench.notes.fetchFromNetwork("note") }?.isNoConnectivity == true)
    #expect(bench.transport.requestCount == 1)
    bench.reachability.set(true)
    #expect(await states.first { $0.fetchStatus == .idle && $0.value?.text == "new" } != nil)
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `networkFirst shows what is on disk while it is paused`() async throws {
    let first = Bench()
    first.transport.answer("/v1/note", with: .json(Note(1, "stored").json))
    _ = try await first.notes.fetch("note")
    let bench = first.restarted()
    bench.reachability.set(false)
    var states = bench.notes.states(for: "note", policy: .networkFirst).makeAsyncIterator()
    #expect(await states.first { $0.fetchStatus == .paused && $0.value != nil }?.value?.text == "stored")
  }

  @Test func `a paused flight without waiters does not fire`() async throws {
    let bench = Bench()
    bench.reachability.set(false)
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "note").makeAsyncIterator()
    while let state = await states?.next(), state.fetchStatus != .paused {}
    states = nil
    bench.reachability.set(true)
    #expect(bench.reachability.openStreams == 0)
    #expect(bench.transport.requestCount == 0)
  }

  @Test func `a stream of an invalid resource says so, and ends with its subscriber`() async throws {
    let bench = Bench()
    let notes = bench.notes
    let said = Gate()
    let reader = Task {
      var count = 0
      for await state in notes.states(for: "../outside") {
        count += 1
        if state.error?.isInvalidResource == true { said.open() }
      }
      return count
    }
    await said.waitIgnoringCancellation()
    reader.cancel()
    #expect(await reader.value == 1)
    #expect(notes.states(for: Resource("note", method: .post)).current.error?.isInvalidResource == true)
  }

  @Test func `a stream keeps its reactor alive, and nothing else does`() async throws {
    weak var reactor: Reactor<Note>?
    var states: LoadStates<Note>.Iterator?
    let transport = ScriptedTransport { _, _ in .json(Note(1, "one").json) }
    let gone = Latch()
    do {
      let kept = Probe(transport, gone)
      // A loopback host, so that the machine's connectivity does not matter.
      let made = Reactor<Note>(baseURL: try #require(URL(string: "http://localhost/v1")), transport: kept)
      reactor = made
      states = made.states(for: "note").makeAsyncIterator()
    }
    #expect(await states?.first { $0.fetchStatus == .idle }?.value?.text == "one")
    #expect(!gone.isOpen)
    states = nil
    try await gone.wait()
    #expect(reactor == nil)
  }

  @Test func `the phase is the value if there is one, else the error, else loading`() {
    func name(_ phase: LoadState<Int>.Phase) -> String {
      switch phase {
      case .loading: "loading"
      case .loaded(let value): "loaded \(value)"
      case .failed(let error): "failed: \(error.reason)"
      }
    }
    #expect(name(LoadState<Int>().phase) == "loading")
    #expect(name(LoadState(value: 1, error: .timedOut).phase) == "loaded 1")
    #expect(name(LoadState<Int>(error: .timedOut).phase) == "failed: timed out")
  }
}

/// A transport whose release can be seen.
private final class Probe: Transport {
  private let base: ScriptedTransport
  private let gone: Latch

  init(_ base: ScriptedTransport, _ gone: Latch) { (self.base, self.gone) = (base, gone) }

  deinit { gone.open() }

  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    try await base.send(request, body: body, progress: progress)
  }
}
