import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore

/// The state of a stream, as the tables of the documentation write it: `none – fetching`.
struct ShownState: Sendable, CustomStringConvertible {
  enum Value: String, Sendable { case none, fresh, stale }

  let value: Value
  let hasError: Bool
  let status: FetchStatus

  init?(_ text: String) {
    let words = text.split(separator: " ")
    guard words.count == 3, let value = Value(rawValue: String(words[0])), ["–", "error"].contains(words[1]),
      let status = Self.statuses.first(where: { $0.0 == words[2] })?.1
    else { return nil }
    self.value = value
    hasError = words[1] == "error"
    self.status = status
  }

  init<Model>(_ state: LoadState<Model>) {
    value = state.value == nil ? .none : state.isStale ? .stale : .fresh
    hasError = state.error != nil
    status = state.fetchStatus
  }

  var description: String {
    "\(value) \(hasError ? "error" : "–") \(Self.statuses.first { $0.1 == status }?.0 ?? "")"
  }

  private static let statuses: [(String, FetchStatus)] = [
    ("idle", .idle), ("fetching", .fetching), ("paused", .paused),
  ]
}

/// A stream that can be brought into any state, and to which anything can happen.
final class TransitionBench {
  let bench: Bench
  private let gate: Gate
  private let fails: Shared<Bool>
  /// The number of requests so far.
  private var requests = 0
  private var stream: Subscription<Note>?
  /// Of the state that was seen last.
  private var revision: UInt64?
  private var others: [Subscription<Note>] = []

  /// - Parameter failure: what a request that fails is answered with.
  init(failure: ScriptedTransport.Answer = .response(.serviceUnavailable)) {
    let gate = Gate()
    let fails = Shared(false)
    self.gate = gate
    self.fails = fails
    let transport = ScriptedTransport { request, _ in
      if request.path != "/v1/probe" { try await gate.wait() }
      return fails.value ? failure : .json(Note(1, "one").json)
    }
    bench = Bench(transport: transport) { $0.freshFor = .seconds(60) }
  }

  private var notes: Reactor<Note> { bench.notes }

  /// Opens the stream, and makes happen what leads to `state`.
  func reach(_ state: ShownState) async throws {
    if state.value == .none { try await reachNothing(state) } else { try await reachValue(state) }
    bench.reachability.set(state.status != .paused)
    // The request is under way: connectivity no longer concerns it.
    if state.status == .fetching { try await gate.waitForArrival(count: requests) }
  }

  private func reachNothing(_ state: ShownState) async throws {
    bench.reachability.set(state.hasError || state.status != .paused)
    requests += 1
    stream = notes.states(for: "note").subscribe()
    if state.hasError {
      try await failOnce()
      await see("none error idle")
      ask(state.status)
    } else if state.status == .idle {
      try await notes.remove("note")
    }
    if !state.hasError || state.status != .idle { await see("\(state)") }
  }

  private func reachValue(_ state: ShownState) async throws {
    requests += 1
    gate.open()
    _ = try await notes.fetch("note")
    gate.close()
    stream = notes.states(for: "note").subscribe()
    await see("fresh – idle")
    if state.hasError {
      ask(.fetching)
      try await failOnce()
      await see("fresh error idle")
    }
    // Time makes no state: what comes after it shows the age.
    if state.value == .stale { bench.clock.advance(by: .seconds(61)) }
    ask(state.status)
    if state.status != .idle { await see("\(state)") }
  }

  /// Another stream asks, whatever is known.
  private func ask(_ status: FetchStatus) {
    guard status != .idle else { return }
    requests += 1
    bench.reachability.set(status == .fetching)
    others.append(notes.states(for: "note", policy: .networkOnly).subscribe())
  }

  private func failOnce() async throws {
    try await gate.waitForArrival(count: requests)
    fails.change { $0 = true }
    gate.letOneThrough()
    try await bench.log.wait(for: .failed)
    fails.change { $0 = false }
  }

  /// Reads until the stream shows `state`; `false` where it ends before.
  @discardableResult func see(_ state: String) async -> Bool {
    while let seen = await stream?.next() {
      revision = seen.revision
      if seen.fetchStatus == .idle, case .loading = seen.phase { Issue.record("nothing is asked for: \(seen)") }
      if "\(ShownState(seen))" == state { return true }
    }
    return false
  }

  /// True if there is no state to read after the last one, without waiting.
  var showsNothing: Bool { stream?.latest()?.revision == revision }

  func close() {
    stream = nil
    others = []
  }
}

extension TransitionBench {
  /// Makes the thing happen that heads a column of the table.
  func happen(_ event: String, in state: ShownState) async throws {
    switch event {
    case "asked": ask(state.status == .paused ? .paused : .fetching)
    case "asked offline": ask(.paused)
    case "answered": gate.open()
    case "failed":
      fails.change { $0 = true }
      gate.open()
    case "connectivity returns": try await reconnect()
    case "invalidated": await notes.invalidate("note")
    case "saved": try await notes.save(Note(2, "mine"), for: "note")
    case "removed": try await notes.remove("note")
    default: throw Broken()
    }
  }

  /// Returns once the reactor has dealt with it: a stream that waits for nothing else has
  /// continued.
  private func reconnect() async throws {
    bench.reachability.set(false)
    let probe = notes.states(for: "probe").subscribe()
    while let state = await probe.next(), state.fetchStatus != .paused {}
    bench.reachability.set(true)
    while let state = await probe.next(), state.value == nil {}
  }
}
