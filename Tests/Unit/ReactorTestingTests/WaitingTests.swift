import Foundation
import Observation
import ReactorCore
import Synchronization
import TestSupport
import Testing

@testable import ReactorTesting

@MainActor
@Suite("Waiting for a state", .timeLimit(.minutes(5)))
struct WaitingTests {
  private let gate = Gate()

  private func bench() -> Bench {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
    return bench
  }

  /// Runs `body`, and returns its only issue.
  private func issue(_ body: @MainActor () async -> Void) async -> Issue? {
    let issues = Mutex<[Issue]>([])
    await withKnownIssue {
      await body()
    } matching: { issue in
      issues.withLock { $0.append(issue) }
      return true
    }
    return issues.withLock { $0.count == 1 ? $0[0] : nil }
  }

  @Test func `a wait returns a present value at once, and a later one when it comes`() async throws {
    let bench = bench()
    var live: LiveResource<Note>? = LiveResource(bench.notes, "note")
    #expect(await live?.wait { $0.value == nil }.value == nil)
    let wait = Task { [live] in await live?.wait { $0.value != nil } }
    gate.open()
    #expect(await wait.value?.value?.text == "one")
    // Each change is on its way when the wait begins, or comes during it.
    for number in 1...100 {
      let save = Task { try await bench.notes.save(Note(number, "\(number)"), for: "note") }
      #expect(await live?.wait { $0.value?.text == "\(number)" }.value?.text == "\(number)")
      try await save.value
    }
    live = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a state that does not come in time is an issue at the wait, with the last state`() async throws {
    let bench = bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .response(.serviceUnavailable))
    var live: LiveResource<Note>? = LiveResource(bench.notes, "note")
    await live?.wait { $0.value != nil && $0.fetchStatus == .idle }
    await live?.refresh()
    let location = SourceLocation(fileID: "App/Test.swift", filePath: "/App/Test.swift", line: 7, column: 3)
    let issue = await issue {
      await live?.wait(timeLimit: .milliseconds(100), sourceLocation: location) { $0.value?.text == "two" }
    }
    let text = try #require(issue?.comments.first?.rawValue)
    #expect(issue?.sourceLocation == location)
    #expect(text.hasPrefix("the condition was not met within 0.1 seconds; the last state has the value "))
    #expect(text.contains("one") && text.contains("503") && text.hasSuffix("the fetch status idle"), "\(text)")
    live = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a cancelled wait returns without an issue`() async throws {
    let bench = bench()
    let live = LiveResource(bench.notes, "note")
    let wait = Task { await live.wait { $0.value != nil } }
    try await gate.waitForArrival()
    wait.cancel()
    #expect(await wait.value.value == nil)
    let states = bench.notes.states(for: "note")
    let other = Task { await states.wait { $0.value != nil } }
    other.cancel()
    #expect(await other.value?.value == nil)
  }

  @Test func `a sequence of states is waited for, to its end`() async throws {
    let bench = bench()
    let wait = Task { await bench.notes.states(for: "note").wait { $0.value?.text == "one" } }
    try await gate.waitForArrival()
    gate.open()
    #expect(await wait.value?.value?.text == "one")
    let late = await issue {
      await bench.notes.states(for: "note").wait(timeLimit: .milliseconds(100)) { $0.value?.text == "two" }
    }
    #expect(late?.comments.first?.rawValue.contains("within 0.1 seconds; the last state has the value") == true)
    let ended = await issue {
      await AsyncStream<LoadState<Int>> { $0.finish() }.wait { $0.value == 1 }
    }
    #expect(
      ended?.comments.first?.rawValue == "the states ended before one met the condition; there was no state")
    try await bench.waitUntilNothingWaits()
  }

  /// A sequence that never yields, and heeds no cancellation until the test lets it end.
  private struct Deaf: AsyncSequence, AsyncIteratorProtocol, Sendable {
    let end: Gate

    func makeAsyncIterator() -> Deaf { self }
    func next() async -> LoadState<Int>? { await next(isolation: nil) }
    func next(isolation actor: isolated (any Actor)?) async -> LoadState<Int>? {
      await end.waitIgnoringCancellation()
      return nil
    }
  }

  @Test func `the wait for a sequence that ignores cancellation ends in time`() async throws {
    let deaf = Deaf(end: Gate())
    let late = await issue { await deaf.wait(timeLimit: .milliseconds(100)) { $0.value == 1 } }
    #expect(
      late?.comments.first?.rawValue == "the condition was not met within 0.1 seconds; there was no state")
    let wait = Task { await deaf.wait { $0.value == 1 } }
    try await deaf.end.waitForArrival(count: 2)
    wait.cancel()
    #expect(await wait.value == nil)
    deaf.end.open()
  }

  @Test func `a wait observes a state once until it changes, however often it looks`() async {
    let screen = Screen(LiveResource(bench().notes, "note"))
    let (looks, observations) = (Shared(0), Shared(0))
    let end = await ObservedWait.run(.seconds(60), observes: { observations.change { $0 += 1 } }) {
      looks.change { $0 += 1 }
      if looks.value == 3 { screen.title = "changed" }
      return screen.title == "changed" && looks.value > 4
    }
    #expect(end == .met && observations.value == 2, "\(observations.value) observations of \(looks.value) looks")
  }

  @Observable final class Screen {
    var title = ""
    let notes: LiveResource<Note>

    init(_ notes: LiveResource<Note>) { self.notes = notes }
  }

  @Test func `a view model is waited for, and its properties are in the issue`() async throws {
    let bench = bench()
    let screen = Screen(LiveResource(bench.notes, "note"))
    let wait = Task { await screen.waitUntil { $0.title == "ten" } }
    for title in ["one", "two", "ten"] {
      await Task.yield()
      screen.title = title
    }
    await wait.value
    let issue = await issue { await screen.waitUntil(timeLimit: .milliseconds(100)) { $0.title == "two" } }
    let text = try #require(issue?.comments.first?.rawValue)
    #expect(
      text == "the condition was not met within 0.1 seconds; "
        + "the Screen has title: ten; notes: no value, no error, the fetch status fetching")
  }

  @Observable nonisolated final class Counter: @unchecked Sendable {
    private let storage = Mutex(0)
    var count: Int {
      get {
        access(keyPath: \.count)
        return storage.withLock { $0 }
      }
      set { withMutation(keyPath: \.count) { storage.withLock { $0 = newValue } } }
    }
  }

  @Test func `an object that changes on another thread is waited for`() async {
    let counter = Counter()
    for number in 1...50 {
      let change = Task.detached { counter.count = number }
      await counter.waitUntil { $0.count == number }
      await change.value
    }
  }
}
