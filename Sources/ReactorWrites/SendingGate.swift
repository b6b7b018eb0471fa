package import Foundation
package import HTTPCaching
import ReactorCore
import Synchronization

/// Keeps the requests for a key and the writes that change it apart.
///
/// HTTP does not say whether the response to a `GET` that overlaps a write has the effect of that
/// write. So no request for the key begins while a write of it is being sent. A request in flight
/// restarts after it. A caller waits only for the writes in flight: once its request meets them it
/// has a *pass*, and no other write of the key starts until the request is finished. A request that
/// only streams wait for is sent after the last write that is due.
///
/// Writes are known by an id, and the gate keeps the keys of each. So announcing a write twice has
/// no further effect, and withdrawing it leaves nothing, in whatever order both happen.
///
/// A request whose own steps await the write would end neither before it nor after it: that wait is
/// refused (``ReactorError/deadlock(keys:)``). Waits for the turn of a lane, or of a write in
/// memory behind another one of its key, are not seen.
package final class SendingGate: Sendable {
  private struct Key {
    /// The writes that are being sent.
    var sending: Set<UUID> = []
    /// The writes that wait only for their turn.
    var due: Set<UUID> = []
    /// The requests that the next write waits for.
    var passes = 0

    var isIdle: Bool { sending.isEmpty && due.isEmpty && passes == 0 }
  }

  private struct Waiting {
    let id: UUID
    let keys: Set<RecordKey>
    let turn: OneShot<[RecordKey]?>
    /// The owner of the work that sends the write.
    let owner: LockOwner?
  }

  private struct State {
    var keys: [RecordKey: Key] = [:]
    /// The keys of each write that is due.
    var due: [UUID: Set<RecordKey>] = [:]
    /// The keys of each write that is being sent.
    var sending: [UUID: Set<RecordKey>] = [:]
    /// The writes that wait for passes, in order of arrival.
    var waiting: [Waiting] = []

    mutating func change(_ keys: Set<RecordKey>, _ body: (inout Key) -> Void) {
      for key in keys {
        var entry = self.keys[key] ?? Key()
        body(&entry)
        self.keys[key] = entry.isIdle ? nil : entry
      }
    }

    /// Starts the writes whose keys no longer have passes. Of two writes that share a key, the
    /// later waits for the earlier. Otherwise a write of many keys might never find all of them
    /// free.
    mutating func admit() -> [OneShot<[RecordKey]?>] {
      var admitted: [OneShot<[RecordKey]?>] = []
      var awaited: Set<RecordKey> = []
      let arrived = waiting
      waiting = []
      for write in arrived {
        if write.keys.allSatisfy({ keys[$0]?.passes ?? 0 == 0 && !awaited.contains($0) }) {
          sending[write.id] = write.keys
          change(write.keys) { $0.sending.insert(write.id) }
          admitted.append(write.turn)
        } else {
          waiting.append(write)
          awaited.formUnion(write.keys)
        }
      }
      return admitted
    }
  }

  /// The claim of a request: no other write of its key begins before it. The pass ends when it is
  /// released, which must not happen under a lock.
  final class Pass: Sendable {
    private let key: RecordKey
    private let gate: SendingGate

    fileprivate init(_ key: RecordKey, _ gate: SendingGate) {
      self.key = key
      self.gate = gate
    }

    deinit { gate.update { $0.change([key]) { $0.passes -= 1 } } }
  }

  private let layer: ObjectIdentifier
  private let state = Mutex(State())
  /// The number of keys with writes. Most layers have none, and need not lock.
  private let count = Atomic<Int>(0)

  /// - Parameter layer: the identity of the gate's layer, by which its flights are known.
  init(of layer: ObjectIdentifier) {
    self.layer = layer
    WaitObserver.observe { SendingGate.ownersGainedWaits() }
  }

  /// A Boolean value that indicates whether nothing is being written, or about to be.
  package var isIdle: Bool { count.load(ordering: .acquiring) == 0 }

  /// Announces that the write `id` will be sent when its turn comes, and changes `keys`, replacing
  /// the keys of its earlier announcement. An empty set takes the announcement back. It resumes no
  /// task, so the caller may hold its lock.
  ///
  /// - Returns: The keys whose last announcement was taken back.
  package func expect(_ id: UUID, _ keys: Set<RecordKey>) -> Set<RecordKey> {
    state.withLock { state in
      let old = state.due.removeValue(forKey: id) ?? []
      if !keys.isEmpty { state.due[id] = keys }
      state.change(keys.subtracting(old)) { $0.due.insert(id) }
      state.change(old.subtracting(keys)) { $0.due.remove(id) }
      count.store(state.keys.count + state.waiting.count, ordering: .releasing)
      return old.subtracting(keys).filter { state.keys[$0]?.due.isEmpty ?? true }
    }
  }

  /// Starts the write `id`, once the requests with a pass are finished. Call ``end(_:)`` after it.
  ///
  /// A cancelled task waits too, since those requests finish by themselves.
  ///
  /// - Returns: `nil`, or the keys of a request that awaits the write, which has not begun.
  func begin(_ id: UUID, _ keys: Set<RecordKey>) async -> [RecordKey]? {
    let waiting = Waiting(id: id, keys: keys, turn: OneShot(), owner: LockOwner.current)
    // Done before it waits, so that one of the two sides sees work that starts to await it from now
    // on.
    let number = Self.waiting.withLock { $0.add(self) }
    defer { Self.waiting.withLock { _ = $0.gates.removeValue(forKey: number) } }
    if let circle = waiting.owner?.refuseFlights(of: layerKeys(keys)) { return circle }
    update { $0.waiting.append(waiting) }
    refuseCircles()
    return await waiting.turn.value
  }

  /// The gates with writes that wait, one for each write, by the numbers of these waits.
  private struct WaitingGates: Sendable {
    var gates: [UInt64: SendingGate] = [:]
    private var last: UInt64 = 0

    mutating func add(_ gate: SendingGate) -> UInt64 {
      last += 1
      gates[last] = gate
      return last
    }
  }

  private static let waiting = Mutex(WaitingGates())

  /// Refuses the circles that new waits of owners may have closed. Call it without a lock.
  static func ownersGainedWaits() {
    let gates = waiting.withLock { $0.gates.sorted { $0.key < $1.key }.map(\.value) }
    for gate in gates { gate.refuseCircles() }
  }

  /// Refuses the waits for `owner` if it cannot continue before one of several writes starts, and
  /// each of them waits for a flight that waits for `owner`. Call it without a lock.
  ///
  /// - Parameter writes: The keys of each write.
  func refuseWaits(for owner: LockOwner, behind writes: [Set<RecordKey>]) {
    let flights = owner.family.flights
    // Only a request with a pass holds a write back. Any other one begins again.
    let passed = state.withLock { state in Set(state.keys.lazy.filter { $0.value.passes > 0 }.map(\.key)) }
    let awaited = writes.map { layerKeys($0.intersection(passed)).intersection(flights) }
    guard !flights.isEmpty, awaited.allSatisfy({ !$0.isEmpty }) else { return }
    _ = owner.refuseFlights(of: awaited.reduce(into: []) { $0.formUnion($1) })
  }

  private func layerKeys(_ keys: Set<RecordKey>) -> Set<LockOwner.LayerKey> {
    Set(keys.map { LockOwner.LayerKey(layer: layer, key: $0) })
  }

  private func refuseCircles() {
    var earlier: [(own: Set<RecordKey>, all: Set<RecordKey>)] = []
    for write in state.withLock(\.waiting) {
      // It also waits for what the earlier ones wait for that share a key with it.
      let shared = earlier.filter { !$0.own.isDisjoint(with: write.keys) }
      let keys = shared.reduce(write.keys) { $0.union($1.all) }
      earlier.append((write.keys, keys))
      if let owner = write.owner { KeyedAsyncLock.refuse(behind: owner, flights: layerKeys(keys)) }
      guard let circle = write.owner?.refuseFlights(of: layerKeys(keys)) else { continue }
      var waits = false
      update { state in
        waits = state.waiting.contains { $0.turn === write.turn }
        state.waiting.removeAll { $0.turn === write.turn }
      }
      if waits { write.turn.settle(circle) }
    }
  }

  /// Ends a write. Its announcement stays.
  func end(_ id: UUID) {
    update { state in
      guard let keys = state.sending.removeValue(forKey: id) else { return }
      state.change(keys) { $0.sending.remove(id) }
    }
  }

  /// Returns `true` if a request for `key` may begin now.
  ///
  /// - Parameter hasCaller: `true` if a caller waits for the response.
  func admits(_ key: RecordKey, hasCaller: Bool) -> Bool {
    guard !isIdle else { return true }
    return state.withLock { state in
      guard let entry = state.keys[key] else { return true }
      return entry.sending.isEmpty && (hasCaller || entry.due.isEmpty)
    }
  }

  /// Returns a pass for a request for `key`. Writes that are being sent continue, and the request
  /// waits for them.
  func pass(for key: RecordKey) -> Pass {
    state.withLock { state in
      state.change([key]) { $0.passes += 1 }
      count.store(state.keys.count + state.waiting.count, ordering: .releasing)
    }
    return Pass(key, self)
  }

  private func update(_ body: (inout State) -> Void) {
    let admitted = state.withLock { state in
      body(&state)
      let admitted = state.admit()
      count.store(state.keys.count + state.waiting.count, ordering: .releasing)
      return admitted
    }
    for turn in admitted { turn.settle(nil) }
  }
}
