import Synchronization

/// Counts up over all keys of a layer: the later is the greater.
typealias Generation = UInt64

/// Settles, over all reactors of a layer, which of two answers for one key is the newer: not the one that arrives later
/// but the one that was begun later.
///
/// Each beginning draws a number, and a flight draws a new one with each request that it sends. A local write, an invalidation and
/// a removal *fence*: no answer that was begun before them can be committed any more. A network answer is committed unless
/// something newer was; so a slow old answer never overwrites a newer one, and one that nothing has overtaken is not thrown away.
///
/// A write and a removal have been promised to somebody. So an answer that has only begun does not stop them on their way to the disk;
/// one that was carried out there, and was begun later, does.
final class Generations: Sendable {
  private let state = Mutex(State())

  private struct State {
    var last: Generation = 0
    /// For keys that somebody has begun something for.
    var floors: [RecordKey: Floor] = [:]
    /// Of all keys together.
    var floor = Floor()
    var removing: [RecordKey: Int] = [:]
    var isRemovingAll = 0
  }

  private struct Floor {
    /// The greatest number that was committed or fenced: no answer below it is committed.
    var committed: Generation = 0
    /// The greatest number that fenced.
    var fenced: Generation = 0
    /// The greatest number that was carried out on disk: no write and no removal below it is.
    var didPersist: Generation = 0
    /// How many tickets there are.
    var begun = 0
  }

  /// Something that was begun for a key; over when it is released, so that the numbers of idle keys are forgotten.
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

    /// The number of the latest request, fenced or not: whose answer is the newer.
    var sentNumber: Generation { latestSent.load(ordering: .relaxed) }

    /// Draws a new number where a request is sent: its answer is of then, however early the flight was begun. What fences the
    /// flight fences its later requests too: nobody has asked since.
    func send() {
      let (sent, isFenced) = generations.sent(key, number)
      latestSent.store(sent, ordering: .relaxed)
      if !isFenced { latest.store(sent, ordering: .relaxed) }
    }

    /// Returns whether what this began may still be used; if so, nothing older may be from now on.
    func commit() -> Bool { generations.commit(key, number, isChange: isChange) }

    /// It is on disk: nothing that was begun before may be put there any more.
    func didPersist() { generations.didPersist(key, number) }

    /// The number of the latest change that was carried out on disk. Exact inside the ``KeyedAsyncLock``, where records are read and
    /// changed; 0 where there was none since somebody first held a ticket.
    var latestOnDisk: Generation { generations.latestOnDisk(key) }

    /// A Boolean value that indicates whether something that was begun later is on disk already.
    var isOutrunOnDisk: Bool { latestOnDisk > number }
  }

  /// Begins a flight.
  func beginFetch(_ key: RecordKey) -> Ticket { draw(key, fences: false, isChange: false) }

  /// Begins a write or a removal.
  func beginWrite(_ key: RecordKey) -> Ticket { draw(key, fences: true, isChange: true) }

  /// Begins an invalidation, which brings no value: it is dropped where an answer would be.
  func beginInvalidation(_ key: RecordKey) -> Ticket { draw(key, fences: true, isChange: false) }

  /// How many keys have something begun.
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
  /// Begins a removal of all: fences every key.
  func fenceAll() -> Generation {
    state.withLock { state in
      state.last += 1
      (state.floor.committed, state.floor.fenced) = (state.last, state.last)
      return state.last
    }
  }

  /// All that was begun before `number` is gone from disk.
  func didPersistAll(_ number: Generation) {
    state.withLock { $0.floor.didPersist = max($0.floor.didPersist, number) }
  }
}

extension Generations {
  /// Over with its end, at the latest when it is released: the removal may be given up before it begins.
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

  /// From here to the removal's end, what is on disk under `key` (`nil`: under any) is as good as gone, and is not to be read.
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
