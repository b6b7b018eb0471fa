import Foundation
import Synchronization

/// What a memory has, for whoever only reads: found by resource, under locks that a change holds for a moment.
///
/// The first of equal resources that was asked with knows its hit by itself, unless it knows another memory's; the others find theirs in a
/// table.
final class ReadIndex: Sendable {
  private final class Shard: Sendable {
    let hits = Mutex<[Resource: ReadSlot]>([:])
  }

  private static let count = Atomic<UInt64>(0)

  /// Of no other that this process has.
  private let id = ReadIndex.count.add(1, ordering: .relaxed).newValue
  /// As many as keep the tasks of a few processors apart.
  private let shards = (0..<8).map { _ in Shard() }
  private let order = Atomic<UInt64>(0)

  deinit {
    // A resource may outlive its reactor by far, and is not to keep the model.
    for shard in shards {
      for resource in shard.hits.withLock({ Array($0.keys) }) { updateSlot(of: resource, nil) }
    }
  }

  /// The model that `resource` leads to, where its copy is wanted; marks it used. `isWanted` runs under a lock, and is asked only about
  /// what answers the resource.
  @inline(__always)
  func model(for resource: Resource, where isWanted: (CachedModel) -> Bool) -> AnyModel? {
    let order = nextOrder()
    let own = resource.withKnownHit { known -> AnyModel?? in
      known?.table == id ? .some(known?.hit.use(order, where: isWanted)) : nil
    }
    if let own { return own }
    return shard(resource).hits.withLock { hits in
      guard let index = hits.index(forKey: resource) else { return nil }
      return hits.values[index].use(order, where: isWanted)
    }
  }

  /// From now on `resource` leads to `copy`, or to nothing. Whoever calls it holds what was there, since that may call the reactor as it
  /// goes.
  func set(_ copy: CachedModel?, for resource: Resource) {
    // A digest, where the response varies: made once, and here.
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

  /// Another memory's hit stays: what it knows of its use would be lost, and its model might be let go of under this one's lock.
  private func updateSlot(of resource: Resource, _ copy: CachedModel?, isSelected: Bool = false) {
    let old = resource.withKnownHit { known -> InlineSlot? in
      guard known == nil || known?.table == id else { return nil }
      let old = known
      known = copy.map {
        InlineSlot(table: id, hit: ReadSlot(copy: $0, isSelected: isSelected, order: old?.hit.order ?? 0))
      }
      return old
    }
    // Not under the resource's lock: its model may ask with the resource as it goes.
    withExtendedLifetime(old) {}
  }

  /// The next in the order of uses.
  func nextOrder() -> UInt64 { order.add(1, ordering: .relaxed).newValue }

  /// When one of `resources` was used last; zero where none was.
  func lastUse(of resources: some Sequence<Resource>) -> UInt64 {
    var last: UInt64 = 0
    for resource in resources { forEachHit(of: resource) { last = max(last, $0.order) } }
    return last
  }

  /// Returns whether one of `resources` was read since the last call.
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

/// What a resource leads to. There is one for each, twice: the order of its properties makes it 18 bytes and not 25.
struct ReadSlot: Sendable {
  let copy: CachedModel
  /// Counts up at each use.
  var order: UInt64
  /// A Boolean value that indicates whether the copy answers the resource, whose header fields may
  /// ask for another variant (RFC 9111 §4.1).
  let isSelected: Bool
  /// A Boolean value that indicates whether it was read since somebody asked.
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
    // Each reference that is held on the way costs as much as the look-up: only the model is.
    return isSelected && isWanted(copy) ? copy.model : nil
  }
}

/// What a resource knows by itself.
struct InlineSlot: Sendable {
  /// Whose it is.
  let table: UInt64
  var hit: ReadSlot
}

/// Answers from memory what can be answered without waiting.
final class MemoryReader: Sendable {
  let table = ReadIndex()
  let rule: FreshnessRule

  /// - Parameter elapsed: the time of the configuration's clock.
  init(_ configuration: ReactorConfiguration, elapsed: @escaping @Sendable () -> Duration) {
    rule = FreshnessRule(
      fallback: configuration.freshFor.inSeconds, staleIfError: configuration.staleIfError.inSeconds,
      steps: ClockSteps(wall: configuration.now, elapsed: elapsed))
  }

  /// The model that memory has for `resource`, where the policy is content with it.
  ///
  /// - Parameter note: called under the lock that a removal takes too.
  @inline(__always)
  func hit(_ resource: Resource, _ policy: FetchPolicy, note: (RecordKey) -> Void = { _ in }) -> AnyModel? {
    guard policy.asksStoreFirst else { return nil }
    // Before the lock is taken: the clock is its user's.
    let now = rule.steps.now()
    return table.model(for: resource) { copy in
      let status = rule.status(ofSelected: copy, for: resource, at: now)
      guard case .use = FetchDecision(policy, status) else { return false }
      note(copy.key)
      return true
    }
  }

  /// The model that memory has, fresh or not.
  func cached(_ resource: Resource) -> AnyModel? {
    table.model(for: resource) { !$0.freshness.isNoStore }
  }
}
