/// The entries of one reactor, by key; bounded. Whoever only reads finds their copies by resource in the ``ReadIndex``.
///
/// Not synchronized: the reactor's lock guards it.
struct ModelMemory<Entry: MemoryEntry> {
  private(set) var entries: [RecordKey: Entry] = [:]
  /// In an order that is the same in each run, for what comes of looking through all.
  var entriesInOrder: [Entry] { entries.values.sorted { $0.key.identity < $1.key.identity } }
  let hits: ReadIndex
  /// Those that nobody observes or waits for; kept up to date by ``updateUse(of:)``. However many are observed, only these are
  /// looked through.
  private var unused: [RecordKey: Entry] = [:]
  /// Removed while the lock is held, to be released after it.
  private var removed: [Entry] = []
  /// Of the entries that hold a model; kept up to date by ``account(models:bytes:)``.
  private(set) var models = 0
  private(set) var bytes = 0
  private let limit: MemoryLimit
  private let keepUnusedFor: Duration

  init(limit: MemoryLimit, keepUnusedFor: Duration, hits: ReadIndex) {
    self.limit = limit
    self.keepUnusedFor = keepUnusedFor
    self.hits = hits
  }

  /// The entry of `key`, from now on found by `resource` too.
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

  mutating func insert(_ entry: Entry, as resource: Resource) {
    entries[entry.key] = entry
    link(entry, resource)
  }

  mutating func remove(_ key: RecordKey) {
    guard let entry = entries.removeValue(forKey: key) else { return }
    while let alias = entry.use.aliases.popFirst() { hits.set(nil, for: alias) }
    removed.append(entry)
    if entry.use.isUnused { unused[key] = nil }
    if entry.holdsModel { account(models: -1, bytes: -entry.cost) }
  }

  /// The entries that were removed, for the caller to release once it holds no lock.
  mutating func consumeRemoved() -> [Entry] {
    guard !removed.isEmpty else { return [] }
    defer { removed = [] }
    return removed
  }

  /// Marks `entry` used at `time`: it was stored, or its last observer left.
  mutating func touch(_ entry: Entry, at time: Duration) {
    entry.use.order = hits.nextOrder()
    entry.use.usedAt = time
    entry.use.wasTouched = false
    _ = hits.consumeTouch(of: entry.use.aliases)
  }

  /// Lets readers find what `entry` holds now. To be called at each change of it.
  func publish(_ entry: Entry) {
    for alias in entry.use.aliases { hits.set(entry.copy, for: alias) }
  }

  /// To be called after each change of `entry`: somebody may observe it now, or nobody any more.
  mutating func updateUse(of entry: Entry) {
    guard entry.use.isUnused == entry.isPinned, entries[entry.key] === entry else { return }
    entry.use.isUnused.toggle()
    unused[entry.key] = entry.use.isUnused ? entry : nil
  }

  /// To be told of each model that an entry gets, changes or loses while it is here.
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
    hits.set(entry.copy, for: resource)
  }

  private static var maximumAliases: Int { 8 }
}

extension ModelMemory {
  /// Removes the least recently used entries until the limit holds; gives the keys whose model went. What is pinned stays.
  /// Of unused entries without a model, which only know of an invalidation, as many may stay as of models.
  ///
  /// Beyond the limit it removes a sixteenth at once, so that a full memory does not sort itself at each insertion.
  mutating func trim() -> [RecordKey] {
    let isOver = models > limit.models || bytes > limit.bytes || withoutModel > limit.models
    guard isOver, !unused.isEmpty else { return [] }
    let targetModels = models > limit.models ? limit.models - limit.models / 16 : limit.models
    let targetWithout = limit.models - limit.models / 16
    let targetBytes = bytes > limit.bytes ? limit.bytes - limit.bytes / 16 : limit.bytes
    let candidates = unused.values.filter { !$0.isPinned }
      .map { (entry: $0, lastUse: max($0.use.order, hits.lastUse(of: $0.use.aliases))) }
      .sorted { $0.lastUse < $1.lastUse }
    var gone: [RecordKey] = []
    for (entry, _) in candidates {
      if entry.holdsModel {
        guard models > targetModels || bytes > targetBytes else { continue }
        gone.append(entry.key)
      } else {
        guard withoutModel > targetWithout else { continue }
      }
      remove(entry.key)
    }
    return gone
  }

  /// At least so many of the unused have no model.
  private var withoutModel: Int { unused.count - models }

  /// Removes what has been unused for `keepUnusedFor` at `time`; gives the keys whose model went, and when to look again.
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

/// What the memory keeps for one key. Guarded by the lock of the reactor that the memory belongs to.
protocol MemoryEntry: AnyObject {
  var key: RecordKey { get }
  /// A Boolean value that indicates whether there is a model to evict.
  var holdsModel: Bool { get }
  /// Bytes of payload.
  var cost: Int { get }
  /// A Boolean value that indicates whether somebody observes it, or waits for it: then it stays.
  var isPinned: Bool { get }
  /// What readers find; `nil` where there is no model.
  var copy: CachedModel? { get }
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
  /// A Boolean value that indicates whether it was looked up since that time was set.
  var wasTouched = false
  /// A Boolean value that indicates whether the memory counts it among what may be removed.
  var isUnused = false
}

/// The resources that lead to one key, oldest first. Most keys have one, which takes no memory of its own.
struct Aliases: RandomAccessCollection {
  private var first: Resource?
  /// Empty where ``first`` is `nil`.
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
