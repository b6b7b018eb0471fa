import Foundation

/// All that a reactor knows of one key: its copy, its flight, who waits and who watches. Guarded by the reactor's lock.
final class KeyState<Model: Sendable>: MemoryEntry {
  typealias Outcome = Result<Copy<Model>, ReactorError>

  let key: RecordKey
  var use = MemoryUse()
  private(set) var copy: Copy<Model>?
  /// Of the latest attempt.
  var error: ReactorError?
  var flight: Flight?
  /// What ``flight`` was begun under.
  var ticket: Generations.Ticket?
  /// What runs for ``flight``.
  var tasks: [FlightTask] = []
  var priority: TaskPriority?
  var progress: TransferProgress?
  var waiters: [Flight.PartyID: CheckedContinuation<Outcome, Never>] = [:]
  var subscribers: [Flight.PartyID: Subscriber<Model>] = [:]
  /// What was fetched until then is stale, also if persistence does not know.
  var invalidatedBefore: Date?
  /// Of the latest change that was published.
  private(set) var revision: UInt64 = 0
  /// Of the one that the copy's model came with.
  private var valueRevision: UInt64 = 0
  private var hasNewValue = false

  init(key: RecordKey) { self.key = key }

  var holdsModel: Bool { copy != nil }
  var cost: Int { copy?.cost ?? 0 }
  var isPinned: Bool { !subscribers.isEmpty || flight != nil }

  var fetchStatus: FetchStatus {
    guard let flight else { return .idle }
    return flight.isPaused ? .paused : .fetching
  }

  /// Replaces the copy; gives by how much the memory's count changes. A stream for which it is another variant keeps its own.
  ///
  /// - Parameter isNewValue: whether it holds another model than the last.
  func setCopy(_ new: Copy<Model>?, isNewValue: Bool) -> (models: Int, bytes: Int) {
    defer { copy = new }
    if isNewValue { hasNewValue = true }
    for (id, subscriber) in subscribers {
      let keepsOwn = subscriber.showsValue && new?.isAnotherVariant(for: subscriber.resource) == true
      subscribers[id]?.ownVariant = keepsOwn ? self.copy(for: subscriber) : nil
      subscribers[id]?.sawItArrive = true
    }
    return ((new == nil ? 0 : 1) - (copy == nil ? 0 : 1), (new?.cost ?? 0) - (copy?.cost ?? 0))
  }

  /// Makes a new revision of what is known now, and gives the streams that were waiting for one.
  func publish(revision: UInt64) -> [(CheckedContinuation<KeySnapshot<Model>?, Never>, KeySnapshot<Model>)] {
    self.revision = revision
    if hasNewValue { valueRevision = revision }
    hasNewValue = false
    var due: [(CheckedContinuation<KeySnapshot<Model>?, Never>, KeySnapshot<Model>)] = []
    for id in subscribers.keys {
      guard let continuation = subscribers[id]?.continuation, let snapshot = take(for: id) else { continue }
      subscribers[id]?.continuation = nil
      due.append((continuation, snapshot))
    }
    return due
  }

  /// What subscriber `id` has not been given yet; `nil` if it has it.
  func take(for id: Flight.PartyID) -> KeySnapshot<Model>? {
    guard let subscriber = subscribers[id], subscriber.delivered != revision else { return nil }
    subscribers[id]?.delivered = revision
    return snapshot(for: subscriber)
  }

  /// A value that arrives is shown under every policy.
  func showToAll() {
    for id in subscribers.keys {
      subscribers[id]?.showsValue = true
      subscribers[id]?.isNotCached = false
    }
  }

  func snapshot(for subscriber: Subscriber<Model>) -> KeySnapshot<Model> {
    let copy = subscriber.showsValue ? copy(for: subscriber) : nil
    let wasThere = copy != nil && !subscriber.sawItArrive && copy?.origin != .local
    return KeySnapshot(
      copy: copy, error: error ?? (subscriber.isNotCached && self.copy == nil ? .notCached : nil),
      fetchStatus: fetchStatus, progress: progress, origin: wasThere ? .memory : copy?.origin, revision: revision,
      valueRevision: valueRevision)
  }

  private func copy(for subscriber: Subscriber<Model>) -> Copy<Model>? {
    copy?.isAnotherVariant(for: subscriber.resource) == true ? subscriber.ownVariant : copy
  }
}

/// One open stream.
struct Subscriber<Model: Sendable> {
  let resource: Resource
  let policy: FetchPolicy
  /// Whether its policy lets it show what the key has.
  var showsValue: Bool
  /// Whether the copy has come since it subscribed; one that was there comes, to it, from memory.
  var sawItArrive = false
  /// Its latest copy, where the key's is another variant (RFC 9111 §4.1).
  var ownVariant: Copy<Model>?
  /// Whether it was told that nothing is cached, which concerns no other stream.
  var isNotCached = false
  /// The revision that it was given last.
  var delivered: UInt64?
  /// Set while it waits for the next revision.
  var continuation: CheckedContinuation<KeySnapshot<Model>?, Never>?
}

/// What one stream may know of a key at one revision; a ``LoadState`` is made of it outside the lock.
struct KeySnapshot<Model: Sendable>: Sendable {
  var copy: Copy<Model>?
  var error: ReactorError?
  var fetchStatus: FetchStatus
  var progress: TransferProgress?
  var origin: Origin?
  var revision: UInt64
  var valueRevision: UInt64
}
