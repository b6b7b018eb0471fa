import Foundation
import ReactorCore
import ReactorOutbox

/// The entries of one scope, and commits.
extension OutboxStorageConformance {
  static let entries = [
    Check("an empty store has no contents") { subject in
      let contents = try await subject.storage.contents(of: .shared)
      subject.expect(contents.withoutIdentity == OutboxContents(), "contents(of:) returned \(contents)")
      subject.expect(
        try await subject.storage.commit([], in: .shared) == [], "a commit without changes returned numbers")
    },
    Check("entries come back as they were added") { subject in
      var entries = [
        Samples.entry(lane: ""), Samples.entry(lane: "Zoë\r\n日本 \u{0}"), Samples.entry(lane: "e\u{301}"),
        Samples.entry(""),
      ]
      entries.append(StoredEntry(id: UUID(), lane: "main", bytes: Data(repeating: 0, count: StoredEntry.byteLimit)))
      entries.append(StoredEntry(id: UUID(), lane: "main", bytes: (Data([9]) + Data(0...255)).dropFirst()))
      let numbers = try await subject.storage.commit(entries.map { .add($0) }, in: .shared)
      try await subject.expect(holds: entries)
      let contents = try await subject.storage.contents(of: .shared)
      subject.expect(
        numbers == contents.entries.map(\.number), "contents(of:) has other numbers than commit(_:in:) returned")
      subject.expect(
        contents.entries.allSatisfy { $0.bytes.startIndex == 0 },
        "the startIndex of an entry's bytes is not 0; copy them with Data(_:)")
      subject.expect(contents.setAside.isEmpty, "setAside is not empty, but nothing was damaged")
    },
    Check("an update replaces lane and bytes") { subject in
      let entries = Samples.entries(3)
      let numbers = try await subject.storage.commit(entries.map { .add($0) }, in: .shared)
      var changed = Samples.changed(entries[1], "changed", lane: "other")
      changed.number = 99
      let updated = try await subject.commit(.update(changed))
      subject.expect(
        updated.isEmpty, "commit(_:in:) returned numbers for an update; only additions and moves have them")
      try await subject.expect(holds: [entries[0], changed, entries[2]])
      let stored = try await subject.storage.contents(of: .shared).entries
      subject.expect(stored.map(\.number) == numbers, "the update changed the number of an entry")
    },
    Check("a removed entry is gone, and the others stay") { subject in
      let entries = Samples.entries(3)
      _ = try await subject.storage.commit(entries.map { .add($0) }, in: .shared)
      try await subject.commit(.remove(entries[1].id))
      try await subject.expect(holds: [entries[0], entries[2]])
      try await subject.commit(.remove(entries[1].id), .remove(UUID()))
      try await subject.expect(holds: [entries[0], entries[2]], "after a second removal: ")
      try await subject.commit(.add(entries[1]))
      try await subject.expect(holds: [entries[0], entries[2], entries[1]], "after a second addition: ")
    },
    Check("the changes of a commit are applied in order") { subject in
      let (first, second) = (Samples.entry("1"), Samples.entry("2"))
      let changed = Samples.changed(first, "changed")
      let numbers = try await subject.commit(
        .add(first), .add(second), .update(changed), .remove(second.id), .add(second), .move(changed),
        .remove(second.id))
      subject.expect(numbers.count == 4, "commit(_:in:) returned \(numbers.count) numbers for 4 additions and moves")
      subject.expect(zip(numbers, numbers.dropFirst()).allSatisfy(<), "the numbers do not increase: \(numbers)")
      try await subject.expect(holds: [changed])
    },
  ]

  static let order = [
    Check("entries are listed in the order of their commits") { subject in
      let entries = Samples.entries(40)
      for entry in entries { try await subject.commit(.add(entry)) }
      try await subject.expect(holds: entries)
    },
    Check("a moved entry becomes the last") { subject in
      let entries = Samples.entries(3)
      let numbers = try await subject.storage.commit(entries.map { .add($0) }, in: .shared)
      let changed = Samples.changed(entries[0], "moved", lane: "other")
      let moved = try await subject.commit(.move(changed))
      subject.expect(
        moved.count == 1 && moved.allSatisfy { $0 > numbers[2] },
        "the move returned \(moved), not one number above \(numbers[2])")
      try await subject.expect(holds: [entries[1], entries[2], changed])
      subject.expect(
        try await subject.storage.contents(of: .shared).entries.last?.number == moved.last,
        "the entry's number differs from the number that the move returned")
    },
    Check("the numbers of removed entries are not used again") { subject in
      let entries = Samples.entries(3)
      let numbers = try await subject.storage.commit(entries.map { .add($0) }, in: .shared)
      for entry in entries { try await subject.commit(.remove(entry.id)) }
      let reopened = try await subject.open()
      let next = try await reopened.commit([.add(Samples.entry())], in: .shared)
      subject.expect(
        next.count == 1 && next.allSatisfy { $0 > numbers[2] }, "commit(_:in:) returned \(next) after \(numbers)")
    },
    Check("concurrent commits are all stored, in the order of their numbers") { subject in
      let entries = Samples.entries(24)
      let numbered = try await withThrowingTaskGroup(of: (UInt64?, StoredEntry).self) { group in
        for entry in entries { group.addTask { (try await subject.commit(.add(entry)).first, entry) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      let ordered = numbered.sorted { ($0.0 ?? 0) < ($1.0 ?? 0) }.map(\.1)
      try await subject.expect(holds: ordered)
    },
  ]

  static let refusals = [
    Check("an unknown entry can be neither updated nor moved, and nothing of the commit is applied") { subject in
      let (stored, unknown) = (Samples.entry("stored"), Samples.entry("unknown"))
      try await subject.commit(.add(stored))
      let others: [OutboxChange] = [
        .add(Samples.entry()), .update(Samples.changed(stored, "changed")), .identify("temporary", Data("1".utf8)),
      ]
      for change in [OutboxChange.update(unknown), .move(unknown)] {
        try await subject.expect(.unknownEntry(unknown.id), of: others + [change, .remove(stored.id)])
      }
      try await subject.expect(.unknownEntry(stored.id), of: [.remove(stored.id), .update(stored)])
      try await subject.expect(holds: [stored])
    },
    Check("a commit is refused if an entry is not stored as it requires") { subject in
      let (stored, other) = (Samples.entry("1"), Samples.entry("2"))
      let changed = Samples.changed(stored, "changed")
      try await subject.commit(.add(stored), .add(other))
      try await subject.commit(.require(stored), .require(other), .update(changed))
      try await subject.expect(.changedEntry(stored.id), of: [.remove(other.id), .require(stored), .update(stored)])
      try await subject.expect(.changedEntry(stored.id), of: [.update(stored), .require(changed)])
      let unknown = Samples.entry("3")
      try await subject.expect(.unknownEntry(unknown.id), of: [.remove(other.id), .require(unknown)])
      try await subject.expect(holds: [changed, other])
      try await subject.commit(.update(stored), .require(stored), .move(changed), .require(changed))
      try await subject.expect(holds: [other, changed])
    },
    Check("an entry cannot be added twice, and nothing of the commit is applied") { subject in
      let stored = Samples.entry("stored")
      try await subject.commit(.add(stored))
      try await subject.expect(
        .duplicateEntry(stored.id), of: [.add(Samples.entry()), .add(Samples.changed(stored, "again"))])
      let new = Samples.entry("new")
      try await subject.expect(.duplicateEntry(new.id), of: [.add(new), .add(new)])
    },
    Check("an entry larger than a mebibyte is refused, and nothing of the commit is applied") { subject in
      let stored = Samples.entry("stored")
      try await subject.commit(.add(stored))
      let size = StoredEntry.byteLimit + 1
      for id in [UUID(), stored.id] {
        let large = StoredEntry(id: id, lane: "main", bytes: Data(count: size))
        let changes: [OutboxChange] = id == stored.id ? [.update(large), .move(large)] : [.add(large)]
        for change in changes {
          try await subject.expect(
            .tooLarge(size: size, limit: StoredEntry.byteLimit), of: [.add(Samples.entry()), change])
        }
      }
    },
    Check("a scope has at most 10,000 entries") { subject in
      let limit = OutboxContents.entryLimit
      let entries = Samples.entries(limit)
      _ = try await subject.storage.commit(entries.map { .add($0) }, in: .shared)
      try await subject.expect(holds: entries)
      let more = Samples.entry("more")
      try await subject.expect(.full(limit: limit), of: [.update(Samples.changed(entries[0], "x")), .add(more)])
      _ = try await subject.storage.commit([.add(more)], in: "other")
      try await subject.commit(.move(entries[0]), .remove(entries[1].id), .add(more))
      try await subject.expect(holds: Array(entries[2...]) + [entries[0], more])
    },
  ]

  static let identities = [
    Check("server ids are stored and replaced") { subject in
      try await subject.commit(.identify("a", Data("1".utf8)), .identify("b \u{0}ü", Data(#""x""#.utf8)))
      try await subject.commit(.identify("a", Data("2".utf8)))
      let identities = try await subject.storage.contents(of: .shared).identities
      subject.expect(
        identities == ["a": Data("2".utf8), "b \u{0}ü": Data(#""x""#.utf8)], "contents(of:) has the ids \(identities)")
    },
    Check("a server id is stored with the removal of its entry, and stays") { subject in
      let entry = Samples.entry()
      try await subject.commit(.add(entry))
      try await subject.commit(.remove(entry.id), .identify("a", Data("1".utf8)))
      let contents = try await subject.storage.contents(of: .shared)
      subject.expect(
        contents.withoutIdentity == OutboxContents(identities: ["a": Data("1".utf8)]),
        "contents(of:) returned \(contents)")
    },
  ]
}
