import Foundation
import ReactorCore
import ReactorOutbox

/// The entries of one scope, and commits.
extension OutboxStorageConformance.Check {
  private typealias Samples = OutboxStorageConformance.Samples

  static let entries = [
    Self("an empty store has no contents") { subject in
      let contents = try await subject.storage.contents(of: .shared)
      subject.expect(contents == OutboxContents(), "it has \(contents)")
      subject.expect(try await subject.storage.commit([], in: .shared) == [], "an empty commit returns numbers")
    },
    Self("entries come back as they were added") { subject in
      var entries = [
        Samples.entry(lane: ""), Samples.entry(lane: "Zoë\r\n日本 \u{0}"), Samples.entry(lane: "e\u{301}"),
        Samples.entry(""),
      ]
      entries.append(StoredEntry(id: UUID(), lane: "main", bytes: Data(repeating: 0, count: StoredEntry.byteLimit)))
      entries.append(StoredEntry(id: UUID(), lane: "main", bytes: (Data([9]) + Data(0...255)).dropFirst()))
      let numbers = try await subject.storage.commit(entries.map { .add($0) }, in: .shared)
      try await subject.expect(holds: entries)
      let contents = try await subject.storage.contents(of: .shared)
      subject.expect(numbers == contents.entries.map(\.number), "other numbers than were returned")
      subject.expect(contents.entries.allSatisfy { $0.bytes.startIndex == 0 }, "bytes do not begin at index 0")
      subject.expect(contents.setAside.isEmpty, "something was set aside")
    },
    Self("an update replaces lane and bytes") { subject in
      let entries = Samples.entries(3)
      let numbers = try await subject.storage.commit(entries.map { .add($0) }, in: .shared)
      var changed = Samples.changed(entries[1], "changed", lane: "other")
      changed.number = 99
      let updated = try await subject.commit(.update(changed))
      subject.expect(updated.isEmpty, "an update returns numbers")
      try await subject.expect(holds: [entries[0], changed, entries[2]])
      let stored = try await subject.storage.contents(of: .shared).entries
      subject.expect(stored.map(\.number) == numbers, "the update changed a number")
    },
    Self("a removed entry is gone, and the others are not") { subject in
      let entries = Samples.entries(3)
      _ = try await subject.storage.commit(entries.map { .add($0) }, in: .shared)
      try await subject.commit(.remove(entries[1].id))
      try await subject.expect(holds: [entries[0], entries[2]])
      try await subject.commit(.remove(entries[1].id), .remove(UUID()))
      try await subject.expect(holds: [entries[0], entries[2]], "removed again: ")
      try await subject.commit(.add(entries[1]))
      try await subject.expect(holds: [entries[0], entries[2], entries[1]], "added again: ")
    },
    Self("the changes of a commit are applied in order") { subject in
      let (first, second) = (Samples.entry("1"), Samples.entry("2"))
      let changed = Samples.changed(first, "changed")
      let numbers = try await subject.commit(
        .add(first), .add(second), .update(changed), .remove(second.id), .add(second), .move(changed),
        .remove(second.id))
      subject.expect(numbers.count == 4, "there are \(numbers.count) numbers")
      subject.expect(zip(numbers, numbers.dropFirst()).allSatisfy(<), "the numbers do not grow")
      try await subject.expect(holds: [changed])
    },
  ]

  static let order = [
    Self("the order is that of the commits") { subject in
      let entries = Samples.entries(40)
      for entry in entries { try await subject.commit(.add(entry)) }
      try await subject.expect(holds: entries)
    },
    Self("a moved entry is the last") { subject in
      let entries = Samples.entries(3)
      let numbers = try await subject.storage.commit(entries.map { .add($0) }, in: .shared)
      let changed = Samples.changed(entries[0], "moved", lane: "other")
      let moved = try await subject.commit(.move(changed))
      subject.expect(moved.count == 1 && moved.allSatisfy { $0 > numbers[2] }, "the move returns \(moved)")
      try await subject.expect(holds: [entries[1], entries[2], changed])
      subject.expect(
        try await subject.storage.contents(of: .shared).entries.last?.number == moved.last, "another number")
    },
    Self("the numbers of removed entries are not used again") { subject in
      let entries = Samples.entries(3)
      let numbers = try await subject.storage.commit(entries.map { .add($0) }, in: .shared)
      for entry in entries { try await subject.commit(.remove(entry.id)) }
      let reopened = try await subject.open()
      let next = try await reopened.commit([.add(Samples.entry())], in: .shared)
      subject.expect(next.count == 1 && next.allSatisfy { $0 > numbers[2] }, "\(next) after \(numbers)")
    },
    Self("commits at once are all there, in the order of their numbers") { subject in
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
    Self("an unknown entry can be neither updated nor moved, and nothing of the commit is applied") { subject in
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
    Self("an entry cannot be added twice, and nothing of the commit is applied") { subject in
      let stored = Samples.entry("stored")
      try await subject.commit(.add(stored))
      try await subject.expect(
        .duplicateEntry(stored.id), of: [.add(Samples.entry()), .add(Samples.changed(stored, "again"))])
      let new = Samples.entry("new")
      try await subject.expect(.duplicateEntry(new.id), of: [.add(new), .add(new)])
    },
    Self("an entry larger than a mebibyte is refused, and nothing of the commit is applied") { subject in
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
    Self("a scope has at most 10,000 entries") { subject in
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
    Self("given ids are kept and replaced") { subject in
      try await subject.commit(.identify("a", Data("1".utf8)), .identify("b \u{0}ü", Data(#""x""#.utf8)))
      try await subject.commit(.identify("a", Data("2".utf8)))
      let identities = try await subject.storage.contents(of: .shared).identities
      subject.expect(identities == ["a": Data("2".utf8), "b \u{0}ü": Data(#""x""#.utf8)], "there are \(identities)")
    },
    Self("a given id is saved with the end of its entry, and outlives it") { subject in
      let entry = Samples.entry()
      try await subject.commit(.add(entry))
      try await subject.commit(.remove(entry.id), .identify("a", Data("1".utf8)))
      let contents = try await subject.storage.contents(of: .shared)
      subject.expect(contents == OutboxContents(identities: ["a": Data("1".utf8)]), "there is \(contents)")
    },
  ]
}
