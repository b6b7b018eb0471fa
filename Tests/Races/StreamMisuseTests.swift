import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore

/// What no stream is made for, and what must not harm the others.
@Suite("Streams that are misused", .timeLimit(.minutes(1)))
struct StreamMisuseTests {
  @Test(arguments: [Resource("note"), Resource("note", method: .post)])
  func `of two that ask one iterator at once the earlier gets the end, and nobody waits for ever`(resource: Resource)
    async throws
  {
    let bench = Bench()
    let subscription = bench.notes.states(for: resource, policy: .cacheOnly).subscribe()
    while let state = await subscription.next(), state.error == nil {}
    let first = await withTaskGroup(of: LoadState<Note>?.self) { group in
      for _ in 0..<2 { group.addTask { await subscription.next() } }
      let first = await group.next() ?? nil
      group.cancelAll()
      return first
    }
    #expect(first == nil)
    subscription.end()
    try await bench.waitUntilNothingWaits()
  }

  /// An error that asks the reactor as it ends.
  private final class Asking: Error, Sendable {
    let ask: @Sendable () -> Void
    init(_ ask: @escaping @Sendable () -> Void) { self.ask = ask }
    deinit { ask() }
  }

  @Test func `an error that asks the reactor as it ends finds it unlocked`() async throws {
    let ended = Shared(0)
    let holder = Shared<Reactor<Note>?>(nil)
    let transport = ScriptedTransport { _, _ in
      throw Asking {
        _ = holder.value?.cached("note")
        ended.change { $0 += 1 }
      }
    }
    let notes = ModelLayer(baseURL: Bench.url, transport: transport, reachability: AlwaysReachable()).reactor(Note.self)
    holder.change { $0 = notes }
    // It keeps what is known of the key, the error too.
    let silent = notes.states(for: "note", policy: .cacheOnly).subscribe()
    for replaced in 0...1 {
      _ = try? await notes.fetch("note")
      try await transport.waitUntilIdle()
      await eventually("the one before has ended") { ended.value == replaced }
    }
    try await notes.save(Note(1, "mine"), for: "note")
    await eventually("a write has ended it") { ended.value == 2 }
    _ = try? await notes.fetch("unwatched")
    await eventually("nobody keeps it") { ended.value == 3 }
    silent.end()
    holder.change { $0 = nil }
  }

  @Test func `what one stream may show while it is paused makes no state for the others`() async throws {
    let bench = Bench { $0.freshFor = .zero }
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    _ = try await bench.notes.fetch("note")
    bench.reachability.set(false)
    let first = bench.notes.states(for: "note", policy: .networkFirst).subscribe()
    var shown: LoadState<Note>?
    while let state = await first.next() {
      shown = state
      if state.fetchStatus == .paused, state.value != nil { break }
    }
    for _ in 0..<100 {
      var other = bench.notes.states(for: "note", policy: .networkFirst).makeAsyncIterator()
      #expect(await other.first { $0.value != nil }?.fetchStatus == .paused)
    }
    #expect(shown?.revision == first.latest()?.revision)
    try await bench.notes.save(Note(2, "mine"), for: "note")
    #expect(await first.next()?.value?.text == "mine")
    first.end()
    try await bench.waitUntilNothingWaits()
  }
}
