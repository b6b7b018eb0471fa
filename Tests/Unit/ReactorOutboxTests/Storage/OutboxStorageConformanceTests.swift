import Foundation
import ReactorConformance
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@Suite struct `Conformance of an outbox's storage` {
  @Test func `memory keeps the contract`() async throws {
    try await OutboxStorageConformance { MemoryOutboxStorage() }.run()
  }

  @Test func `FileOutboxStorage keeps the contract`() async throws {
    try await withTemporaryDirectory { directory in
      try await OutboxStorageConformance(opening: {
        let outbox = directory.appending(path: UUID().uuidString)
        return { FileOutboxStorage(directory: outbox) }
      }).run()
    }
  }

  @Test func `a wrapper without a defect keeps the contract`() async throws {
    try await OutboxStorageConformance { DefectiveOutboxStorage(defect: nil) }.run()
  }

  @Test(arguments: OutboxDefect.allCases)
  func `a storage that breaks the contract is found`(_ defect: OutboxDefect) async throws {
    let issues = Mutex<[String]>([])
    try await withKnownIssue {
      try await OutboxStorageConformance { DefectiveOutboxStorage(defect: defect) }.run()
    } matching: { issue in
      issues.withLock { $0.append("\(issue)") }
      return true
    }
    #expect(issues.withLock { $0 }.contains { $0.contains(defect.rawValue) }, "\(issues.withLock { $0 })")
  }
}

/// Named by the check that finds it.
enum OutboxDefect: String, CaseIterable, Sendable {
  case losesOrder = "entries are listed in the order of their commits"
  case movesNothing = "a moved entry becomes the last"
  case addsUnknown = "an unknown entry can be neither updated nor moved"
  case isNotAtomic = "an entry cannot be added twice, and nothing of the commit is applied"
  case leasesTwice = "an entry is leased to one process, until the lease ends"
  case keepsLeases = "a lease survives updates and moves, and ends with the entry"
  case releasesOthers = "only the process that holds a lease can release it"
  case returnsStaleEntries = "a claim returns the entry as it is stored at that moment"
  case hidesLeases = "contents(of:) lists each lease until its release"
  case mixesScopes = "scopes are separate, and are removed separately"
  case removesEntriesAlone = "removeAll(in: nil) empties the store, which stays usable"
  case usesNumbersAgain = "the numbers of removed entries are not used again"
  case renumbersUpdates = "an update replaces lane and bytes"
  case cutsBytes = "entries come back as they were added"
  case hasNoLimit = "a scope has at most 10,000 entries"
  case takesLargeEntries = "an entry larger than a mebibyte is refused"
  case forgetsIdentities = "server ids are stored and replaced"
  case changesIdentity = "a store keeps its identity, if it has one"
}

/// Keeps the contract but for one thing.
private final class DefectiveOutboxStorage: OutboxStorage {
  private let base = MemoryOutboxStorage()
  private let defect: OutboxDefect?
  /// Every id that was ever leased, with the first process.
  private let leases = Mutex<[UUID: UUID]>([:])
  private let scopes = Mutex<Set<Scope>>([])
  /// Every entry as it was added.
  private let added = Mutex<[UUID: StoredEntry]>([:])

  init(defect: OutboxDefect?) { self.defect = defect }

  private func spelled(_ scope: Scope) -> Scope { defect == .mixesScopes ? Scope(scope.name.lowercased()) : scope }

  func contents(of scope: Scope) async throws -> OutboxContents {
    var contents = try await base.contents(of: spelled(scope))
    switch defect {
    case .losesOrder: contents.entries.sort { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    case .cutsBytes:
      for index in contents.entries.indices {
        contents.entries[index].bytes = contents.entries[index].bytes.prefix(1_000)
      }
    case .forgetsIdentities: contents.identities = [:]
    case .hidesLeases: contents.leases = [:]
    case .changesIdentity: contents.identity = UUID()
    case .usesNumbersAgain:
      for index in contents.entries.indices { contents.entries[index].number = UInt64(index) + 1 }
    default: break
    }
    return contents
  }

  func commit(_ changes: [OutboxChange], in scope: Scope) async throws -> [UInt64] {
    let scope = spelled(scope)
    scopes.withLock { _ = $0.insert(scope) }
    for case .add(let entry) in changes { added.withLock { $0[entry.id] = $0[entry.id] ?? entry } }
    switch defect {
    case .isNotAtomic: return try await eachAlone(changes, in: scope)
    case .addsUnknown, .movesNothing, .renumbersUpdates, .takesLargeEntries, .hasNoLimit:
      return try await base.commit(try await bent(changes, in: scope), in: scope)
    case .usesNumbersAgain:
      let count = UInt64(try await base.contents(of: scope).entries.count)
      return try await base.commit(changes, in: scope).indices.map { count + UInt64($0) + 1 }
    default: return try await base.commit(changes, in: scope)
    }
  }

  private func eachAlone(_ changes: [OutboxChange], in scope: Scope) async throws -> [UInt64] {
    var numbers: [UInt64] = []
    for change in changes { numbers += try await base.commit([change], in: scope) }
    return numbers
  }

  private func bent(_ changes: [OutboxChange], in scope: Scope) async throws -> [OutboxChange] {
    let stored = Set(try await base.contents(of: scope).entries.map(\.id))
    return changes.compactMap { change in
      switch (change, defect) {
      case (.update(let entry), .addsUnknown) where !stored.contains(entry.id): .add(entry)
      case (.move(let entry), .movesNothing): .update(entry)
      case (.update(let entry), .renumbersUpdates): .move(entry)
      case (.add(let entry), .takesLargeEntries) where entry.bytes.count > StoredEntry.byteLimit: nil
      case (.add, .hasNoLimit) where stored.count == OutboxContents.entryLimit: nil
      default: change
      }
    }
  }

  func claim(_ id: UUID, in scope: Scope, by process: UUID, now: Date, until: Date) async throws -> StoredEntry? {
    let holder = leases.withLock { leases in
      defer { leases[id] = leases[id] ?? process }
      return leases[id]
    }
    if defect == .leasesTwice { return try await base.contents(of: spelled(scope)).entries.first { $0.id == id } }
    if defect == .keepsLeases, let holder, holder != process { return nil }
    guard var entry = try await base.claim(id, in: spelled(scope), by: process, now: now, until: until) else {
      return nil
    }
    if defect == .returnsStaleEntries, let first = added.withLock({ $0[id] }) { entry.bytes = first.bytes }
    return entry
  }

  func release(_ id: UUID, in scope: Scope, by process: UUID) async throws {
    let holder = leases.withLock { $0[id] }
    try await base.release(id, in: spelled(scope), by: defect == .releasesOthers ? holder ?? process : process)
  }

  func removeAll(in scope: Scope?) async throws {
    guard defect == .removesEntriesAlone else { return try await base.removeAll(in: scope.map(spelled)) }
    for scope in scope.map({ [$0] }) ?? Array(scopes.withLock { $0 }) {
      let ids = try await base.contents(of: scope).entries.map(\.id)
      _ = try await base.commit(ids.map { .remove($0) }, in: scope)
    }
  }
}
