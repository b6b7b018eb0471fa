import Synchronization

/// Counts up over all keys of a layer: the later is the greater.
typealias Generation = UInt64

/// Settles, over all reactors of a layer, which of two answers for one key is the newer: not the one that arrives later
/// but the one that was begun later.
///
/// Who begins something draws a number. A local write, an invalidation and a removal *fence*: what was begun before them
/// can no longer be committed. A network answer is committed unless something newer was; so a slow old answer never overwrites a
/// newer one, and one that nothing has overtaken is not thrown away.
final class Generations: Sendable {
  private let state = Mutex(State())

  private struct State {
    var last: Generation = 0
    /// The greatest number that was committed or fenced, for keys that somebody has begun something for.
    var floors: [RecordKey: (floor: Generation, begun: Int)] = [:]
    /// The floor of all keys together.
    var floor: Generation = 0
    var removing: [RecordKey: Int] = [:]
    var isRemovingAll = 0
  }

  /// Something that was begun for a key; over when it is released, so that the numbers of idle keys are forgotten.
  final class Ticket: Sendable {
    let key: RecordKey
    let number: Generation
    private let generations: Generations

    fileprivate init(_ key: RecordKey, _ number: Generation, of generations: Generations) {
      self.key = key
      self.number = number
      self.generations = generations
    }

    deinit { generations.end(key) }

    /// Whether what this began may still be used; if so, nothing older may be from now on.
    func commit() -> Bool { generations.commit(key, number) }
  }

  /// Begins a flight.
  func begin(_ key: RecordKey) -> Ticket { Ticket(key, draw(key, fences: false), of: self) }

  /// Begins a write, an invalidation or a removal: fences what was begun before.
  func fence(_ key: RecordKey) -> Ticket { Ticket(key, draw(key, fences: true), of: self) }

  /// How many keys have something begun.
  var activeKeys: Int { state.withLock { $0.floors.count } }

  private func end(_ key: RecordKey) {
    state.withLock { state in
      guard var entry = state.floors[key] else { return }
      entry.begun -= 1
      state.floors[key] = entry.begun == 0 ? nil : entry
    }
  }

  private func commit(_ key: RecordKey, _ number: Generation) -> Bool {
    state.withLock { state in
      guard number >= max(state.floors[key]?.floor ?? 0, state.floor) else { return false }
      state.floors[key]?.floor = number
      return true
    }
  }

  /// Fences every key.
  func fenceAll() {
    state.withLock { state in
      state.last += 1
      state.floor = state.last
    }
  }

  private func draw(_ key: RecordKey, fences: Bool) -> Generation {
    state.withLock { state in
      state.last += 1
      var entry = state.floors[key] ?? (floor: 0, begun: 0)
      entry.begun += 1
      if fences { entry.floor = state.last }
      state.floors[key] = entry
      return state.last
    }
  }
}

extension Generations {
  /// From here to ``endRemoving(_:)``, what is on disk under `key` (`nil`: under any) is as good as gone, and is not to be read.
  func beginRemoving(_ key: RecordKey?) {
    state.withLock { state in
      if let key { state.removing[key, default: 0] += 1 } else { state.isRemovingAll += 1 }
    }
  }

  func endRemoving(_ key: RecordKey?) {
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
