import Foundation

/// The entries of one scope, with their leases and the ids from servers. It has the rules that all
/// stores without a database share.
struct OutboxTable: Sendable, Equatable {
  /// A change that cannot fail. A journal holds these.
  enum Step: Sendable, Equatable {
    /// Adds an entry or replaces it. Its lease stays.
    case put(StoredEntry)
    case remove(UUID)
    case identify(String, Data)
    case lease(UUID, OutboxLease)
    case release(UUID)
    /// Sets the lowest number of the next entry.
    case next(UInt64)

    /// About the number of bytes that it takes in a journal, with a lease of the entry.
    var size: Int {
      switch self {
      case .put(let entry): 80 + entry.lane.utf8.count + entry.bytes.count
      case .identify(let temporary, let id): 8 + temporary.utf8.count + id.count
      case .remove, .lease, .release, .next: 44
      }
    }
  }

  private struct Row: Equatable {
    var entry: StoredEntry
    var lease: OutboxLease?
  }

  private var rows: [UUID: Row] = [:]
  private var identities = GivenIDs()
  private var next: UInt64 = 1
  /// About the number of bytes that ``allSteps`` takes in a journal.
  private(set) var size = 0

  var isEmpty: Bool { rows.isEmpty && identities.isEmpty }

  var contents: OutboxContents {
    OutboxContents(
      entries: rows.values.map(\.entry).sorted { $0.number < $1.number }, identities: identities.contents,
      leases: rows.compactMapValues(\.lease))
  }

  /// Returns the steps that carry out `changes`, and the numbers of the entries that are added or
  /// moved. Changes nothing.
  func steps(for changes: [OutboxChange]) throws(OutboxStorageError) -> (steps: [Step], numbers: [UInt64]) {
    var draft = Draft(table: self)
    var steps: [Step] = []
    for change in changes {
      switch change {
      case .add(let entry): steps.append(.put(try draft.add(entry)))
      case .require(let entry): try draft.require(entry)
      case .update(let entry): steps.append(.put(try draft.update(entry)))
      case .move(let entry): steps.append(.put(try draft.move(entry)))
      case .remove(let id):
        draft.remove(id)
        steps.append(.remove(id))
      case .identify(let temporary, let id): steps.append(.identify(temporary, id))
      }
    }
    return (steps, draft.numbers)
  }

  /// Returns an entry and the step that leases it, or `nil` if another process holds a lease or the
  /// entry does not exist.
  func claim(_ id: UUID, by process: UUID, now: Date, until: Date) -> (entry: StoredEntry, step: Step)? {
    guard let row = rows[id] else { return nil }
    if let lease = row.lease, lease.process != process, lease.counts(at: now, longest: until) { return nil }
    // NaN compares with no date, so no process would respect the lease, and the journal could not
    // be read.
    let until = until.timeIntervalSinceReferenceDate.isNaN ? .distantPast : until
    return (row.entry, .lease(id, OutboxLease(process: process, until: until)))
  }

  /// Returns the step that releases a lease, or `nil` if `process` has no lease.
  func release(_ id: UUID, by process: UUID) -> Step? {
    rows[id]?.lease?.process == process ? .release(id) : nil
  }

  mutating func apply(_ step: Step) {
    switch step {
    case .put(let entry):
      size += step.size - (rows[entry.id].map { Step.put($0.entry).size } ?? 0)
      rows[entry.id, default: Row(entry: entry)].entry = entry
      next = max(next, entry.number + 1)
    case .remove(let id):
      size -= rows.removeValue(forKey: id).map { Step.put($0.entry).size } ?? 0
    case .identify(let temporary, let id):
      size += step.size - (identities[temporary].map { Step.identify(temporary, $0).size } ?? 0)
      identities.give(temporary, id)
    case .lease(let id, let lease): rows[id]?.lease = lease
    case .release(let id): rows[id]?.lease = nil
    case .next(let number): next = max(next, number)
    }
  }

  /// A Boolean value that indicates whether old ids are to be removed.
  var hasOldIDs: Bool { identities.isDue }

  /// Removes the old ids that no entry contains.
  mutating func removeOldIDs() {
    let old = identities.removeOld(unlessIn: rows.values.lazy.map(\.entry.bytes))
    size -= old.reduce(0) { $0 + Step.identify($1.temporary, $1.json).size }
  }

  /// Returns the table with only these entries and their leases. It continues the numbering.
  func keeping(_ ids: Set<UUID>) -> OutboxTable {
    var table = OutboxTable()
    table.apply(.next(next))
    for row in rows.values where ids.contains(row.entry.id) {
      table.apply(.put(row.entry))
      if let lease = row.lease { table.apply(.lease(row.entry.id, lease)) }
    }
    return table
  }

  /// The steps that build this table from an empty one.
  var allSteps: [Step] {
    var steps: [Step] = [.next(next)]
    for (temporary, id) in identities.inOrder { steps.append(.identify(temporary, id)) }
    for row in rows.values.sorted(by: { $0.entry.number < $1.entry.number }) {
      steps.append(.put(row.entry))
      if let lease = row.lease { steps.append(.lease(row.entry.id, lease)) }
    }
    return steps
  }
}

extension OutboxTable {
  /// The table while a commit is checked, as differences from the stored table.
  private struct Draft {
    let table: OutboxTable
    /// The entries that the commit has changed; `nil` for a removed one.
    var changed: [UUID: StoredEntry?] = [:]
    var count: Int
    var next: UInt64
    var numbers: [UInt64] = []

    init(table: OutboxTable) {
      self.table = table
      count = table.rows.count
      next = table.next
    }

    private func stored(_ id: UUID) -> StoredEntry? {
      if let entry = changed[id] { return entry }
      return table.rows[id]?.entry
    }

    func require(_ entry: StoredEntry) throws(OutboxStorageError) {
      guard let stored = stored(entry.id) else { throw .unknownEntry(entry.id) }
      guard stored.bytes == entry.bytes else { throw .changedEntry(entry.id) }
    }

    mutating func add(_ entry: StoredEntry) throws(OutboxStorageError) -> StoredEntry {
      guard stored(entry.id) == nil else { throw .duplicateEntry(entry.id) }
      guard count < OutboxContents.entryLimit else { throw .full(limit: OutboxContents.entryLimit) }
      count += 1
      return try last(entry)
    }

    mutating func move(_ entry: StoredEntry) throws(OutboxStorageError) -> StoredEntry {
      guard stored(entry.id) != nil else { throw .unknownEntry(entry.id) }
      return try last(entry)
    }

    mutating func update(_ entry: StoredEntry) throws(OutboxStorageError) -> StoredEntry {
      guard let number = stored(entry.id)?.number else { throw .unknownEntry(entry.id) }
      let entry = try entry.checked(number)
      changed[entry.id] = entry
      return entry
    }

    mutating func remove(_ id: UUID) {
      guard stored(id) != nil else { return }
      changed[id] = .some(nil)
      count -= 1
    }

    private mutating func last(_ entry: StoredEntry) throws(OutboxStorageError) -> StoredEntry {
      let entry = try entry.checked(next)
      changed[entry.id] = entry
      numbers.append(next)
      next += 1
      return entry
    }
  }
}

extension OutboxLease {
  /// Returns a Boolean value that indicates whether the lease has not expired, unless the clock was
  /// set back far since it was made.
  ///
  /// - Parameter until: The expiry of a lease that is granted now.
  func counts(at now: Date, longest until: Date) -> Bool {
    self.until > now && !(self.until > until.addingTimeInterval(until.timeIntervalSince(now)))
  }
}

extension StoredEntry {
  /// Returns the entry with a number, and with bytes that begin at index 0.
  fileprivate func checked(_ number: UInt64) throws(OutboxStorageError) -> StoredEntry {
    try checkSize()
    return StoredEntry(id: id, number: number, lane: lane, bytes: bytes.startIndex == 0 ? bytes : Data(bytes))
  }

  /// - Throws: ``OutboxStorageError/tooLarge(size:limit:)``.
  package func checkSize() throws(OutboxStorageError) {
    guard bytes.count <= Self.byteLimit else { throw .tooLarge(size: bytes.count, limit: Self.byteLimit) }
  }
}
