/// The bounded entries of one reactor, by key. Readers find their copies by resource in the
/// ``ReadIndex``.
///
/// Not synchronized: the reactor's lock guards it.
struct ModelMemory<Entry: MemoryEntry> {
  private(set) var entries: [RecordKey: Entry] = [:]
  /// The entries in an order that is the same in each run. Used where the effects of an iteration
  /// depend on the order.
  var entriesInOrder: [Entry] { entries.values.sortedUnspecialized { $0.key.identity < $1.key.identity } }
  /// The unused entries, in the same order.
  var unusedEntries: [Entry] {
    unused.values.filter { !$0.isPinned }.sortedUnspecialized { $0.key.identity < $1.key.identity }
  }
  let hits: ReadIndex
  /// The keys of each URL; `nil` before the first call of ``entries(ofURL:)``, which few programs
  /// need.
  private var keysByURL: [String: Set<RecordKey>]?
  /// The entries without observers and waiters, as ``updateUse(of:)`` maintains them. Eviction
  /// examines only these, however many entries are observed.
  private var unused: [RecordKey: Entry] = [:]
  /// The entries removed under the lock, to be released without it.
  private var removed: [Entry] = []
  /// The number of entries that hold a model, as ``account(models:bytes:)`` maintains it.
  private(set) var models = 0
  private(set) var bytes = 0
  private var oversized = OversizedModels()
  private let limit: ReactorConfiguration.MemoryLimit
  private let keepUnusedFor: Duration

  init(limit: ReactorConfiguration.MemoryLimit, keepUnusedFor: Duration, hits: ReadIndex) {
    self.limit = limit
    self.keepUnusedFor = keepUnusedFor
    self.hits = hits
  }

  /// Returns the entry of `key`, marks it as used, and makes `resource` lead to it.
  mutating func entry(of key: RecordKey, as resource: Resource) -> Entry? {
    guard let entry = entries[key] else { return nil }
    link(entry, resource)
    markUsed(entry)
    return entry
  }

  private mutating func markUsed(_ entry: Entry) {
    entry.use.order = hits.nextOrder()
    entry.use.wasTouched = true
  }

  /// Returns the entries of a URL, whatever their method and identity fields.
  mutating func entries(ofURL url: String) -> [Entry] {
    if keysByURL == nil { keysByURL = Dictionary(grouping: entries.keys, by: \.url).mapValues { Set($0) } }
    return keysByURL?[url]?.compactMap { entries[$0] } ?? []
  }

  mutating func insert(_ entry: Entry, as resource: Resource) {
    entries[entry.key] = entry
    if keysByURL != nil { keysByURL?[entry.key.url, default: []].insert(entry.key) }
    link(entry, resource)
  }

  mutating func remove(_ key: RecordKey) {
    guard let entry = entries.removeValue(forKey: key) else { return }
    while let alias = entry.use.aliases.popFirst() { hits.set(nil, for: alias) }
    if keysByURL?[key.url]?.remove(key) != nil, keysByURL?[key.url]?.isEmpty == true { keysByURL?[key.url] = nil }
    removed.append(entry)
    if entry.use.isUnused { unused[key] = nil }
    if entry.holdsModel { account(models: -1, bytes: -entry.cost) }
    if !oversized.isEmpty { oversized.remove(key) }
  }

  /// Returns the removed entries. The caller releases them once it holds no lock.
  mutating func consumeRemoved() -> [Entry] {
    guard !removed.isEmpty else { return [] }
    defer { removed = [] }
    return removed
  }

  /// Marks `entry` as used at `time`: a value was stored, or its last observer left.
  mutating func touch(_ entry: Entry, at time: Duration) {
    entry.use.order = hits.nextOrder()
    entry.use.usedAt = time
    entry.use.wasTouched = false
    _ = hits.consumeTouch(of: entry.use.aliases)
  }

  /// Publishes the copy of `entry` to readers. Call it after each change of the copy.
  func publish(_ entry: Entry) {
    for alias in entry.use.aliases { hits.set(entry.readable, for: alias) }
  }

  /// Updates the set of unused entries. Call it after each change of `entry`, which may have gained
  /// its first observer or lost its last.
  mutating func updateUse(of entry: Entry) {
    defer { if entry.cost > limit.bytes || !oversized.isEmpty { noteSize(of: entry) } }
    guard entry.use.isUnused == entry.isPinned, entries[entry.key] === entry else { return }
    entry.use.isUnused.toggle()
    unused[entry.key] = entry.use.isUnused ? entry : nil
  }

  /// Updates the totals. Call it for each model that an entry gains, replaces or loses while it is
  /// in memory.
  mutating func account(models: Int, bytes: Int) {
    self.models += models
    self.bytes += bytes
  }

  private mutating func link(_ entry: Entry, _ resource: Resource) {
    guard !entry.use.aliases.contains(resource) else { return }
    if entry.use.aliases.count == Self.maximumAliases, let oldest = entry.use.aliases.popFirst() {
      hits.set(nil, for: oldest)
    }
    entry.use.aliases.append(resource)
    hits.set(entry.readable, for: resource)
  }

  private static var maximumAliases: Int { 8 }
}

extension ModelMemory {
  /// Removes the least recently used entries until the limit holds. Pinned entries stay. Unused
  /// entries without a model, which only record an invalidation, are limited to the same number.
  ///
  /// Above the limit, a sixteenth is removed at once, so that a full memory is not sorted at each
  /// insertion. A model that exceeds the limit by itself is evicted as soon as nothing pins it, and
  /// no other model is evicted for it.
  ///
  /// - Returns: the keys whose models were evicted.
  mutating func trim() -> [RecordKey] {
    var gone = oversized.unused.sorted { $0.identity < $1.identity }
    for key in gone { remove(key) }
    let isOver = models > limit.models || countedBytes > limit.bytes || withoutModel > limit.models
    guard isOver, !unused.isEmpty else { return gone }
    let targetModels = models > limit.models ? limit.models - limit.models / 16 : limit.models
    let targetWithout = limit.models - limit.models / 16
    let targetBytes = countedBytes > limit.bytes ? limit.bytes - limit.bytes / 16 : limit.bytes
    let candidates = unused.values.filter { !$0.isPinned }
      .map { (entry: $0, lastUse: max($0.use.order, hits.lastUse(of: $0.use.aliases))) }
      .sorted { $0.lastUse < $1.lastUse }
    for (entry, _) in candidates {
      if entry.holdsModel {
        guard models > targetModels || countedBytes > targetBytes else { continue }
        gone.append(entry.key)
      } else {
        guard withoutModel > targetWithout else { continue }
      }
      remove(entry.key)
    }
    return gone
  }

  /// The sizes of the models that the limit applies to.
  private var countedBytes: Int { bytes - oversized.bytes }

  private mutating func noteSize(of entry: Entry) {
    guard entries[entry.key] === entry else { return }
    oversized.remove(entry.key)
    if entry.cost > limit.bytes { oversized.add(entry.key, entry.cost, isUnused: entry.use.isUnused) }
  }

  /// A lower bound of the number of unused entries without a model.
  private var withoutModel: Int { unused.count - models }

  /// Removes the entries that have been unused for `keepUnusedFor` at `time`.
  ///
  /// - Returns: the keys whose models were evicted, and the time of the next call; `nil` if no
  ///   unused entry is left.
  mutating func sweep(at time: Duration) -> (gone: [RecordKey], next: Duration?) {
    guard keepUnusedFor < .never else { return ([], nil) }
    var gone: [RecordKey] = []
    var next: Duration?
    for entry in unused.values where !entry.isPinned {
      let due = entry.use.usedAt.saturatingAdd(keepUnusedFor)
      if due > time {
        next = min(next ?? due, due)
      } else if hits.consumeTouch(of: entry.use.aliases) || entry.use.wasTouched {
        entry.use.wasTouched = false
        entry.use.usedAt = time
        next = min(next ?? .never, time.saturatingAdd(keepUnusedFor))
      } else {
        gone.append(entry.key)
      }
    }
    let models = gone.filter { entries[$0]?.holdsModel == true }
    for key in gone { remove(key) }
    return (models, next)
  }
}

/// The models that exceed the limit by themselves. They leave no room for others, and so do not
/// count.
private struct OversizedModels {
  private var sizes: [RecordKey: Int] = [:]
  private(set) var bytes = 0
  /// The ones that nothing pins.
  private(set) var unused: Set<RecordKey> = []

  var isEmpty: Bool { sizes.isEmpty }

  mutating func add(_ key: RecordKey, _ size: Int, isUnused: Bool) {
    sizes[key] = size
    bytes += size
    if isUnused { unused.insert(key) }
  }

  mutating func remove(_ key: RecordKey) {
    bytes -= sizes.removeValue(forKey: key) ?? 0
    unused.remove(key)
  }
}

/// The part of a key's state that the memory uses. Guarded by the lock of the reactor that owns the
/// memory.
protocol MemoryEntry: AnyObject {
  var key: RecordKey { get }
  /// A Boolean value that indicates whether there is a model to evict.
  var holdsModel: Bool { get }
  /// The size of the payload in bytes.
  var cost: Int { get }
  /// A Boolean value that indicates whether an observer or a waiter needs the entry. It then stays
  /// in memory.
  var isPinned: Bool { get }
  /// The copy that readers find without the lock; `nil` if there is no model, or if a change is
  /// over it.
  var readable: CachedModel? { get }
  var use: MemoryUse { get set }
}

/// The aliases of an entry, and its last uses.
struct MemoryUse {
  /// The resources that lead to the entry. Several resources may have the same key.
  var aliases = Aliases()
  /// The order of the latest use that was not a hit. The entry with the smallest number was used
  /// least recently.
  var order: UInt64 = 0
  /// The clock's time of the latest use that was timed.
  var usedAt: Duration = .zero
  /// A Boolean value that indicates whether the entry was looked up since ``usedAt`` was set.
  var wasTouched = false
  /// A Boolean value that indicates whether the memory counts the entry among the unused ones.
  var isUnused = false
}

/// The resources that lead to one key, oldest first. Most keys have one, which needs no allocation.
struct Aliases: RandomAccessCollection {
  private var first: Resource?
  /// The remaining resources. Empty if ``first`` is `nil`.
  private var others: [Resource] = []

  var startIndex: Int { 0 }
  var endIndex: Int { first == nil ? 0 : 1 + others.count }
  subscript(position: Int) -> Resource {
    if position == 0, let first { return first }
    return others[position - 1]
  }

  mutating func append(_ resource: Resource) {
    if first == nil { first = resource } else { others.append(resource) }
  }

  mutating func popFirst() -> Resource? {
    defer { first = others.isEmpty ? nil : others.removeFirst() }
    return first
  }
}
