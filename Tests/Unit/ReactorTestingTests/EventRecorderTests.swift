import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `An event recorder` {
  private let transport = ScriptedTransport()
  private let layer: ModelLayer

  init() {
    var configuration = ReactorConfiguration()
    configuration.keepUnusedFor = .never
    configuration.retry = .never
    layer = ModelLayer(
      baseURL: Bench.url, transport: transport, reachability: .always, configuration: configuration)
    transport.answer("/v1/numbers", with: .json("[1, 2]"))
  }

  @Test func `an event recorder has what happened, in order`() async throws {
    let recorder = EventRecorder(layer)
    let numbers = layer.reactor([Int].self)
    _ = try await numbers.fetch("numbers")
    _ = try await numbers.fetch("numbers")
    #expect(recorder.names.first == .memoryMiss)
    #expect(recorder.names.last == .memoryHit)
    #expect(recorder.count(.memoryMiss) == 1 && recorder.count(.memoryHit) == 1)
    #expect(recorder.events.map(\.model).allSatisfy { $0 == "Array<Int>" })
  }

  @Test func `an event recorder waits for what happens, and for what has happened`() async throws {
    let recorder = EventRecorder(layer)
    let gate = Gate()
    transport.answer("/v1/numbers", with: ScriptedTransport.Answer.json("[1]").held(at: gate))
    let fetch = Task { try await layer.reactor([Int].self).fetch("numbers") }
    try await recorder.wait(for: .request)
    #expect(recorder.count(.response) == 0)
    let response = Task { try await recorder.wait(for: .response) }
    gate.open()
    try await response.value
    #expect(try await fetch.value == [1])
    try await recorder.wait(for: .memoryMiss)
  }

  @Test func `an event recorder ends a wait without success when it is cancelled`() async throws {
    let recorder = EventRecorder(layer)
    let wait = Task { try await recorder.wait(for: .removed) }
    wait.cancel()
    await #expect(throws: CancellationError.self) { try await wait.value }
  }

  @Test func `an event recorder records an issue with all that led to it`() async throws {
    let numbers = layer.reactor([Int].self)
    _ = try await numbers.fetch("numbers")
    let issues = Mutex<[String]>([])
    try await withKnownIssue {
      // Too late: what memory has was not seen to come.
      let recorder = EventRecorder(layer)
      _ = try await numbers.fetch("numbers")
      #expect(recorder.names == [.memoryHit])
    } matching: { issue in
      issues.withLock { $0.append("\(issue.comments)") }
      return true
    }
    let text = issues.withLock { $0.joined() }
    #expect(text.contains("no model was stored in memory") && text.contains("1. memory hit"), "\(text)")
  }

  @Test func `an event recorder observes no longer than it lives`() async throws {
    var recorder: EventRecorder? = EventRecorder(layer)
    #expect(recorder?.events.isEmpty == true)
    weak let released = recorder
    recorder = nil
    #expect(released == nil)
    _ = try await layer.reactor([Int].self).fetch("numbers")
  }
}
