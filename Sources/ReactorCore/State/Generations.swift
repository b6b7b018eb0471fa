import Synchronization

/// A number that increases across all keys of a layer. The greater number is the later one.
package typealias Generation = UInt64

/// Orders the operations on each key, across all reactors of a layer. Of two responses, the newer
/// is the response that was requested later, not the response that arrives later.
///
/// Each operation draws a number when it begins, and a flight draws a new one with each request
/// that it sends. A local write, an invalidation and a removal *fence* the key: responses to
/// earlier operations can no longer be committed. Any other response is committed unless something
/// newer was. A slow old response therefore never overwrites a newer one, and a response that
/// nothing overtook is not discarded.
///
/// A caller has been promised its write or removal, so a later operation does not stop it until the
/// later one is on disk itself.
package final class Generations: Sendable {
  private let state = Mutex(State())

  private struct State {
    var last: Generation = 0
    /// The floors of the keys that have operations under way.
    var floors: [RecordKey: Floor] = [:]
    /// The floor that applies to every key.
    var floor = Floor()
    var removing: [RecordKey: Int] = [:]
    var isRemovingAll = 0
  }

  private struct Floor {
    /// The greatest number that was committed or that fenced. Responses with smaller numbers are
    /// not committed.
    var committed: Generation = 0
    /// The greatest number that fenced.
    var fenced: Generation = 0
    /// The greatest number whose change is on disk. Writes and removals with smaller numbers are
    /// dropped.
    var didPersist: Generation = 0
    /// The number of tickets in existence.
    var begun = 0
  }

  /// An operation that has begun for a key. It is finished when the ticket is released, so that the
  /// numbers of idle keys are forgotten.
  final class Ticket: Sendable {
    let key: RecordKey
    private let latest: Atomic<Generation>
    private let latestSent: Atomic<Generation>
    private let isChange: Bool
    private let generations: Generations

    fileprivate init(_ key: RecordKey, _ number: Generation, isChange: Bool, of generations: Generations) {
      self.key = key
      latest = Atomic(number)
      latestSent = Atomic(number)
      self.isChange = isChange
      self.generations = generations
    }

    deinit { generations.end(key) }

    var number: Generation { latest.load(ordering: .relaxed) }

    /// The number of the latest request, fenced or not. It decides which response is newer.
    var sentNumber: Generation { latestSent.load(ordering: .relaxed) }

    /// Draws a new number for a request that is about to be sent: the response counts from then,
    /// even if the flight began long before. A fenced flight keeps its number, so that its later
    /// requests are fenced too, since no caller has joined since.
    func send() {
      let (sent, isFenced) = generations.sent(key, number)
      latestSent.store(sent, ordering: .relaxed)
      if !isFenced { latest.store(sent, ordering: .relaxed) }
    }

    /// Commits the result of this operation. After that, no older result can be committed.
    ///
    /// - Returns: `false` if the result may not be used, because something newer was committed.
    func commit() -> Bool { generations.commit(key, number, isChange: isChange) }

    /// Records that the change is on disk. No earlier operation may write there from now on.
    func didPersist() { generations.didPersist(key, number) }

    /// The number of the latest change on disk; 0 if nothing has changed since the first current
    /// ticket. Exact inside the ``KeyedAsyncLock``, where records are read and changed.
    var latestOnDisk: Generation { generations.latestOnDisk(key) }

    /// A Boolean value that indicates whether the change of a later operation is on disk.
    var isOutrunOnDisk: Bool { latestOnDisk > number }
  }

  /// Begins a flight.
  func beginFetch(_ key: RecordKey) -> Ticket { draw(key, fences: false, isChange: false) }

  /// Begins a write or a removal.
  func beginWrite(_ key: RecordKey) -> Ticket { draw(key, fences: true, isChange: true) }

  /// Begins an invalidation. It carries no value, so it yields to newer operations as a response
  /// does.
  func beginInvalidation(_ key: RecordKey) -> Ticket { draw(key, fences: true, isChange: false) }

  /// Draws a number that is later than all others, for an operation that leaves the records as they
  /// are.
  package func next() -> Generation {
    state.withLock { state in
      state.last += 1
      return state.last
    }
  }

  /// The number that was drawn last, for any key.
  var latest: Generation { state.withLock(\.last) }

  /// The number of keys that have operations under way.
  var activeKeys: Int { state.withLock { $0.floors.count } }

  private func end(_ key: RecordKey) {
    state.withLock { state in
      guard var entry = state.floors[key] else { return }
      entry.begun -= 1
      state.floors[key] = entry.begun == 0 ? nil : entry
    }
  }

  private func commit(_ key: RecordKey, _ number: Generation, isChange: Bool) -> Bool {
    state.withLock { state in
      var floor = state.floors[key] ?? Floor()
      let least =
        isChange
        ? max(floor.didPersist, state.floor.didPersist) : max(floor.committed, state.floor.committed)
      guard number >= least else { return false }
      floor.committed = max(floor.committed, number)
      state.floors[key] = floor
      return true
    }
  }

  private func sent(_ key: RecordKey, _ number: Generation) -> (Generation, isFenced: Bool) {
    state.withLock { state in
      state.last += 1
      return (state.last, number < max(state.floors[key]?.fenced ?? 0, state.floor.fenced))
    }
  }

  private func didPersist(_ key: RecordKey, _ number: Generation) {
    state.withLock { state in
      guard var floor = state.floors[key] else { return }
      floor.didPersist = max(floor.didPersist, number)
      state.floors[key] = floor
    }
  }

  private func latestOnDisk(_ key: RecordKey) -> Generation {
    state.withLock { max($0.floors[key]?.didPersist ?? 0, $0.floor.didPersist) }
  }

  private func draw(_ key: RecordKey, fences: Bool, isChange: Bool) -> Ticket {
    let number = state.withLock { state in
      state.last += 1
      var floor = state.floors[key] ?? Floor()
      floor.begun += 1
      if fences { (floor.committed, floor.fenced) = (state.last, state.last) }
      state.floors[key] = floor
      return state.last
    }
    return Ticket(key, number, isChange: isChange, of: self)
  }
}

extension Generations {
  /// Begins the removal of everything: fences every key.
  func fenceAll() -> Generation {
    state.withLock { state in
      state.last += 1
      (state.floor.committed, state.floor.fenced) = (state.last, state.last)
      return state.last
    }
  }

  /// Records that everything begun before `number` is gone from disk.
  func didPersistAll(_ number: Generation) {
    state.withLock { $0.floor.didPersist = max($0.floor.didPersist, number) }
  }
}

extension Generations {
  /// A removal under way. It ends with ``end()``, or when it is released: the removal may be
  /// abandoned before it begins.
  final class Removal: Sendable {
    private let key: RecordKey?
    private let generations: Generations
    private let isOver = Atomic<Bool>(false)

    fileprivate init(_ key: RecordKey?, of generations: Generations) {
      self.key = key
      self.generations = generations
    }

    deinit { end() }

    func end() {
      if !isOver.exchange(true, ordering: .acquiringAndReleasing) { generations.endRemoval(of: key) }
    }
  }

  /// Begins a removal. Until its end, records of `key` (of every key if `nil`) count as gone and
  /// must not be read.
  func beginRemoval(of key: RecordKey?) -> Removal {
    state.withLock { state in
      if let key { state.removing[key, default: 0] += 1 } else { state.isRemovingAll += 1 }
    }
    return Removal(key, of: self)
  }

  private func endRemoval(of key: RecordKey?) {
    state.withLock { state in
      guard let key else { return state.isRemovingAll -= 1 }
      let left = (state.removing[key] ?? 1) - 1
      state.removing[key] = left == 0 ? nil : left
    }
  }

  func isBeingRemoved(_ key: RecordKey) -> Bool {
    state.withLock { $0.isRemovingAll > 0 || $0.removing[key] != nil }
  }
}
