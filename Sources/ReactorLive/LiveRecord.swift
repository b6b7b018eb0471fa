import Foundation
package import ReactorCore

/// The counts of a stream of changes since its layer was created and, once an inspector shows it,
/// its latest steps.
package struct LiveRecord: Sendable {
  package struct Counts: Sendable, Hashable, Encodable {
    /// The requests for the stream.
    package var connections = 0
    package var events = 0
    /// The marks that changes have made. Changes that arrive together are one.
    package var marks = 0
    /// The requests that changes have caused.
    package var refetches = 0
    package var gaps = 0
    /// The responses of replicas that did not have the change yet.
    package var lags = 0
  }

  package struct Step: Sendable {
    package enum Kind: Sendable {
      case connecting(isBehind: Bool)
      case status(LiveStatus)
      case hello(isResumed: Bool)
      /// A change, with one of its names, and the number of the others.
      case changed(String, others: Int)
      /// An event that says, or means, that changes were missed.
      case reset
      case bye
      /// An event that concerns nothing of the layer.
      case ignored
      /// Everything that the stream covers was marked.
      case gap
      case lagged(RecordKey)
    }

    package let number: UInt64
    let at: Duration
    package let kind: Kind
  }

  /// The number of steps that are kept.
  static let limit = 100

  private(set) var counts = Counts()
  private(set) var steps: [Step] = []
  /// A Boolean value that indicates whether steps are recorded.
  private(set) var isInspected = false
  /// Increases with each change of what an inspector shows.
  private(set) var version: UInt64 = 0
  private var lastNumber: UInt64 = 0
  private var queued = 0

  mutating func beginInspection() { isInspected = true }

  mutating func add(_ kind: @autoclosure () -> Step.Kind, at time: Duration) {
    version += 1
    guard isInspected else { return }
    lastNumber += 1
    if steps.count >= Self.limit { steps.removeFirst() }
    steps.append(Step(number: lastNumber, at: time, kind: kind()))
  }

  /// Removes the steps: they name what the user before had.
  mutating func removeSteps() {
    version += 1
    steps = []
  }

  /// Records the actions of a change of the state.
  mutating func note(_ actions: [LiveState.Action], at time: Duration) {
    version += 1
    for action in actions {
      switch action {
      case .connect(_, let request):
        counts.connections += 1
        add(.connecting(isBehind: !request.lastEventID.isEmpty), at: time)
      case .mark: counts.marks += 1
      case .markCovered:
        counts.gaps += 1
        add(.gap, at: time)
      case .disconnect: break
      }
    }
  }

  mutating func note(_ signal: LiveSignal, at time: Duration) {
    counts.events += 1
    switch signal {
    case .hello(let hello): add(.hello(isResumed: hello.isResumed), at: time)
    case .changed(let changes, _):
      guard isInspected, let name = changes.lazy.compactMap(\.set.name).first else { return add(.ignored, at: time) }
      add(.changed(name, others: changes.reduce(-1) { $0 + $1.set.names }), at: time)
    case .gap: add(.reset, at: time)
    case .leaving: add(.bye, at: time)
    case .nothing: add(.ignored, at: time)
    }
  }

  /// Records the requests that have begun, and the number of keys that wait or are requested.
  mutating func note(requests: Int, queued: Int) {
    guard requests > 0 || queued != self.queued else { return }
    counts.refetches += requests
    self.queued = queued
    version += 1
  }

  mutating func lagged(_ key: RecordKey, at time: Duration) {
    counts.lags += 1
    add(.lagged(key), at: time)
  }
}

extension KeySet {
  /// One of the names, for an inspector.
  fileprivate var name: String? {
    if let url = urls.min() { return url }
    if let path = paths.min() { return "all under \(path)" }
    return groups.min().map { "the group \($0)" } ?? (isAll ? "all" : nil)
  }

  fileprivate var names: Int { urls.count + paths.count + groups.count + (isAll ? 1 : 0) }
}

extension LiveStatus {
  /// The status without the body of an error that comes again and again.
  var withoutBody: LiveStatus {
    guard case .interrupted(.server(let response, _)?) = self else { return self }
    return .interrupted(.server(response, body: Data()))
  }
}
