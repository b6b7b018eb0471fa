import Dispatch
import Foundation
import HTTPTypes
import Observation
import ReactorTesting
import ReactorWrites
import TestSupport
import Testing

@testable import ReactorCore

@MainActor
@Suite("A live resource after a failed write", .timeLimit(.minutes(5)))
struct LiveDraftTests {
  private let change = Resource("change", method: .post)

  @Test func `once a write was refused, the main actor reads no draft of it`() async throws {
    let bench = Bench { $0.freshFor = .never }
    let (gate, thrown) = (Gate(), DispatchSemaphore(value: 0))
    bench.transport.answer("/v1/change", with: .response(.unprocessableContent).held(at: gate))
    try await bench.notes.save(Note(0, "known"), for: "note")
    var live: LiveResource<Note>? = LiveResource(bench.notes, "note")
    // The server refuses the write while the main actor is being shown its draft.
    withObservationTracking {
      #expect(live?.value?.text == "known")
    } onChange: {
      gate.open()
      thrown.wait()
    }
    let write = Task.detached { [notes = bench.notes, change, live] in
      let error = await #expect(throws: ReactorError.self) {
        try await notes.mutate("note", by: change) { $0.text = "draft" }
      }
      let reading = Task { @MainActor in live?.state }
      thrown.signal()
      return (await reading.value, error)
    }
    let (state, error) = await write.value
    #expect(error?.status == 422)
    #expect(state?.value?.text == "known" && state?.drafts.isEmpty == true)
    live = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `once a write was cancelled, nobody reads a draft of it, although its request has not ended`() async throws
  {
    let transport = DeafTransport()
    let layer = ModelLayer(
      baseURL: Bench.url, transport: transport, persistence: nil, reachability: ScriptedReachability(true))
    let notes: Reactor<Note> = layer.reactor()
    try await notes.save(Note(0, "known"), for: "note")
    let live = LiveResource(notes, "note", policy: .cacheOnly)
    #expect(live.value?.text == "known")
    let write = Task { try await notes.mutate("note", by: change) { $0.text = "draft" } }
    try await transport.arrived.wait()
    #expect(notes.cached("note")?.text == "draft")
    write.cancel()
    await #expect(throws: ReactorError.self) { try await write.value }
    #expect(notes.cached("note")?.text == "known")
    #expect(live.value?.text == "known" && live.state.drafts.isEmpty)
    transport.goesOn.settle(())
    await live.wait { $0.isInvalidated }
    #expect(live.value?.text == "known" && live.state.drafts.isEmpty)
  }

  /// A transport whose requests do not end when they are cancelled.
  private struct DeafTransport: Transport {
    let arrived = Gate()
    let goesOn = OneShot<Void>()

    func send(
      _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> (HTTPResponse, Data) {
      arrived.open()
      await goesOn.value
      return (HTTPResponse(status: .noContent), Data())
    }
  }
}
