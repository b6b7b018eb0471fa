import Foundation
import Synchronization

/// An open stream or observation of states. It ends with ``end()``, or when this object is
/// released.
final class Subscription<Model: Sendable>: Sendable {
  private let engine: ReactorEngine
  private let reader: StateReader
  /// The key of the states, or the reason why it cannot have any.
  private let key: Result<RecordKey, ReactorError>
  private let invalid = CancellationWait()

  /// - Parameter observer: the observer to call with the states; `nil` if ``next()`` pulls them.
  init(_ states: LoadStates<Model>, observer: StateObserver<Model>? = nil) {
    engine = states.engine
    reader = observer.map { .observer($0) } ?? .stream(StateSlot(engine.nextID()))
    do {
      key = .success(try engine.subscribe(states.resource, states.policy, polling: states.polling, reader))
    } catch {
      key = .failure(error)
      if let observer { engine.refuse(observer, states.resource, error) }
    }
  }

  deinit { end() }

  /// Returns the next state once there is one; `nil` after the end, and for an observation.
  /// Cancelling the task ends the stream.
  func next() async -> LoadState<Model>? {
    guard case .stream(let slot) = reader else { return nil }
    guard case .success = key else { return await error() }
    // A state that has waited is made now, since its value may have become stale.
    if !Task.isCancelled, let snapshot = slot.take() { return engine.loadState(snapshot).typed(as: Model.self) }
    let snapshot = await withTaskCancellationHandler {
      await slot.next()
    } onCancel: {
      end()
    }
    return snapshot.map { $0.shared(as: Model.self, engine) }
  }

  /// Returns the error of a resource that has no states, and then `nil` once the task is cancelled.
  private func error() async -> LoadState<Model>? {
    if case .failure(let error) = key, invalid.isFirst { return LoadState(error: error) }
    await invalid.untilCancelled()
    return nil
  }

  /// Returns the current state of an observation, whether or not it was delivered; `nil` after the
  /// end. The observer is not called with it again.
  func latest() -> LoadState<Model>? {
    switch key {
    case .success(let key): engine.latest(key, reader.id).map { engine.loadState($0).typed(as: Model.self) }
    case .failure(let error): LoadState(error: error)
    }
  }

  func end() {
    if case .success(let key) = key { engine.unsubscribe(key, reader.id) }
    reader.end()
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
  /// The revision of the latest change that concerned only this stream.
  var revision: UInt64 = 0
  let reader: StateReader
  // A copy of the reader's kind, since a change checks it for many streams.
  let isObserver: Bool
  /// The actor of the observer; `nil` for none, and for a stream.
  let actor: ObjectIdentifier?
  /// The revision that the observer was called with last; `nil` for a stream.
  var delivered: UInt64?
  /// A Boolean value that indicates whether the observer is to be called soon.
  var isDue = false

  /// Returns `true` if both see the same of the key's state.
  func seesSame(as other: Subscriber) -> Bool {
    showsValue == other.showsValue && sawItArrive == other.sawItArrive && isNotCached == other.isNotCached
      && revision == other.revision && ownVariant === other.ownVariant && resource == other.resource
  }

  init(
    _ reader: StateReader, resource: Resource, policy: FetchPolicy, polling: Duration?, since: Duration,
    priority: TaskPriority, showsValue: Bool, wait: LockOwner.Wait? = nil
  ) {
    id = reader.id
    self.reader = reader
    if case .observer(let observer) = reader {
      (isObserver, actor) = (true, observer.isolation.map { ObjectIdentifier($0) })
    } else {
      (isObserver, actor) = (false, nil)
    }
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

/// The open streams of a key, in the order of their numbers. Opening or ending a stream moves the
/// streams with greater numbers, which costs less than sorting all at each change.
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
  /// The key of the resource; `nil` if it has no states but its error.
  let key: RecordKey?
  let resource: Resource
  let copy: CachedModel?
  /// The copy with the changes over it, to be computed without the lock; `nil` without changes.
  let presented: (any PresentedValue)?
  /// The ids of the changes that no server has accepted yet.
  let pending: [UUID]
  let error: ReactorError?
  let fetchStatus: FetchStatus
  let progress: TransferProgress?
  let origin: Origin?
  let revision: UInt64
  let valueRevision: UInt64
  /// A Boolean value that indicates whether the key was removed and no request is under way.
  let isRemoved: Bool
  /// The box of the ``LoadState`` that was made from it.
  private let made = AtomicLazyReference<any AnyObject & Sendable>()

  init(
    _ key: RecordKey?, _ resource: Resource, copy: CachedModel? = nil,
    presented: (any PresentedValue)? = nil, pending: [UUID] = [], error: ReactorError?,
    fetchStatus: FetchStatus = .idle, progress: TransferProgress? = nil, origin: Origin? = nil, revision: UInt64 = 0,
    valueRevision: UInt64 = 0, isRemoved: Bool = false
  ) {
    self.key = key
    self.resource = resource
    self.copy = copy
    self.presented = presented
    self.pending = pending
    self.error = error
    self.fetchStatus = fetchStatus
    self.progress = progress
    self.origin = origin
    self.revision = revision
    self.valueRevision = valueRevision
    self.isRemoved = isRemoved
  }

  /// Returns the state with the type of its model, made at the first call and shared by the streams
  /// that see the same value: making it takes longer than calling an observer.
  func shared<Model: Sendable>(as type: Model.Type, _ engine: ReactorEngine) -> LoadState<Model> {
    let box = made.load() ?? made.storeIfNil(AnyModel(engine.loadState(self).typed(as: type)).box)
    return AnyModel(in: box).model(as: LoadState<Model>.self)
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
