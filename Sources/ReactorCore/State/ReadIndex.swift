import Foundation
import Synchronization

/// The cached models of a reactor, by resource, for readers. Its locks are held only briefly by a
/// change.
///
/// The first `Resource` instance used for a look-up caches its slot inline, unless it already
/// caches another reactor's. Equal instances find theirs in a table.
final class ReadIndex: Sendable {
  private final class Shard: Sendable {
    let hits = Mutex<[Resource: ReadSlot]>([:])
  }

  private static let count = Atomic<UInt64>(0)

  /// A number that no other index of this process has.
  private let id = ReadIndex.count.add(1, ordering: .relaxed).newValue
  /// Eight shards, so that tasks on different processors rarely contend.
  private let shards = (0..<8).map { _ in Shard() }
  private let order = Atomic<UInt64>(0)
  /// The numbers of ``order`` that no look-up with a result has drawn. Counting these instead of
  /// the hits costs a hit nothing.
  private let withoutHit = Atomic<UInt64>(0)

  deinit {
    // A resource may outlive its reactor by far, and must not retain the model.
    for shard in shards {
      for resource in shard.hits.withLock({ Array($0.keys) }) { updateSlot(of: resource, nil) }
    }
  }

  /// Returns the model for `resource` if `isWanted` accepts its copy, and marks it as used.
  ///
  /// - Parameter isWanted: called under a lock, and only for a copy that answers the resource.
  @inline(__always)
  func model(for resource: Resource, where isWanted: (CachedModel) -> Bool) -> AnyModel? {
    let order = order.add(1, ordering: .relaxed).newValue
    let own = resource.withKnownHit { known -> AnyModel?? in
      known?.table == id ? .some(known?.hit.use(order, where: isWanted)) : nil
    }
    let found =
      own
      ?? shard(resource).hits.withLock { hits in
        guard let index = hits.index(forKey: resource) else { return nil }
        return hits.values[index].use(order, where: isWanted)
      }
    if found == nil { withoutHit.add(1, ordering: .releasing) }
    return found
  }

  /// The number of look-ups with a result.
  var hitCount: UInt64 {
    // Read first: each of its numbers was drawn before.
    let withoutHit = withoutHit.load(ordering: .acquiring)
    return order.load(ordering: .relaxed) - withoutHit
  }

  /// Counts a hit that was found elsewhere.
  func countHit() { order.add(1, ordering: .relaxed) }

  /// Makes `resource` lead to `copy`; with `nil`, to nothing. The caller retains the previous copy,
  /// since its `deinit` may call the reactor.
  func set(_ copy: CachedModel?, for resource: Resource) {
    // If the response varies, this computes a digest, which is stored for every later look-up.
    let isSelected = copy?.isSelected(by: resource) ?? false
    shard(resource).hits.withLock { hits in
      guard let copy else {
        hits[resource] = nil
        return
      }
      if hits[resource]?.copy === copy { return }
      hits[resource] = ReadSlot(copy: copy, isSelected: isSelected, order: hits[resource]?.order ?? 0)
    }
    updateSlot(of: resource, copy, isSelected: isSelected)
  }

  /// Updates the slot that `resource` caches inline. Another reactor's slot stays: a replacement
  /// would lose its record of uses, and would release its model under this reactor's lock.
  private func updateSlot(of resource: Resource, _ copy: CachedModel?, isSelected: Bool = false) {
    let old = resource.withKnownHit { known -> InlineSlot? in
      guard known == nil || known?.table == id else { return nil }
      let old = known
      known = copy.map {
        InlineSlot(table: id, hit: ReadSlot(copy: $0, isSelected: isSelected, order: old?.hit.order ?? 0))
      }
      return old
    }
    // Released without the resource's lock: the model's `deinit` may use the resource.
    withExtendedLifetime(old) {}
  }

  /// Returns the next number in the order of uses.
  func nextOrder() -> UInt64 {
    defer { withoutHit.add(1, ordering: .releasing) }
    return order.add(1, ordering: .relaxed).newValue
  }

  /// Returns the order of the latest use of `resources`; zero if they were never used.
  func lastUse(of resources: some Sequence<Resource>) -> UInt64 {
    var last: UInt64 = 0
    for resource in resources { forEachHit(of: resource) { last = max(last, $0.order) } }
    return last
  }

  /// Returns `true` if one of `resources` was read since the last call.
  func consumeTouch(of resources: some Sequence<Resource>) -> Bool {
    var wasTouched = false
    for resource in resources {
      forEachHit(of: resource) { hit in
        wasTouched = wasTouched || hit.wasTouched
        hit.wasTouched = false
      }
    }
    return wasTouched
  }

  private func forEachHit(of resource: Resource, _ body: (inout ReadSlot) -> Void) {
    resource.withKnownHit { known in
      guard var own = known, own.table == id else { return }
      body(&own.hit)
      known = own
    }
    shard(resource).hits.withLock { hits in
      guard let index = hits.index(forKey: resource) else { return }
      body(&hits.values[index])
    }
  }

  private func shard(_ resource: Resource) -> Shard { shards[resource.hashValueOnce & 7] }
}

/// The copy of a resource and its uses. There are two slots per resource; the order of the
/// properties makes a slot 18 bytes instead of 25.
struct ReadSlot: Sendable {
  let copy: CachedModel
  /// The order of the latest use.
  var order: UInt64
  /// A Boolean value that indicates whether the copy answers the resource, whose header fields may
  /// select another variant (RFC 9111 §4.1).
  let isSelected: Bool
  /// A Boolean value that indicates whether the slot was read since
  /// ``ReadIndex/consumeTouch(of:)``.
  var wasTouched = false

  init(copy: CachedModel, isSelected: Bool, order: UInt64) {
    self.copy = copy
    self.isSelected = isSelected
    self.order = order
  }

  @inline(__always)
  fileprivate mutating func use(_ order: UInt64, where isWanted: (CachedModel) -> Bool) -> AnyModel? {
    self.order = order
    wasTouched = true
    // Each retained reference costs as much as the look-up, so only the model is retained.
    return isSelected && isWanted(copy) ? copy.model : nil
  }
}

/// The slot that a resource caches inline.
struct InlineSlot: Sendable {
  /// The number of the index that the slot belongs to.
  let table: UInt64
  var hit: ReadSlot
}

/// Answers fetches from memory if that needs no waiting.
final class MemoryReader: Sendable {
  let table = ReadIndex()
  let rule: FreshnessRule

  /// Creates a reader with the freshness settings and the wall clock of `configuration`.
  ///
  /// - Parameters:
  ///   - elapsed: returns the time on the configuration's clock since the reactor was created.
  ///   - looks: called after each reading of both clocks; see ``ClockSteps``.
  init(
    _ configuration: ReactorConfiguration, elapsed: @escaping @Sendable () -> Duration,
    looks: @escaping @Sendable () -> Void
  ) {
    rule = FreshnessRule(
      fallback: configuration.freshFor.inSeconds, staleIfError: configuration.staleIfError.inSeconds,
      steps: ClockSteps(wall: configuration.now, elapsed: elapsed, looks: looks))
  }

  /// Returns the model in memory for `resource` if the policy accepts it.
  ///
  /// - Parameter note: called for a hit, under the lock that a removal takes too.
  @inline(__always)
  func hit(_ resource: Resource, _ policy: FetchPolicy, note: (CachedModel) -> Void = { _ in }) -> AnyModel? {
    guard policy.asksStoreFirst else { return nil }
    // Read before the lock is taken: the clock is user code.
    let now = rule.steps.now()
    return table.model(for: resource) { copy in
      let status = rule.status(ofSelected: copy, for: resource, at: now)
      guard case .use = FetchDecision(policy, status) else { return false }
      note(copy)
      return true
    }
  }

  /// Returns the model in memory, fresh or stale.
  func cached(_ resource: Resource) -> AnyModel? {
    table.model(for: resource) { !$0.freshness.isNoStore }
  }
}
