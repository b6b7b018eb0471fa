import Synchronization

/// Counts up over all keys of a layer: the later is the greater.
typealias Generation = UInt64

/// Settles, over all reactors of a layer, which of two answers for one key is the newer: not the one that arrives later
/// but the one that was begun later.
///
/// Who begins something draws a number. A local write, an invalidation and a removal *fence*: no answer that was begun before them
/// can be committed any more. A network answer is committed unless something newer was; so a slow old answer never overwrites a
/// newer one, and one that nothing has overtaken is not thrown away.
///
/// An invalidation brings no value, so that it stops answers alone: a write or a removal that is still on its way to the disk is
/// carried out.
final class Generations: Sendable {
  private let state = Mutex(State())

  private struct State {
    var last: Generation = 0
    /// For keys that somebody has begun something for.
    var floors: [RecordKey: Floor] = [:]
    /// The floor of all keys together.
    var floor: Generation = 0
    var removing: [RecordKey: Int] = [:]
    var isRemovingAll = 0
  }

  private struct Floor {
    /// The greatest number that was committed or fenced: no answer below it is.
    var answers: Generation = 0
    /// The same without invalidations: no write and no removal below it is carried out.
    var changes: Generation = 0
    /// How many tickets there are.
    var begun = 0

    mutating func raise(to number: Generation, _ kind: Kind) {
      answers = max(answers, number)
      if kind != .invalidation { changes = max(changes, number) }
    }
  }

  fileprivate enum Kind { case answer, change, invalidation }

  /// Something that was begun for a key; over when it is released, so that the numbers of idle keys are forgotten.
  final class Ticket: Sendable {
    let key: RecordKey
    let number: Generation
    private let kind: Kind
    private let generations: Generations

    fileprivate init(_ key: RecordKey, _ number: Generation, _ kind: Kind, of generations: Generations) {
      self.key = key
      self.number = number
      self.kind = kind
      self.generations = generations
    }

    deinit { generations.end(key) }

    /// Whether what this began may still be used; if so, nothing older may be from now on.
    func commit() -> Bool { generations.commit(key, number, kind) }
  }

  /// Begins a flight.
  func begin(_ key: RecordKey) -> Ticket { draw(key, .answer) }

  /// Begins a write or a removal: fences what was begun before.
  func fence(_ key: RecordKey) -> Ticket { draw(key, .change) }

  /// Begins an invalidation: fences the answers that were begun before.
  func fenceAnswers(_ key: RecordKey) -> Ticket { draw(key, .invalidation) }

  /// How many keys have something begun.
  var activeKeys: Int { state.withLock { $0.floors.count } }

  private func end(_ key: RecordKey) {
    state.withLock { state in
      guard var entry = state.floors[key] else { return }
      entry.begun -= 1
      state.floors[key] = entry.begun == 0 ? nil : entry
    }
  }

  private func commit(_ key: RecordKey, _ number: Generation, _ kind: Kind) -> Bool {
    state.withLock { state in
      let floor = state.floors[key] ?? Floor()
      guard number >= max(kind == .change ? floor.changes : floor.answers, state.floor) else { return false }
      state.floors[key]?.raise(to: number, kind)
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

  private func draw(_ key: RecordKey, _ kind: Kind) -> Ticket {
    let number = state.withLock { state in
      state.last += 1
      var floor = state.floors[key] ?? Floor()
      floor.begun += 1
      if kind != .answer { floor.raise(to: state.last, kind) }
      state.floors[key] = floor
      return state.last
    }
    return Ticket(key, number, kind, of: self)
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
