import Synchronization

/// The reader of a stream's states.
enum StateReader: Sendable {
  /// A stream, which pulls each state.
  case stream(StateSlot)
  /// An observer, which is called with each state.
  case observer(any StateObserving)

  /// The number of the stream.
  var id: FlightMachine.WaiterID {
    switch self {
    case .stream(let slot): slot.id
    case .observer(let observer): observer.id
    }
  }

  /// Ends the stream. A pending call for its next state returns `nil`, and the observer is no
  /// longer called. This does not wait for a call in progress on another thread.
  func end() {
    switch self {
    case .stream(let slot): slot.end()
    case .observer(let observer): observer.end()
    }
  }
}

/// A state for the readers that see the same value.
struct StateOffer<Reader: Sendable>: Sendable {
  let snapshot: KeySnapshot
  let readers: [Reader]
}

/// The newest state that a stream has not got yet. A newer one replaces it, so that a slow reader
/// gets the latest state, none twice, and never an older one.
final class StateSlot: Sendable {
  // Unsafe, because to check it takes an allocation for each state, and makes the size of this
  // struct unknown to the compiler. The code that takes it out resumes it.
  private typealias Continuation = UnsafeContinuation<KeySnapshot?, Never>

  private struct State {
    var waiting: KeySnapshot?
    /// The revision of the latest state that was offered; `nil` before the first.
    var revision: UInt64?
    /// The pending call of ``next()``; `nil` if none waits.
    var continuation: Continuation?
    var hasEnded = false
  }

  /// The number of the stream.
  let id: FlightMachine.WaiterID
  private let state = Mutex(State())

  init(_ id: FlightMachine.WaiterID) { self.id = id }

  /// Accepts a state, unless it is older than an earlier offer: the threads that make two changes
  /// may get here in another order. A pending call of ``next()`` returns it.
  func offer(_ snapshot: KeySnapshot) {
    let (continuation, replaced) = state.withLock { state -> (Continuation?, KeySnapshot?) in
      if state.hasEnded { return (nil, nil) }
      if let revision = state.revision, snapshot.revision <= revision { return (nil, nil) }
      state.revision = snapshot.revision
      if let continuation = state.continuation.take() { return (continuation, nil) }
      let replaced = state.waiting
      state.waiting = snapshot
      return (nil, replaced)
    }
    continuation?.resume(returning: snapshot)
    // Released without the lock: it may hold user objects.
    withExtendedLifetime(replaced) {}
  }

  /// Returns the state that waits; `nil` if none does.
  func take() -> KeySnapshot? { state.withLock { $0.waiting.take() } }

  /// Returns the next state once there is one; `nil` after the end.
  func next() async -> KeySnapshot? {
    await withUnsafeContinuation { continuation in
      let (due, snapshot) = state.withLock { state -> (Continuation?, KeySnapshot?) in
        if state.hasEnded { return (continuation, nil) }
        if let waiting = state.waiting.take() { return (continuation, waiting) }
        // Iterators are not called concurrently. If two calls overlap, the earlier one gets the
        // end.
        defer { state.continuation = continuation }
        return (state.continuation, nil)
      }
      due?.resume(returning: snapshot)
    }
  }

  func end() {
    let (continuation, waiting) = state.withLock { state in
      state.hasEnded = true
      return (state.continuation.take(), state.waiting.take())
    }
    continuation?.resume(returning: nil)
    withExtendedLifetime(waiting) {}
  }
}
