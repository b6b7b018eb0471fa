import Foundation
import Synchronization

/// An open stream of states. It ends with ``end()``, or when this object is released.
final class Subscription<Model: Sendable>: Sendable {
  private let engine: ReactorEngine
  private let resource: Resource
  private let place: Result<(RecordKey, FlightMachine.WaiterID), ReactorError>
  private let invalid = CancellationWait()

  /// - Parameter observer: who is called with the states; `nil` if ``next()`` asks for them.
  init(_ states: LoadStates<Model>, observer: StateObserver? = nil) {
    (engine, resource) = (states.engine, states.resource)
    do {
      place = .success(try engine.subscribe(resource, states.policy, polling: states.polling, observer: observer))
    } catch {
      place = .failure(error)
      if let observer { engine.refuse(observer, resource, error) }
    }
  }

  deinit { end() }

  /// Returns the next state once there is one; `nil` after the end. Cancelling the task ends the
  /// stream.
  func next() async -> LoadState<Model>? {
    switch place {
    case .success((let key, let id)): return await engine.next(key, id, of: resource)?.typed(as: Model.self)
    case .failure(let error):
      if invalid.isFirst { return LoadState(error: error) }
      await invalid.untilCancelled()
      return nil
    }
  }

  /// Returns the current state, delivered before or not; `nil` after the end. ``next()`` then
  /// returns only newer states.
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

/// An open stream, as the engine sees it. Guarded by the reactor's lock. A class, because changing
/// a value in a dictionary allocates.
final class Subscriber {
  let id: FlightMachine.WaiterID
  let resource: Resource
  let policy: FetchPolicy
  /// The wait of the task that iterates, if that task works for an owner.
  let wait: LockOwner.Wait?
  /// The polling interval; `nil` for none.
  let polling: Duration?
  /// The clock's time of the subscription.
  let since: Duration
  /// The priority of the task that subscribed. Automatic requests run at this priority, whatever
  /// causes them.
  let priority: TaskPriority
  /// A Boolean value that indicates whether the policy lets the stream show the key's copy.
  var showsValue: Bool
  /// A Boolean value that indicates whether the copy arrived after the subscription. The stream
  /// reports ``Origin/memory`` for an earlier one.
  var sawItArrive = false
  /// The stream's latest copy, if the key's copy is another variant (RFC 9111 §4.1).
  var ownVariant: CachedModel?
  /// A Boolean value that indicates whether this `cacheOnly` stream found nothing cached. Other
  /// streams are unaffected.
  var isNotCached = false
  /// The revision of the latest change that concerned this stream alone.
  var revision: UInt64 = 0
  /// The revision that the stream received last.
  var delivered: UInt64?
  /// The pending call for the next revision; `nil` if none waits.
  var continuation: CheckedContinuation<KeySnapshot?, Never>?
  /// The observer that is called with each revision; `nil` for a stream, which asks for them.
  var observer: StateObserver?

  /// The properties that decide what the stream sees of the key's state, beside its copy.
  struct View: Equatable {
    let showsValue: Bool
    let sawItArrive: Bool
    let isNotCached: Bool
    let revision: UInt64
  }

  var view: View {
    View(showsValue: showsValue, sawItArrive: sawItArrive, isNotCached: isNotCached, revision: revision)
  }

  /// A Boolean value that indicates whether a new revision is to be delivered at once.
  var isWaiting: Bool { observer != nil || continuation != nil }

  init(
    _ id: FlightMachine.WaiterID, resource: Resource, policy: FetchPolicy, polling: Duration?, since: Duration,
    priority: TaskPriority, showsValue: Bool, wait: LockOwner.Wait? = nil
  ) {
    self.id = id
    self.resource = resource
    self.wait = wait
    self.policy = policy
    self.polling = polling
    self.since = since
    self.priority = priority
    self.showsValue = showsValue
  }

  /// Returns the stream as a waiter of a flight.
  ///
  /// - Parameter policy: the policy of the waiter; `nil` for the stream's own.
  func waiter(_ policy: FetchPolicy? = nil) -> FlightMachine.Waiter {
    FlightMachine.Waiter(id: id, kind: .stream, resource: resource, policy: policy ?? self.policy, wait: wait)
  }
}

/// The open streams of a key, in the order of their numbers. To open or end one moves those of
/// greater numbers, which is less than to sort all for each change.
struct Subscribers {
  private(set) var all: [Subscriber] = []

  var isEmpty: Bool { all.isEmpty }
  var count: Int { all.count }

  subscript(id: FlightMachine.WaiterID) -> Subscriber? {
    let index = place(of: id)
    return index < all.endIndex && all[index].id == id ? all[index] : nil
  }

  mutating func insert(_ subscriber: Subscriber) {
    // Another thread may have drawn a greater number, and be here before.
    all.insert(subscriber, at: place(of: subscriber.id))
  }

  mutating func remove(_ id: FlightMachine.WaiterID) -> Subscriber? {
    let index = place(of: id)
    guard index < all.endIndex, all[index].id == id else { return nil }
    // Most keys have no streams most of the time, and an emptied array keeps its storage.
    defer { if all.isEmpty { all = [] } }
    return all.remove(at: index)
  }

  /// Returns the index of the first stream whose number is not less than `id`.
  private func place(of id: FlightMachine.WaiterID) -> Int {
    guard let last = all.last, last.id >= id else { return all.endIndex }
    var (low, high) = (0, all.endIndex)
    while low < high {
      let middle = low + (high - low) / 2
      if all[middle].id < id { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// The state of a key that a stream may see, at one revision. The shell makes a ``LoadState`` of it
/// without the lock. A class, since the streams that see the same share it.
final class KeySnapshot: Sendable {
  let copy: CachedModel?
  /// The copy with its drafts, to be computed without the lock; `nil` if there are none.
  let drafted: DraftedModel?
  /// The drafts that no server has accepted yet.
  let pending: [Draft]
  let error: ReactorError?
  let fetchStatus: FetchStatus
  let progress: TransferProgress?
  let origin: Origin?
  let revision: UInt64
  let valueRevision: UInt64
  /// A Boolean value that indicates whether the key was removed and no request is under way.
  let isRemoved: Bool

  init(
    copy: CachedModel? = nil, drafted: DraftedModel? = nil, pending: [Draft] = [], error: ReactorError?,
    fetchStatus: FetchStatus = .idle, progress: TransferProgress? = nil, origin: Origin? = nil, revision: UInt64 = 0,
    valueRevision: UInt64 = 0, isRemoved: Bool = false
  ) {
    self.copy = copy
    self.drafted = drafted
    self.pending = pending
    self.error = error
    self.fetchStatus = fetchStatus
    self.progress = progress
    self.origin = origin
    self.revision = revision
    self.valueRevision = valueRevision
    self.isRemoved = isRemoved
  }
}

/// The wait of a stream for an invalid resource. After its error, such a stream yields nothing
/// until its task is cancelled.
final class CancellationWait: Sendable {
  private struct State {
    var isFirst = true
    var isCancelled = false
    var continuation: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  /// `true` at the first access only.
  var isFirst: Bool {
    state.withLock { state in
      defer { state.isFirst = false }
      return state.isFirst
    }
  }

  func untilCancelled() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // Iterators are not called concurrently. If two calls overlap, the earlier one gets the
        // end.
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
