import Foundation
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// A step that throws a cancellation without having been cancelled: its own time limit, a client
/// that was shut down.
@Suite("A step that cancels itself", .timeLimit(.minutes(5)))
struct CancellingStepTests {
  static let cancellations: [any Error] = [CancellationError(), URLError(.cancelled), ReactorError.cancelled]

  @Test(arguments: cancellations.indices)
  func `a stream shows the failure, and is neither loading nor successful`(index: Int) async throws {
    let thrown = Self.cancellations[index]
    let fails = Shared(true)
    let reactor = Reactor(
      flow: ReactorFlow<String> { (_: Resource) in
        if fails.value { throw thrown }
        return "one"
      })
    #expect(await error { try await reactor.fetch("a") }?.isCancelled == true)
    var states = reactor.states(for: "a").makeAsyncIterator()
    let failed = try #require(await states.first { $0.fetchStatus == .idle })
    guard failed.error?.isCancelled == true, case .failed(.cancelled) = failed.phase else {
      Issue.record("\(failed)")
      return
    }
    fails.change { $0 = false }
    #expect(try await reactor.fetch("a") == "one")
    #expect(await states.first { $0.fetchStatus == .idle }?.error == nil)
    fails.change { $0 = true }
    _ = try? await reactor.fetchFromNetwork("a")
    let kept = try #require(await states.first { $0.fetchStatus == .idle })
    #expect(kept.value == "one" && kept.error?.isCancelled == true)
  }

  @Test func `a caller that is cancelled is no failure of the others`() async throws {
    let gate = Gate()
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
    let notes = bench.notes
    let task = Task { await error { try await notes.fetch("note") } }
    try await gate.waitForArrival()
    var states = notes.states(for: "note").makeAsyncIterator()
    task.cancel()
    #expect(await task.value?.isCancelled == true)
    gate.open()
    let state = try #require(await states.first { $0.fetchStatus == .idle })
    #expect(state.value?.text == "one" && state.error == nil)
    try await bench.transport.waitUntilIdle()
  }
}
