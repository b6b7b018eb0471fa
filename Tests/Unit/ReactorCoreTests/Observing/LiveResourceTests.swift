import Foundation
import HTTPTypes
import Observation
import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@MainActor
@Suite("A live model", .timeLimit(.minutes(5)))
struct LiveResourceTests {
  @Test func `nothing happens until it is read, and then the first state is there at once`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    try await bench.notes.save(Note(0, "known"), for: "note")
    var live: LiveResource<Note>? = LiveResource(bench.notes, "note")
    #expect(bench.reachability.openStreams == 0)
    #expect(live?.value?.text == "known")
    #expect(live?.state.origin == .memory || live?.state.origin == .local)
    live = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a live resource goes from loading to loaded, and follows other callers' changes`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
    var live: LiveResource<Note>? = LiveResource(bench.notes, "note")
    #expect(live?.isLoading == true && live?.value == nil && live?.error == nil)
    gate.open()
    await live?.wait { $0.fetchStatus == .idle }
    #expect(live?.value?.text == "one" && live?.isLoading == false)
    try await bench.notes.save(Note(2, "mine"), for: "note")
    await live?.wait { $0.value?.text == "mine" }
    try await bench.notes.remove("note")
    await live?.wait { $0.value == nil }
    live = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `refresh returns when the state says how it went`() async throws {
    let bench = Bench()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json), .response(.serviceUnavailable))
    var live: LiveResource<Note>? = LiveResource(bench.notes, "note", policy: .cacheOnly)
    await live?.refresh()
    #expect(live?.value?.text == "one" && live?.error == nil)
    await live?.refresh()
    #expect(live?.value?.text == "two")
    await live?.refresh()
    #expect(live?.value?.text == "two" && live?.error?.status == 503)
    bench.reachability.set(false)
    await live?.refresh()
    #expect(live?.error?.isNoConnectivity == true && live?.isLoading == false)
    live = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a refresh whose task is cancelled continues for observers`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json).held(at: gate))
    var live: LiveResource<Note>? = LiveResource(bench.notes, "note", policy: .cacheOnly)
    await live?.refresh()
    let refresh = Task { [live] in await live?.refresh() }
    try await gate.waitForArrival()
    refresh.cancel()
    await refresh.value
    #expect(bench.transport.inFlight == 1 && live?.isLoading == true)
    gate.open()
    await live?.wait { $0.value?.text == "two" && $0.fetchStatus == .idle }
    #expect(bench.transport.cancellationCount == 0 && bench.transport.requestCount == 2)
    live = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a request that continues ends with the last observer`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json).held(at: gate))
    var live: LiveResource<Note>? = LiveResource(bench.notes, "note", policy: .cacheOnly)
    await live?.refresh()
    let refresh = Task { [weak live] in await live?.refresh() }
    try await gate.waitForArrival()
    refresh.cancel()
    await refresh.value
    live = nil
    try await bench.transport.waitForCancellations()
    try await bench.waitUntilNothingWaits()
    gate.open()
  }

  @Test func `a cancelled fetch is cancelled even if the resource is observed`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json).held(at: gate))
    var live: LiveResource<Note>? = LiveResource(bench.notes, "note", policy: .cacheOnly)
    await live?.refresh()
    let fetch = Task { try await bench.notes.fetchFromNetwork("note") }
    try await gate.waitForArrival()
    fetch.cancel()
    try await bench.transport.waitForCancellations()
    await #expect(throws: ReactorError.self) { try await fetch.value }
    live = nil
    try await bench.waitUntilNothingWaits()
    gate.open()
  }

  @Test func `a live resource of a write has no states, and refresh does not send it`() async {
    let bench = Bench()
    let live = LiveResource(bench.notes, Resource("note", method: .post))
    #expect(live.error?.isInvalidResource == true)
    await live.refresh()
    #expect(bench.transport.requestCount == 0)
  }

  @Test func `a view that reads only the value does not update when requests start or end`() async throws {
    let bench = Bench { $0.freshFor = .never }
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json), .response(.serviceUnavailable).held(at: gate),
      .json(Note(1, "two").json))
    var live: LiveResource<Note>? = LiveResource(bench.notes, "note")
    await live?.wait { $0.fetchStatus == .idle }
    let told = Shared(0)
    withObservationTracking {
      _ = live?.value
    } onChange: {
      told.change { $0 += 1 }
    }
    let refresh = Task { [live] in await live?.refresh() }
    await live?.wait { $0.fetchStatus == .fetching }
    gate.open()
    await refresh.value
    #expect(live?.error?.status == 503 && told.value == 0)
    await live?.refresh()
    #expect(live?.value?.text == "two" && told.value == 1)
    live = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `Observations follows a live resource without an adapter`() async throws {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    var live: LiveResource<Note>? = LiveResource(bench.notes, "note")
    let followed = live
    var texts = Observations { followed?.value?.text }.makeAsyncIterator()
    var seen: [String] = []
    while seen.last != "one", let text = await texts.next() { if let text { seen.append(text) } }
    await live?.refresh()
    while seen.last != "two", let text = await texts.next() { if let text { seen.append(text) } }
    #expect(seen == ["one", "two"])
    live = nil
  }

  @Test func `a released live model cancels its request unless another caller waits for it`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
    var live: LiveResource<Note>? = LiveResource(bench.notes, "note")
    weak let released = live
    #expect(live?.isLoading == true)
    try await gate.waitForArrival()
    live = nil
    #expect(released == nil)
    try await bench.transport.waitForCancellations()
    try await bench.waitUntilNothingWaits()
    await bench.notes.invalidate("note")
    #expect(bench.transport.requestCount == 1)
  }

  @Test func `a live resource may be released from inside its own observer`() async throws {
    let bench = Bench()
    // It has its value after the observation began.
    let observed = Gate()
    bench.transport.answer("/v1/note", with: ScriptedTransport.Answer.json(Note(1, "one").json).held(at: observed))
    let holder = Shared<LiveResource<Note>?>(LiveResource(bench.notes, "note"))
    weak let released = holder.value
    await withCheckedContinuation { continuation in
      withObservationTracking {
        _ = holder.value?.value
      } onChange: {
        holder.change { $0 = nil }
        continuation.resume()
      }
      observed.open()
    }
    try await bench.waitUntilNothingWaits()
    await Task { @MainActor in }.value
    #expect(released == nil)
  }

  @Test func `a live resource follows any sequence of states`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    var live: LiveResource<Int>? = LiveResource(bench.notes.states(for: "note").mapValues { $0.text.count })
    await live?.wait { $0.value == 3 && $0.fetchStatus == .idle }
    live = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a view updates for a value from another sequence than the last`() async throws {
    let states = AsyncStream<LoadState<Int>>.makeStream()
    let live = LiveResource(states.stream)
    for value in [1, 2] {
      let single = AsyncStream<Int> { continuation in
        continuation.yield(value)
        continuation.finish()
      }
      let told = Shared(false)
      withObservationTracking {
        _ = live.value
      } onChange: {
        told.change { $0 = true }
      }
      for await state in single.loadStates() where state.value != nil { states.continuation.yield(state) }
      await live.wait { $0.value == value }
      #expect(told.value)
    }
    states.continuation.finish()
  }
}
