import Foundation
import ReactorCore
import ReactorOutbox

/// Leases, scopes and several instances.
extension OutboxStorageConformance {
  static let leases = [
    Check("an entry is leased to one process, until the lease ends") { subject in
      let entry = Samples.entry()
      try await subject.commit(.add(entry))
      subject.expect(
        try await subject.claims(entry, Samples.one, at: 0), "claim returned nil for an entry without a lease")
      subject.expect(
        try await !subject.claims(entry, Samples.two, at: 0), "claim returned an entry that another process has leased")
      subject.expect(
        try await !subject.claims(entry, Samples.two, at: 29.5),
        "claim returned an entry before the other process's lease had ended")
      subject.expect(
        try await subject.claims(entry, Samples.two, at: 30),
        "claim returned nil at the end of the other process's lease")
      subject.expect(
        try await !subject.claims(entry, Samples.one, at: 31),
        "claim returned an entry to the first process during the second's lease")
    },
    Check("a lease from before the clock was set back far does not count") { subject in
      let entry = Samples.entry()
      try await subject.commit(.add(entry))
      subject.expect(try await subject.claims(entry, Samples.one, at: 1_000), "it is not leased")
      subject.expect(try await !subject.claims(entry, Samples.two, at: 970), "a small step ends the lease")
      subject.expect(try await subject.claims(entry, Samples.two, at: 969), "the lease counts still")
    },
    Check("a process renews its own lease") { subject in
      let entry = Samples.entry()
      try await subject.commit(.add(entry))
      subject.expect(
        try await subject.claims(entry, Samples.one, at: 0), "claim returned nil for an entry without a lease")
      subject.expect(
        try await subject.claims(entry, Samples.one, at: 20), "claim returned nil to the process that holds the lease")
      subject.expect(try await !subject.claims(entry, Samples.two, at: 40), "the renewal did not extend the lease")
      subject.expect(try await subject.claims(entry, Samples.two, at: 50), "the renewed lease did not end")
    },
    Check("only the process that holds a lease can release it") { subject in
      let entry = Samples.entry()
      try await subject.commit(.add(entry))
      try await subject.storage.release(entry.id, in: .shared, by: Samples.one)
      subject.expect(
        try await subject.claims(entry, Samples.one, at: 0), "claim returned nil for an entry without a lease")
      try await subject.storage.release(entry.id, in: .shared, by: Samples.two)
      try await subject.storage.release(entry.id, in: "other", by: Samples.one)
      subject.expect(
        try await !subject.claims(entry, Samples.two, at: 0),
        "a release by another process or in another scope ended the lease")
      try await subject.storage.release(entry.id, in: .shared, by: Samples.one)
      subject.expect(
        try await subject.claims(entry, Samples.two, at: 0), "a release by the holder did not end the lease")
    },
    Check("an entry that is not stored cannot be claimed") { subject in
      let entry = Samples.entry()
      subject.expect(
        try await !subject.claims(entry, Samples.one, at: 0), "claim returned an entry that was never stored")
      try await subject.commit(.add(entry))
      let others = try await subject.storage.claim(
        entry.id, in: "other", by: Samples.one, now: Samples.now, until: Samples.now + 30)
      subject.expect(others == nil, "claim returned an entry of another scope")
      try await subject.commit(.remove(entry.id))
      subject.expect(try await !subject.claims(entry, Samples.one, at: 0), "claim returned a removed entry")
    },
    Check("a lease survives updates and moves, and ends with the entry") { subject in
      let entry = Samples.entry()
      try await subject.commit(.add(entry))
      subject.expect(
        try await subject.claims(entry, Samples.one, at: 0), "claim returned nil for an entry without a lease")
      try await subject.commit(.update(Samples.changed(entry, "changed")))
      subject.expect(try await !subject.claims(entry, Samples.two, at: 1), "an update ended the lease")
      try await subject.commit(.move(Samples.changed(entry, "moved")))
      subject.expect(try await !subject.claims(entry, Samples.two, at: 2), "a move ended the lease")
      try await subject.commit(.remove(entry.id))
      try await subject.commit(.add(entry))
      subject.expect(
        try await subject.claims(entry, Samples.two, at: 3), "the lease remained after the removal of the entry")
    },
    Check("of many concurrent claims, one succeeds") { subject in
      let entry = Samples.entry()
      try await subject.commit(.add(entry))
      let count = try await withThrowingTaskGroup(of: Bool.self) { group in
        for _ in 0..<12 {
          group.addTask {
            let storage = try await subject.open()
            return try await storage.claim(
              entry.id, in: .shared, by: UUID(), now: Samples.now, until: Samples.now + 30) != nil
          }
        }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      subject.expect(count == 1, "\(count) of 12 processes got the lease")
    },
  ]

  static let claimedEntries = [
    Check("a claim returns the entry as it is stored at that moment") { subject in
      let other = try await subject.open()
      let entries = Samples.entries(2)
      try await subject.commit(.add(entries[0]), .add(entries[1]))
      // It reads the entry before the other instance changes it.
      try await subject.expect(holds: entries, in: other)
      let updated = Samples.changed(entries[0], "updated", lane: "another lane \u{0}")
      try await subject.commit(.update(updated))
      try await subject.expect(updated, isClaimedFrom: other, "after an update: ")
      let moved = Samples.changed(entries[0], "moved")
      _ = try await other.commit([.move(moved)], in: .shared)
      try await subject.expect(moved, isClaimedFrom: subject.storage, "after a move and a second claim: ")
      try await subject.expect(entries[1], isClaimedFrom: subject.storage, "without a change: ")
    },
    Check("contents(of:) lists each lease until its release") { subject in
      let (entries, now) = (Samples.entries(3), Samples.now)
      for scope in [.shared, "other"] as [Scope] {
        _ = try await subject.storage.commit(entries.map { .add($0) }, in: scope)
      }
      try await subject.expect(leases: [:], "before the first claim: ")
      subject.expect(
        try await subject.claims(entries[0], Samples.one, at: 0),
        "claim returned nil for an entry without a lease")
      subject.expect(
        try await subject.claims(entries[1], Samples.two, at: 1),
        "claim returned nil for an entry without a lease")
      _ = try await subject.claims(entries[0], Samples.two, at: 2)
      let second = OutboxLease(process: Samples.two, until: now + 31)
      try await subject.expect(
        leases: [entries[0].id: OutboxLease(process: Samples.one, until: now + 30), entries[1].id: second])
      _ = try await subject.claims(entries[0], Samples.one, at: 10)
      try await subject.commit(.update(Samples.changed(entries[0], "changed")), .move(entries[1]))
      try await subject.expect(
        leases: [entries[0].id: OutboxLease(process: Samples.one, until: now + 40), entries[1].id: second],
        "after a renewal, an update and a move: ")
      try await subject.storage.release(entries[0].id, in: .shared, by: Samples.one)
      try await subject.expect(leases: [entries[1].id: second], "after a release: ")
      try await subject.commit(.remove(entries[1].id))
      try await subject.expect(leases: [:], "after a removal: ")
      let others = try await subject.storage.contents(of: "other").leases
      subject.expect(others.isEmpty, "another scope lists the leases \(others)")
    },
  ]

  static let scopes = [
    Check("scopes are separate, and are removed separately") { subject in
      // The last two are canonically equivalent Unicode strings with different bytes.
      let scopes: [Scope] = [.shared, "", "alice", "Alice", "alice\n", "../alice", "a\u{0}", "\u{E9}", "e\u{301}"]
      let id = UUID()
      for (index, scope) in scopes.enumerated() {
        let changes: [OutboxChange] = [.add(Samples.entry("\(index)", id: id)), .identify("a", Data("\(index)".utf8))]
        _ = try await subject.storage.commit(changes, in: scope)
      }
      for (index, scope) in scopes.enumerated() {
        try await subject.expect(scope, holds: [Samples.entry("\(index)", id: id)], "scope \(index): ")
        let identities = try await subject.storage.contents(of: scope).identities
        subject.expect(identities == ["a": Data("\(index)".utf8)], "scope \(index) has the ids \(identities)")
        let claimed = try await subject.storage.claim(
          id, in: scope, by: UUID(), now: Samples.now, until: Samples.now + 30)
        subject.expect(
          claimed?.bytes == Data("\(index)".utf8),
          "scope \(index): claim returned \(claimed.map(Samples.name) ?? "nil")")
        try await subject.storage.removeAll(in: scope)
        let left = try await subject.storage.contents(of: scope)
        subject.expect(left.withoutIdentity == OutboxContents(), "scope \(index) still has, after its removal, \(left)")
      }
    },
    Check("removeAll(in: nil) empties the store, which stays usable") { subject in
      let scopes: [Scope] = [.shared, "alice"]
      for scope in scopes {
        let changes: [OutboxChange] = [.add(Samples.entry()), .identify("a", Data("1".utf8))]
        _ = try await subject.storage.commit(changes, in: scope)
      }
      try await subject.storage.removeAll(in: nil)
      for scope in scopes {
        let left = try await subject.storage.contents(of: scope)
        subject.expect(left.withoutIdentity == OutboxContents(), "after removeAll(in: nil), \(scope) has \(left)")
      }
      let entry = Samples.entry()
      try await subject.commit(.add(entry))
      try await subject.expect(holds: [entry])
      try await subject.storage.removeAll(in: "nobody")
      try await subject.expect(holds: [entry])
    },
    Check("removeAll(in:keeping:) removes the others, and keeps numbers, bytes and leases") { subject in
      let entries = Samples.entries(3)
      let numbers = try await subject.storage.commit(entries.map(OutboxChange.add), in: .shared)
      subject.expect(
        try await subject.claims(entries[1], Samples.one, at: 0),
        "claim returned nil for an entry without a lease")
      let other = Samples.entry("of another scope")
      _ = try await subject.storage.commit([.add(other)], in: "alice")
      try await subject.storage.removeAll(in: .shared, keeping: [entries[1].id, UUID()])
      try await subject.expect(holds: [entries[1]])
      let claimed = try await subject.claims(entries[1], Samples.two, at: 1)
      subject.expect(!claimed, "the lease of an entry that stays has ended")
      let left = try await subject.storage.contents(of: .shared).entries.map(\.number)
      subject.expect(left == [numbers[1]], "the numbers are \(left) and not \([numbers[1]])")
      try await subject.expect("alice", holds: [other], "another scope: ")
      let next = try await subject.storage.commit([.add(Samples.entry())], in: .shared)
      subject.expect(next[0] > numbers[2], "the number \(next[0]) was used before, or is less than an earlier number")
    },
    Check("removeAll(in:) ends leases") { subject in
      let entry = Samples.entry()
      try await subject.commit(.add(entry))
      subject.expect(
        try await subject.claims(entry, Samples.one, at: 0), "claim returned nil for an entry without a lease")
      try await subject.storage.removeAll(in: .shared)
      try await subject.commit(.add(entry))
      subject.expect(try await subject.claims(entry, Samples.two, at: 1), "the lease remained after removeAll(in:)")
    },
  ]

  static let instances = [
    Check("another instance sees every commit and every lease") { subject in
      let entries = Samples.entries(3)
      let numbers = try await subject.storage.commit(
        entries.map { .add($0) } + [.identify("a", Data("1".utf8))], in: .shared)
      subject.expect(
        try await subject.claims(entries[0], Samples.one, at: 0),
        "claim returned nil for an entry without a lease")
      let other = try await subject.open()
      try await subject.expect(holds: entries, in: other)
      let contents = try await other.contents(of: .shared)
      subject.expect(contents.entries.map(\.number) == numbers, "the other instance lists other numbers")
      subject.expect(contents.identities == ["a": Data("1".utf8)], "the other instance lists other server ids")
      let claimed = try await other.claim(
        entries[0].id, in: .shared, by: Samples.two, now: Samples.now + 1, until: Samples.now + 30)
      subject.expect(claimed == nil, "claim returned an entry that another process has leased")
    },
    Check("instances that commit in turn see each other's changes") { subject in
      let other = try await subject.open()
      var entries: [StoredEntry] = []
      for index in 0..<6 {
        entries.append(Samples.entry("\(index)"))
        _ = try await (index.isMultiple(of: 2) ? subject.storage : other).commit([.add(entries[index])], in: .shared)
        for storage in [subject.storage, other] { try await subject.expect(holds: entries, in: storage) }
      }
      _ = try await other.commit([.remove(entries[0].id)], in: .shared)
      try await subject.expect(.unknownEntry(entries[0].id), of: [.update(entries[0])])
      try await other.removeAll(in: .shared)
      try await subject.expect(holds: [])
      try await subject.commit(.add(entries[0]))
      try await subject.expect(holds: [entries[0]], in: other)
    },
    Check("a store keeps its identity, if it has one") { subject in
      let identity = try await subject.storage.contents(of: .shared).identity
      let entry = Samples.entry()
      try await subject.commit(.add(entry))
      try await subject.expect(identity: identity, "after the first commit: ")
      try await subject.commit(.move(entry), .identify("a", Data("1".utf8)))
      try await subject.storage.removeAll(in: .shared)
      try await subject.expect(identity: identity, "after the removal of the scope: ")
      _ = try await (try await subject.open()).commit([.add(entry)], in: .shared)
      try await subject.storage.removeAll(in: nil)
      try await subject.expect(identity: identity, "after the removal of everything: ")
    },
    Check("concurrent commits of several instances lose nothing") { subject in
      let entries = Samples.entries(24)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for part in 0..<4 {
          group.addTask {
            let storage = try await subject.open()
            for index in stride(from: part, to: entries.count, by: 4) {
              _ = try await storage.commit([.add(entries[index])], in: .shared)
            }
          }
        }
        try await group.waitForAll()
      }
      let stored = try await subject.storage.contents(of: .shared).entries
      subject.expect(
        Set(stored.map(\.id)) == Set(entries.map(\.id)), "\(stored.count) of \(entries.count) entries are stored")
      subject.expect(Set(stored.map(\.number)).count == entries.count, "two entries have the same number")
    },
  ]
}

extension OutboxStorageConformance.Subject {
  private typealias Samples = OutboxStorageConformance.Samples

  /// Claims an entry of the shared scope for 30 seconds, `seconds` after the start.
  fileprivate func claims(_ entry: StoredEntry, _ process: UUID, at seconds: Double) async throws -> Bool {
    let now = Samples.now + seconds
    return try await storage.claim(entry.id, in: .shared, by: process, now: now, until: now + 30) != nil
  }

  /// Expects that a claim returns the entry that `storage` lists, with the lane and bytes of
  /// `entry`.
  fileprivate func expect(
    _ entry: StoredEntry, isClaimedFrom storage: any OutboxStorage, _ what: String
  ) async throws {
    let now = Samples.now
    let claimed = try await storage.claim(entry.id, in: .shared, by: Samples.one, now: now, until: now + 30)
    let stored = try await storage.contents(of: .shared).entries.first { $0.id == entry.id }
    expect(
      claimed.map(Samples.spelling) == Samples.spelling(entry),
      "\(what)claim returned \(claimed.map(Samples.name) ?? "nil")")
    expect(
      claimed?.number == stored?.number,
      "\(what)claim returned the number \(claimed?.number ?? 0), contents(of:) another")
  }

  /// Expects the identity of the store, in this instance and in another.
  fileprivate func expect(identity: UUID?, _ what: String) async throws {
    for storage in [storage, try await open()] {
      let other = try await storage.contents(of: .shared).identity
      expect(other == identity, "\(what)contents(of:) returned another identity than before")
    }
  }

  /// Expects the leases of the shared scope, in this instance and in another.
  fileprivate func expect(leases: [UUID: OutboxLease], _ what: String = "") async throws {
    for storage in [storage, try await open()] {
      let listed = try await storage.contents(of: .shared).leases
      expect(listed == leases, "\(what)expected the leases \(leases), listed \(listed)")
    }
  }
}
