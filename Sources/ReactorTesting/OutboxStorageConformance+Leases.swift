import Foundation
import ReactorCore
import ReactorOutbox

/// Leases, scopes and several instances.
extension OutboxStorageConformance.Check {
  private typealias Samples = OutboxStorageConformance.Samples

  static let leases = [
    Self("an entry is leased to one process, until the lease ends") { subject in
      let entry = Samples.entry()
      try await subject.commit(.add(entry))
      subject.expect(try await subject.claims(entry, Samples.one, at: 0), "it is not leased")
      subject.expect(try await !subject.claims(entry, Samples.two, at: 0), "it is leased twice")
      subject.expect(try await !subject.claims(entry, Samples.two, at: 29.5), "the lease ends early")
      subject.expect(try await subject.claims(entry, Samples.two, at: 30), "the lease does not end")
      subject.expect(try await !subject.claims(entry, Samples.one, at: 31), "the earlier lease still counts")
    },
    Self("a lease from before the clock was set back far does not count") { subject in
      let entry = Samples.entry()
      try await subject.commit(.add(entry))
      subject.expect(try await subject.claims(entry, Samples.one, at: 1_000), "it is not leased")
      subject.expect(try await !subject.claims(entry, Samples.two, at: 970), "a small step ends the lease")
      subject.expect(try await subject.claims(entry, Samples.two, at: 969), "the lease counts still")
    },
    Self("a process renews its own lease") { subject in
      let entry = Samples.entry()
      try await subject.commit(.add(entry))
      subject.expect(try await subject.claims(entry, Samples.one, at: 0), "it is not leased")
      subject.expect(try await subject.claims(entry, Samples.one, at: 20), "it is not renewed")
      subject.expect(try await !subject.claims(entry, Samples.two, at: 40), "the first lease decides")
      subject.expect(try await subject.claims(entry, Samples.two, at: 50), "the second lease does not end")
    },
    Self("only the process that holds a lease ends it") { subject in
      let entry = Samples.entry()
      try await subject.commit(.add(entry))
      try await subject.storage.release(entry.id, in: .shared, by: Samples.one)
      subject.expect(try await subject.claims(entry, Samples.one, at: 0), "it is not leased")
      try await subject.storage.release(entry.id, in: .shared, by: Samples.two)
      try await subject.storage.release(entry.id, in: "other", by: Samples.one)
      subject.expect(try await !subject.claims(entry, Samples.two, at: 0), "another ended it")
      try await subject.storage.release(entry.id, in: .shared, by: Samples.one)
      subject.expect(try await subject.claims(entry, Samples.two, at: 0), "it is not ended")
    },
    Self("an entry that is not stored is not leased") { subject in
      let entry = Samples.entry()
      subject.expect(try await !subject.claims(entry, Samples.one, at: 0), "it was never stored")
      try await subject.commit(.add(entry))
      let others = try await subject.storage.claim(
        entry.id, in: "other", by: Samples.one, now: Samples.now, until: Samples.now + 30)
      subject.expect(others == nil, "it is another scope's")
      try await subject.commit(.remove(entry.id))
      subject.expect(try await !subject.claims(entry, Samples.one, at: 0), "it was removed")
    },
    Self("a lease is kept over updates and moves, and ends with the entry") { subject in
      let entry = Samples.entry()
      try await subject.commit(.add(entry))
      subject.expect(try await subject.claims(entry, Samples.one, at: 0), "it is not leased")
      try await subject.commit(.update(Samples.changed(entry, "changed")))
      subject.expect(try await !subject.claims(entry, Samples.two, at: 1), "an update ends it")
      try await subject.commit(.move(Samples.changed(entry, "moved")))
      subject.expect(try await !subject.claims(entry, Samples.two, at: 2), "a move ends it")
      try await subject.commit(.remove(entry.id))
      try await subject.commit(.add(entry))
      subject.expect(try await subject.claims(entry, Samples.two, at: 3), "it outlives the entry")
    },
    Self("of many processes at once, one gets a lease") { subject in
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
      subject.expect(count == 1, "\(count) got it")
    },
  ]

  static let claimedEntries = [
    Self("a claim returns the entry as it is stored at that moment") { subject in
      let other = try await subject.open()
      let entries = Samples.entries(2)
      try await subject.commit(.add(entries[0]), .add(entries[1]))
      // It reads the entry before the other instance changes it.
      try await subject.expect(holds: entries, in: other)
      let updated = Samples.changed(entries[0], "updated", lane: "another lane \u{0}")
      try await subject.commit(.update(updated))
      try await subject.expect(updated, isClaimedFrom: other, "updated: ")
      let moved = Samples.changed(entries[0], "moved")
      _ = try await other.commit([.move(moved)], in: .shared)
      try await subject.expect(moved, isClaimedFrom: subject.storage, "moved and claimed again: ")
      try await subject.expect(entries[1], isClaimedFrom: subject.storage, "unchanged: ")
    },
    Self("the contents have the leases, until they are released") { subject in
      let (entries, now) = (Samples.entries(3), Samples.now)
      for scope in [.shared, "other"] as [Scope] {
        _ = try await subject.storage.commit(entries.map { .add($0) }, in: scope)
      }
      try await subject.expect(leases: [:], "before the first: ")
      subject.expect(try await subject.claims(entries[0], Samples.one, at: 0), "it is not leased")
      subject.expect(try await subject.claims(entries[1], Samples.two, at: 1), "it is not leased")
      _ = try await subject.claims(entries[0], Samples.two, at: 2)
      let second = OutboxLease(process: Samples.two, until: now + 31)
      try await subject.expect(
        leases: [entries[0].id: OutboxLease(process: Samples.one, until: now + 30), entries[1].id: second])
      _ = try await subject.claims(entries[0], Samples.one, at: 10)
      try await subject.commit(.update(Samples.changed(entries[0], "changed")), .move(entries[1]))
      try await subject.expect(
        leases: [entries[0].id: OutboxLease(process: Samples.one, until: now + 40), entries[1].id: second],
        "renewed, updated and moved: ")
      try await subject.storage.release(entries[0].id, in: .shared, by: Samples.one)
      try await subject.expect(leases: [entries[1].id: second], "released: ")
      try await subject.commit(.remove(entries[1].id))
      try await subject.expect(leases: [:], "removed: ")
      let others = try await subject.storage.contents(of: "other").leases
      subject.expect(others.isEmpty, "another scope lists \(others)")
    },
  ]

  static let scopes = [
    Self("scopes are apart, and are removed apart") { subject in
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
        subject.expect(identities == ["a": Data("\(index)".utf8)], "scope \(index) has \(identities)")
        let claimed = try await subject.storage.claim(
          id, in: scope, by: UUID(), now: Samples.now, until: Samples.now + 30)
        subject.expect(
          claimed?.bytes == Data("\(index)".utf8), "scope \(index): claimed \(claimed.map(Samples.name) ?? "nothing")")
        try await subject.storage.removeAll(in: scope)
        let left = try await subject.storage.contents(of: scope)
        subject.expect(left == OutboxContents(), "scope \(index), removed: \(left)")
      }
    },
    Self("removeAll without a scope empties the store, which works on") { subject in
      let scopes: [Scope] = [.shared, "alice"]
      for scope in scopes {
        let changes: [OutboxChange] = [.add(Samples.entry()), .identify("a", Data("1".utf8))]
        _ = try await subject.storage.commit(changes, in: scope)
      }
      try await subject.storage.removeAll(in: nil)
      for scope in scopes {
        let left = try await subject.storage.contents(of: scope)
        subject.expect(left == OutboxContents(), "\(scope) has \(left)")
      }
      let entry = Samples.entry()
      try await subject.commit(.add(entry))
      try await subject.expect(holds: [entry])
      try await subject.storage.removeAll(in: "nobody")
      try await subject.expect(holds: [entry])
    },
    Self("a lease ends with removeAll") { subject in
      let entry = Samples.entry()
      try await subject.commit(.add(entry))
      subject.expect(try await subject.claims(entry, Samples.one, at: 0), "it is not leased")
      try await subject.storage.removeAll(in: .shared)
      try await subject.commit(.add(entry))
      subject.expect(try await subject.claims(entry, Samples.two, at: 1), "it is still leased")
    },
  ]

  static let instances = [
    Self("another instance has everything that was committed, leases too") { subject in
      let entries = Samples.entries(3)
      let numbers = try await subject.storage.commit(
        entries.map { .add($0) } + [.identify("a", Data("1".utf8))], in: .shared)
      subject.expect(try await subject.claims(entries[0], Samples.one, at: 0), "it is not leased")
      let other = try await subject.open()
      try await subject.expect(holds: entries, in: other)
      let contents = try await other.contents(of: .shared)
      subject.expect(contents.entries.map(\.number) == numbers, "other numbers")
      subject.expect(contents.identities == ["a": Data("1".utf8)], "other ids")
      let claimed = try await other.claim(
        entries[0].id, in: .shared, by: Samples.two, now: Samples.now + 1, until: Samples.now + 30)
      subject.expect(claimed == nil, "it is leased twice")
    },
    Self("instances that commit in turn see each other's changes") { subject in
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
    Self("instances that commit at once lose nothing") { subject in
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
      subject.expect(Set(stored.map(\.id)) == Set(entries.map(\.id)), "there are \(stored.count) entries")
      subject.expect(Set(stored.map(\.number)).count == entries.count, "two have one number")
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
      "\(what)claimed \(claimed.map(Samples.name) ?? "nothing")")
    expect(claimed?.number == stored?.number, "\(what)claimed number \(claimed?.number ?? 0)")
  }

  /// Expects the leases of the shared scope, in this instance and in another.
  fileprivate func expect(leases: [UUID: OutboxLease], _ what: String = "") async throws {
    for storage in [storage, try await open()] {
      let listed = try await storage.contents(of: .shared).leases
      expect(listed == leases, "\(what)listed \(listed), expected \(leases)")
    }
  }
}
