import Foundation
import Synchronization

/// One open stream; it ends with this object, or before.
final class Subscription<Model: Sendable>: Sendable {
  private let engine: ReactorEngine
  private let resource: Resource
  private let place: Result<(RecordKey, FlightMachine.WaiterID), ReactorError>
  private let invalid = CancellationWait()

  init(_ engine: ReactorEngine, _ resource: Resource, _ policy: FetchPolicy, polling: Duration?) {
    self.engine = engine
    self.resource = resource
    do {
      place = .success(try engine.subscribe(resource, policy, polling: polling))
    } catch {
      place = .failure(error)
    }
  }

  deinit { end() }

  /// The next state, once there is one; `nil` after the end, and when the task is cancelled, which is the end too.
  func next() async -> LoadState<Model>? {
    switch place {
    case .success((let key, let id)): return await engine.next(key, id, of: resource)?.typed(as: Model.self)
    case .failure(let error):
      if invalid.isFirst { return LoadState(error: error) }
      await invalid.untilCancelled()
      return nil
    }
  }

  /// What is known now, given before or not; `nil` after the end. ``next()`` gives what is newer.
  func latest() -> LoadState<Model>? {
    switch place {
    case .success((let key, let id)): engine.latest(key, id, of: resource)?.typed(as: Model.self)
    case .failure(let error): LoadState(error: error)
    }
  }

  func end() {
    if case .success((let key, let id)) = place { engine.unsubscribe(key, id) }
  }
}

/// One open stream. Guarded by the reactor's lock; by reference, since each change of a value in a dictionary allocates.
final class Subscriber {
  let resource: Resource
  let policy: FetchPolicy
  /// Of the task that iterates, where that works for an owner.
  let wait: LockOwner.Wait?
  /// How often the network is asked for it.
  let polling: Duration?
  /// The clock's time at which it subscribed.
  let since: Duration
  /// Of the task that began it: what is asked for by itself is asked at it, whoever causes that.
  let priority: TaskPriority
  /// A Boolean value that indicates whether its policy lets it show what the key has.
  var showsValue: Bool
  /// A Boolean value that indicates whether the copy has come since it subscribed; one that was
  /// there comes, to it, from memory.
  var sawItArrive = false
  /// Its latest copy, where the key's is another variant (RFC 9111 §4.1).
  var ownVariant: CachedModel?
  /// A Boolean value that indicates whether it was told that nothing is cached, which concerns no
  /// other stream.
  var isNotCached = false
  /// Of the latest change that concerned it alone.
  var revision: UInt64 = 0
  /// The revision that it was given last.
  var delivered: UInt64?
  /// Set while it waits for the next revision.
  var continuation: CheckedContinuation<KeySnapshot?, Never>?

  init(
    resource: Resource, policy: FetchPolicy, polling: Duration?, since: Duration, priority: TaskPriority,
    showsValue: Bool, wait: LockOwner.Wait? = nil
  ) {
    self.resource = resource
    self.wait = wait
    self.policy = policy
    self.polling = polling
    self.since = since
    self.priority = priority
    self.showsValue = showsValue
  }

  /// The stream as a waiter of a flight.
  ///
  /// - Parameter policy: `nil`: its own.
  func waiter(_ id: FlightMachine.WaiterID, _ policy: FetchPolicy? = nil) -> FlightMachine.Waiter {
    FlightMachine.Waiter(id: id, kind: .stream, resource: resource, policy: policy ?? self.policy, wait: wait)
  }
}

/// What one stream may know of a key at one revision; a ``LoadState`` is made of it outside the lock.
struct KeySnapshot: Sendable {
  var copy: CachedModel?
  var error: ReactorError?
  var fetchStatus: FetchStatus
  var progress: TransferProgress?
  var origin: Origin?
  var revision: UInt64
  var valueRevision: UInt64
  /// A Boolean value that indicates whether it was removed, and nobody asks.
  var isRemoved: Bool
}

/// The wait of a stream that has nothing more to say: it ends with its subscriber, by cancellation.
final class CancellationWait: Sendable {
  private struct State {
    var isFirst = true
    var isCancelled = false
    var continuation: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  /// `true` once.
  var isFirst: Bool {
    state.withLock { state in
      defer { state.isFirst = false }
      return state.isFirst
    }
  }

  func untilCancelled() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // Of two that wait at once, which no iterator is made for, the earlier gets the end.
        let due: CheckedContinuation<Void, Never>? = state.withLock { state in
          if state.isCancelled { return continuation }
          defer { state.continuation = continuation }
          return state.continuation
        }
        due?.resume()
      }
    } onCancel: {
      let continuation = state.withLock { state in
        state.isCancelled = true
        defer { state.continuation = nil }
        return state.continuation
      }
      continuation?.resume()
    }
  }
}
