import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore

/// Uses that no stream is made for, which must not harm other streams.
@Suite("Streams that are misused", .timeLimit(.minutes(5)))
struct StreamMisuseTests {
  @Test(arguments: [Resource("note"), Resource("note", method: .post)])
  func `of two readers of one iterator, the earlier gets the end, and neither waits for ever`(resource: Resource)
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
    let ended: Latch
    init(_ ended: Latch, _ ask: @escaping @Sendable () -> Void) { (self.ended, self.ask) = (ended, ask) }
    deinit {
      ask()
      ended.open()
    }
  }

  @Test func `an error that asks the reactor as it ends finds it unlocked`() async throws {
    let ended = (0..<3).map { _ in Latch() }
    let next = Shared(0)
    let holder = Shared<Reactor<Note>?>(nil)
    let transport = ScriptedTransport { _, _ in
      defer { next.change { $0 += 1 } }
      throw Asking(ended[next.value]) { _ = holder.value?.cached("note") }
    }
    let notes = ModelLayer(baseURL: Bench.url, transport: transport, reachability: .always).reactor(Note.self)
    holder.change { $0 = notes }
    // It keeps what is known of the key, the error too.
    let silent = notes.states(for: "note", policy: .cacheOnly).subscribe()
    _ = try? await notes.fetch("note")
    #expect(!ended[0].isOpen)
    _ = try? await notes.fetch("note")
    try await ended[0].wait()
    #expect(!ended[1].isOpen)
    try await notes.save(Note(1, "mine"), for: "note")
    try await ended[1].wait()
    _ = try? await notes.fetch("unwatched")
    try await ended[2].wait()
    silent.end()
    holder.change { $0 = nil }
  }

  @Test func `a paused stream's possible state is not computed for the others`() async throws {
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
