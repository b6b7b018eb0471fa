/// What the memory keeps for one key. Guarded by the lock of the reactor that the memory belongs to.
protocol MemoryEntry: AnyObject {
  var key: RecordKey { get }
  /// Whether there is a model to evict.
  var holdsModel: Bool { get }
  /// Bytes of payload.
  var cost: Int { get }
  /// Whether somebody observes it, or waits for it: then it stays.
  var isPinned: Bool { get }
  /// What readers find; `nil` where there is no model.
  var copy: Copy? { get }
  var use: MemoryUse { get set }
}

/// When and under which names an entry was used.
struct MemoryUse {
  /// The resources that lead to the entry; several spell one key.
  var aliases = Aliases()
  /// Counts up at each use that was no hit: the least is the least recently used.
  var order: UInt64 = 0
  /// The clock's time of the last use that was timed.
  var usedAt: Duration = .zero
  /// Whether it was looked up since that time was set.
  var wasTouched = false
  /// Whether the memory counts it among what may be removed.
  var isUnused = false
}
