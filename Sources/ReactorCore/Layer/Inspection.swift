package import Foundation
import Synchronization

/// The queries and commands of an inspector. No state is maintained for them while no inspector
/// runs.
extension ModelLayer {
  /// The keys in the memory of the layer's reactors.
  package var keys: Set<RecordKey> { Set(layer.livingMembers.flatMap(\.keys)) }

  /// Returns the status of each of `keys` that is in memory. If models of several types share a
  /// key, each of their reactors reports it.
  package func statuses(of keys: [RecordKey]) -> [KeyStatus] {
    layer.livingMembers.flatMap { $0.statuses(of: keys) }
  }

  /// Begins to list the keys that change.
  package func watchKeys() -> KeyWatch { layer.changes.watch() }

  /// The number of watches that ``watchKeys()`` has returned and that are still in use.
  package var keyWatchers: Int { layer.changes.watchers }

  /// Invalidates `key` for models of every type, as ``Reactor/invalidate(_:)`` does for one.
  ///
  /// - Throws: ``ReactorError/persistence(_:)`` if the record could not be marked. The copies in
  ///   memory are stale even so.
  package func invalidate(_ key: RecordKey) async throws(ReactorError) {
    await layer.tellOthers(key)
    let date = layer.configuration.now()
    let ticket = layer.generations.beginInvalidation(key)
    layer.announce(.invalidated(key, date))
    try await layer.change(ticket) { [layer] in try await layer.cache.invalidate(key, at: date) }
  }

  /// Removes `key` for models of every type, as ``Reactor/remove(_:)`` does for one.
  ///
  /// - Throws: ``ReactorError/persistence(_:)`` if the record could not be deleted. Memory is
  ///   cleared even so.
  package func remove(_ key: RecordKey) async throws(ReactorError) {
    try await layer.remove(key) { [layer] in try await layer.cache.remove(key) }
  }

  /// Requests `key` from the network, whatever is cached. The result is reported by events. Returns
  /// `false` if the key is no longer in memory, so it cannot be fetched again.
  package func refetch(_ key: RecordKey) -> Bool {
    layer.livingMembers.reduce(false) { $1.refetch(key) || $0 }
  }

  /// A Boolean value that indicates whether requests fail as they do without connectivity, even to
  /// a loopback host. Streams pause, and resume when it becomes `false`.
  package var isOffline: Bool {
    get { layer.isOffline.load(ordering: .relaxed) }
    set {
      guard layer.isOffline.exchange(newValue, ordering: .relaxed) != newValue, !newValue else { return }
      for member in layer.livingMembers { member.wentOnline() }
      for part in layer.parts { part.wentOnline() }
    }
  }

  /// The writes of the layer's outbox that no server has accepted, in the order of submission;
  /// `nil` if the layer has no outbox.
  package var writes: [WriteStatus]? { inspectedWrites?.writes }

  /// A count that increases when ``writes`` change; `nil` if the layer has no outbox. Connectivity
  /// and the passage of time change a reason without it.
  package var writesVersion: UInt64? { inspectedWrites?.writesVersion }

  /// Carries out a command on a write. Returns `false` if there is no such write, its state forbids
  /// the command, or the store failed.
  package func perform(_ command: WriteStatus.Command, onWrite id: UUID) async -> Bool {
    await inspectedWrites?.perform(command, onWrite: id) ?? false
  }

  private var inspectedWrites: (any InspectedWrites)? {
    layer.parts.lazy.compactMap { $0 as? any InspectedWrites }.first
  }

  /// The current time of the configuration's wall clock.
  package var now: Date { layer.configuration.now() }
}

/// The state of one key in one reactor at one moment, for an inspector. It holds no model.
package struct KeyStatus: Sendable {
  package enum Condition: String, Sendable, CaseIterable {
    case fresh, stale, invalidated
    /// No copy is in memory.
    case absent
    /// No copy is in memory, and the latest attempt failed.
    case failed
  }

  package let key: RecordKey
  /// The name of the model's type.
  package let model: String
  package let condition: Condition
  package let origin: Origin?
  package let fetchedAt: Date?
  /// The age in seconds, which counts against ``lifetime`` (RFC 9111 §4.2.3).
  package let age: Double?
  /// The seconds for which the copy is fresh in all.
  package let lifetime: Double?
  /// The size of the payload in bytes.
  package let bytes: Int
  /// The number of open streams.
  package let observers: Int
  /// The number of callers that wait for the flight.
  package let waiters: Int
  /// The phase of the flight; `nil` if no flight is in progress.
  package let phase: FlightPhase?
  /// The error of the latest attempt.
  package let error: ReactorError?
  /// The head of the response that the copy was made from.
  var head: Record.Head?

  /// The limits of requests that the server announced with the response that the copy was made
  /// from; none if that came from another cache.
  package var limits: [Resource.RateLimit] {
    head.map { $0.fields.contains(.age) ? [] : Resource.RateLimit.limits(in: $0.fields) } ?? []
  }
}

/// A part of a layer whose writes an inspector shows.
package protocol InspectedWrites: LayerPart {
  /// The writes that no server has accepted, in the order of submission.
  var writes: [WriteStatus] { get }
  /// A count that increases when ``writes`` change.
  var writesVersion: UInt64 { get }
  /// Carries out a command on a write. Returns `false` if there is no such write, its state forbids
  /// the command, or the store failed.
  func perform(_ command: WriteStatus.Command, onWrite id: UUID) async -> Bool
}

/// The state of one write of an outbox at one moment, for an inspector. It holds no model, no part
/// of a body and no secret.
package struct WriteStatus: Sendable, Identifiable {
  package enum State: String, Sendable, CaseIterable {
    case waiting, sending, unknown, conflicted, refused, unresolved, unreadable
  }

  package enum Command: String, Sendable, CaseIterable { case retry, discard, withdraw }

  package let id: UUID
  package let lane: String
  /// The name of the mutation's type; empty if it is not known.
  package let name: String
  package let state: State
  /// The reason for the state, in words: `waits for its turn`.
  package var reason: String?
  /// The time of the next attempt, which completes ``reason``.
  package var until: Date?
  /// The error of a refusal.
  package var error: ReactorError?
  package var attempts = 0
  package var method: String?
  /// The URL of the request without secrets; `nil` before the request is made.
  package var url: String?
  /// The status of the latest answer; `nil` if no response arrived.
  package var status: Int?
  package var submittedAt: Date?
  /// The commands that the state permits.
  package var commands: [Command] = []

  package init(id: UUID, lane: String, name: String, state: State) {
    self.id = id
    self.lane = lane
    self.name = name
    self.state = state
  }
}

/// The keys that have changed since each watcher last read them. Without a watcher, a change costs
/// one atomic load.
///
/// A change is noted under the lock of the state that changed. This type calls no other code.
final class KeyChanges: Sendable {
  private let isWatched = Atomic<Bool>(false)
  private let state = Mutex(State())

  private struct State {
    var lastID = 0
    var watched: [Int: Changed] = [:]
  }

  /// The changes that a watcher has not read yet.
  private struct Changed {
    var keys: Set<RecordKey> = []
    var isTooMuch = false

    mutating func note(_ key: RecordKey) {
      guard !isTooMuch else { return }
      keys.insert(key)
      guard keys.count > KeyChanges.limit else { return }
      keys = []
      isTooMuch = true
    }
  }

  /// The number of keys listed for a watcher that does not read them. Beyond it, the watcher gets
  /// `nil`.
  static let limit = 20_000

  /// The number of watchers.
  var watchers: Int { state.withLock { $0.watched.count } }

  func note(_ key: RecordKey) {
    guard isWatched.load(ordering: .relaxed) else { return }
    state.withLock { state in
      for id in state.watched.keys { state.watched[id]?.note(key) }
    }
  }

  func watch() -> KeyWatch {
    let id = state.withLock { state in
      state.lastID += 1
      state.watched[state.lastID] = Changed()
      isWatched.store(true, ordering: .relaxed)
      return state.lastID
    }
    return KeyWatch(id, of: self)
  }

  fileprivate func consume(_ id: Int) -> Set<RecordKey>? {
    let changed = state.withLock { state in
      defer { state.watched[id] = Changed() }
      return state.watched[id] ?? Changed()
    }
    return changed.isTooMuch ? nil : changed.keys
  }

  fileprivate func end(_ id: Int) {
    state.withLock { state in
      state.watched[id] = nil
      if state.watched.isEmpty { isWatched.store(false, ordering: .relaxed) }
    }
  }
}

/// A watcher of the keys of a layer. It ends when it is released.
package final class KeyWatch: Sendable {
  private let id: Int
  private let changes: KeyChanges

  init(_ id: Int, of changes: KeyChanges) {
    self.id = id
    self.changes = changes
  }

  deinit { changes.end(id) }

  /// Returns the keys that have changed since the last call; `nil` if they were too many to list.
  package func consume() -> Set<RecordKey>? { changes.consume(id) }
}
