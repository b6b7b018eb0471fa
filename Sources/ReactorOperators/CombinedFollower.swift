import ReactorCore
import Synchronization

/// Iterates a part, and passes each of its states on.
typealias CombinedSource = @Sendable (_ receive: CombinedReceiver) async -> Void
/// Takes a state without its value, and the closure that stores the value.
typealias CombinedReceiver = @Sendable (LoadState<Void>, () -> Void) -> Void

/// The latest value of a part. The lock of ``CombinedFollower`` orders its accesses, so its own is
/// never contended.
final class CombinedValue<Model: Sendable>: Sendable {
  struct Missing: Error {}

  private let latest = Mutex<Model?>(nil)

  var value: Model? { latest.withLock { $0 } }
  var isPresent: Bool { latest.withLock { $0 != nil } }

  func required() throws(Missing) -> Model {
    guard let value else { throw Missing() }
    return value
  }

  func exchange(_ value: inout Model?) { latest.withLock { swap(&$0, &value) } }
}

/// The parts of one subscription, and what their values are together.
struct CombinedParts<Value: Sendable>: Sendable {
  let sources: [CombinedSource]
  let value: @Sendable () -> Value?
}

/// One reader's subscriptions; releasing this object ends all.
final class CombinedSubscription<Value: Sendable>: Sendable {
  private let follower: CombinedFollower<Value>
  private let tasks: [Task<Void, Never>]

  init(_ follower: CombinedFollower<Value>) {
    self.follower = follower
    // The tasks retain the follower, not this object, so that releasing the object ends them.
    tasks = follower.parts.sources.indices.map { number in
      spawn(on: nil, for: LockOwner.current) { await follower.follow(number) }
    }
  }

  deinit { end() }

  func next() async -> LoadState<Value>? {
    await withTaskCancellationHandler {
      await follower.next()
    } onCancel: {
      end()
    }
  }

  private func end() {
    follower.cancel()
    for task in tasks { task.cancel() }
  }
}

/// Follows all parts: the shell around ``CombinedMachine``.
final class CombinedFollower<Value: Sendable>: Sendable {
  let parts: CombinedParts<Value>
  private let machine: Mutex<CombinedMachine>

  init(_ parts: CombinedParts<Value>, _ errors: CombinedErrors) {
    self.parts = parts
    machine = Mutex(CombinedMachine(count: parts.sources.count, errors: errors))
  }

  /// Follows one part until it ends, or the task is cancelled.
  func follow(_ number: Int) async {
    let source = parts.sources[number]
    await source { state, store in
      self.change { machine in
        guard !machine.isCancelled else { return nil }
        store()
        return machine.receive(state, from: number)
      }
    }
    change { $0.end(number) }
  }

  /// Returns the latest state, once it is new; `nil` after the end, and once it is cancelled.
  func next() async -> LoadState<Value>? {
    while true {
      let (next, value) = machine.withLock { machine in
        let next = machine.next()
        return if case .yield = next { (next, parts.value()) } else { (next, nil) }
      }
      switch next {
      case .yield(let state): return Self.state(state, value)
      case .end: return nil
      case .wait: await untilChanged()
      }
    }
  }

  func cancel() { change { $0.cancel() } }

  private static func state(_ head: LoadState<Void>, _ value: Value?) -> LoadState<Value> {
    var state = head.with(value)
    if value != nil {
      // One part alone may have been removed.
      state.isRemoved = false
    } else {
      (state.origin, state.fetchedAt, state.isStale) = (nil, nil, false)
    }
    return state
  }

  private func untilChanged() async {
    await withCheckedContinuation { continuation in
      let isParked = machine.withLock { $0.park(continuation) }
      if !isParked { continuation.resume() }
    }
  }

  private func change(_ body: (inout CombinedMachine) -> CheckedContinuation<Void, Never>?) {
    machine.withLock { body(&$0) }?.resume()
  }
}

/// The state machine that decides which state a combination of several has, but for its value.
///
/// The lock of ``CombinedFollower`` guards it. Changes return the reader to resume after unlocking.
struct CombinedMachine: Sendable {
  enum Next {
    case yield(LoadState<Void>)
    case wait
    case end
  }

  private let errors: CombinedErrors
  private var parts: [LoadState<Void>]
  /// The parts that have yielded a state.
  private var areKnown: [Bool]
  private var running: Int
  private(set) var isCancelled = false
  /// The number of the latest state to yield; 0 before the first.
  private var revision: UInt64 = 0
  private var valueRevision: UInt64 = 0
  private var given: UInt64 = 0
  private var waiter: CheckedContinuation<Void, Never>?

  init(count: Int, errors: CombinedErrors) {
    self.errors = errors
    parts = Array(repeating: LoadState(fetchStatus: .fetching), count: count)
    areKnown = Array(repeating: false, count: count)
    running = count
  }

  mutating func receive(_ state: LoadState<Void>, from number: Int) -> CheckedContinuation<Void, Never>? {
    let old = parts[number]
    parts[number] = state
    areKnown[number] = true
    // States that were made by hand may not number their values.
    let isSameValue =
      (old.value == nil) == (state.value == nil)
      && (state.value == nil || (old.valueRevision == state.valueRevision && state.valueRevision > 0))
    if !isSameValue { valueRevision = ValueRevision.next() }
    revision += 1
    return waiter.take()
  }

  /// A part has ended. If it has yielded nothing, it is not fetching.
  mutating func end(_ number: Int) -> CheckedContinuation<Void, Never>? {
    running -= 1
    guard !isCancelled else { return waiter.take() }
    return areKnown[number] ? waiter.take() : receive(LoadState(), from: number)
  }

  /// Ends everything.
  mutating func cancel() -> CheckedContinuation<Void, Never>? {
    isCancelled = true
    return waiter.take()
  }

  /// Returns the latest state, if it was not yielded yet.
  mutating func next() -> Next {
    if isCancelled { return .end }
    guard given == revision else {
      given = revision
      return .yield(state)
    }
    return running == 0 ? .end : .wait
  }

  /// Stores the reader until there is a state for it; returns `false` if there is one already.
  mutating func park(_ reader: CheckedContinuation<Void, Never>) -> Bool {
    guard !isCancelled, given == revision, running > 0 else { return false }
    waiter = reader
    return true
  }

  private var state: LoadState<Void> {
    let shown = parts.filter { $0.value != nil }
    let origins = Set(shown.map(\.origin))
    var state = LoadState<Void>(
      error: error, fetchStatus: fetchStatus, origin: origins.count == 1 ? shown.first?.origin : nil,
      fetchedAt: shown.compactMap(\.fetchedAt).min(), isStale: shown.contains(where: \.isStale),
      progress: parts.lazy.compactMap(\.progress).first, revision: revision, valueRevision: valueRevision)
    state.isRemoved = parts.contains(where: \.isRemoved)
    state.isInvalidated = shown.contains(where: \.isInvalidated)
    state.isPlaceholder = shown.contains(where: \.isPlaceholder)
    for id in parts.flatMap(\.drafts) where !state.drafts.contains(id) { state.drafts.append(id) }
    return state
  }

  private var error: ReactorError? {
    switch errors {
    case .ofAnyPart: parts.lazy.compactMap(\.error).first
    case .ofMissingParts: parts.lazy.filter { $0.value == nil }.compactMap(\.error).first
    }
  }

  private var fetchStatus: FetchStatus {
    let statuses = Set(parts.map(\.fetchStatus))
    return statuses.contains(.fetching) ? .fetching : statuses.contains(.paused) ? .paused : .idle
  }
}
