import Foundation
import ReactorConformance
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorOutbox

@Suite struct `The journal of an outbox` {
  /// Commits of one entry each, and the length of the journal after each of them.
  private func written(
    _ texts: [String], in directory: URL
  ) async throws -> (file: URL, lengths: [Int], entries: [StoredEntry]) {
    let storage = FileOutboxStorage(directory: directory)
    var (lengths, entries) = ([Int](), [StoredEntry]())
    for text in texts {
      entries.append(.sample(text))
      _ = try await storage.commit([.add(entries[entries.count - 1])], in: .shared)
      lengths.append(try Data(contentsOf: journal(in: directory)).count)
    }
    return (try journal(in: directory), lengths, entries)
  }

  @Test func `the format's bytes are pinned`() throws {
    let id = try #require(UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F"))
    let header = Journal.header(generation: id, scope: "a")
    let frame = Journal.frame([.remove(id)], at: header.count, of: "a")
    #expect(
      (header + frame).map { String(format: "%02x", $0) }.joined() == """
        895852544f424a0a\
        0100000000000000\
        6e27b5c13ee46eac\
        10000102030405060708090a0b0c0d0e0f0161\
        cb021b5e8a5b6acf\
        895852544f42460a\
        1200000000000000\
        deb95e1e53804f7a\
        0000000000000000\
        ed23accda0e4168f\
        0210000102030405060708090a0b0c0d0e0f07656e64
        """)
  }

  @Test func `a commit that is cut off at any byte is not there, and those before it are`() async throws {
    try await withTemporaryDirectory { directory in
      let (file, lengths, _) = try await written(["one", "two", "three"], in: directory)
      let whole = try Data(contentsOf: file)
      for length in lengths[1]..<lengths[2] {
        try whole.prefix(length).write(to: file)
        let storage = FileOutboxStorage(directory: directory)
        let contents = try await storage.contents(of: .shared)
        #expect(contents.texts == ["one", "two"] && contents.setAside.isEmpty, "\(length) bytes")
        let numbers = try await storage.commit([.add(.sample("again"))], in: .shared)
        #expect(numbers == [3], "\(length) bytes")
        let reopened = try await FileOutboxStorage(directory: directory).contents(of: .shared)
        #expect(reopened.texts == ["one", "two", "again"] && reopened.setAside.isEmpty, "\(length) bytes")
      }
    }
  }

  @Test func `a rewritten journal assigns no number twice`() async throws {
    try await withTemporaryDirectory { directory in
      let large = String(repeating: "x", count: JournalFile.compactionSize / 2 + 1)
      let (file, lengths, entries) = try await written([large, large], in: directory)
      let storage = FileOutboxStorage(directory: directory)
      _ = try await storage.commit(entries.map { .remove($0.id) }, in: .shared)
      #expect(try Data(contentsOf: file).count < lengths[0])
      #expect(try await FileOutboxStorage(directory: directory).commit([.add(.sample("a"))], in: .shared) == [3])
    }
  }

  @Test func `a commit of which a sector was not written is not there`() async throws {
    try await withTemporaryDirectory { directory in
      let large = String(repeating: "0123456789abcdef", count: 200)
      let (file, lengths, _) = try await written(["one", large], in: directory)
      let whole = try Data(contentsOf: file)
      var count = 0
      for start in stride(from: lengths[0] / 512 * 512, to: whole.count, by: 512) {
        var torn = whole
        let sector = max(start, lengths[0])..<min(start + 512, whole.count)
        torn.replaceSubrange(sector, with: Data(count: sector.count))
        try torn.write(to: file)
        let contents = try await FileOutboxStorage(directory: directory).contents(of: .shared)
        #expect(contents.texts == ["one"] && contents.setAside.isEmpty, "sector at \(start)")
        count += 1
      }
      #expect(count > 6)
    }
  }

  /// A sector that was not written contains zeros. An entry may contain some, too.
  @Test func `damage in a commit with zeros is not taken for an unfinished commit`() async throws {
    try await withTemporaryDirectory { directory in
      let zeros = String(repeating: "\u{0}", count: 2_000)
      let (file, lengths, _) = try await written(["one", "a" + zeros + "b"], in: directory)
      let whole = try Data(contentsOf: file)
      let places = Array(stride(from: lengths[0], to: whole.count, by: 97)) + [whole.count - 1]
      for index in places {
        var damaged = whole
        damaged[index] ^= 0x10
        try damaged.write(to: file)
        let contents = try await FileOutboxStorage(directory: directory).contents(of: .shared)
        #expect(contents.texts == ["one"] && contents.setAside.count == 1, "byte \(index)")
        try await FileOutboxStorage(directory: directory).removeAll(in: .shared)
      }
      // Of the sectors, only the first and the last have anything but zeros.
      for sector in [lengths[0]..<(lengths[0] / 512 + 1) * 512, whole.count / 512 * 512..<whole.count] {
        var torn = whole
        torn.replaceSubrange(sector, with: Data(count: sector.count))
        try torn.write(to: file)
        let contents = try await FileOutboxStorage(directory: directory).contents(of: .shared)
        #expect(contents.texts == ["one"] && contents.setAside.isEmpty, "sector at \(sector.lowerBound)")
      }
    }
  }

  @Test func `a lease whose end is no time does not damage the journal`() async throws {
    try await withTemporaryDirectory { directory in
      let storage = FileOutboxStorage(directory: directory)
      let entry = StoredEntry.sample("one")
      _ = try await storage.commit([.add(entry)], in: .shared)
      let never = Date(timeIntervalSinceReferenceDate: .nan)
      #expect(try await storage.claim(entry.id, in: .shared, by: UUID(), now: .now, until: never)?.id == entry.id)
      let other = FileOutboxStorage(directory: directory)
      #expect(try await other.contents(of: .shared).setAside.isEmpty)
      #expect(try await other.claim(entry.id, in: .shared, by: UUID(), now: .now, until: .now)?.id == entry.id)
    }
  }

  @Test func `a flipped byte at any place is found, and the journal is kept`() async throws {
    try await withTemporaryDirectory { parent in
      let (file, lengths, entries) = try await written(["one", "two", "three"], in: parent.appending(path: "whole"))
      let whole = try Data(contentsOf: file)
      for index in whole.indices {
        let directory = parent.appending(path: "\(index)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        var damaged = whole
        damaged[index] ^= 0x10
        try damaged.write(to: directory.appending(path: file.lastPathComponent))
        let contents = try await FileOutboxStorage(directory: directory).contents(of: .shared)
        // The first entry is in the first frame, behind the header. Damage in the header hides
        // none.
        let hit = index < headerLength ? nil : lengths.firstIndex { index < $0 }
        let left = entries.indices.filter { $0 != hit }.map { entries[$0] }
        #expect(contents.entries.map(\.id) == left.map(\.id) && contents.setAside.count == 1, "byte \(index)")
        let aside = damagedJournals(in: directory)
        #expect(try aside.map { try Data(contentsOf: $0) } == [damaged], "byte \(index)")
        #expect(contents.setAside.allSatisfy { $0.contains(aside[0].lastPathComponent) })
      }
    }
  }

  private var headerLength: Int { Journal.header(generation: UUID(), scope: .shared).count }

  @Test func `a removal that keeps some entries leaves nothing else of the scope in any file`() async throws {
    try await withTemporaryDirectory { directory in
      let (file, lengths, entries) = try await written(["one", "secret", "three"], in: directory)
      var damaged = try Data(contentsOf: file)
      damaged[lengths[0] + 40] ^= 1
      try damaged.write(to: file)
      let storage = FileOutboxStorage(directory: directory)
      let secret = Data("\"secret id\"".utf8)
      let last = StoredEntry.sample("last")
      _ = try await storage.commit([.identify("a", secret), .add(last)], in: .shared)
      try #require(damagedJournals(in: directory).count == 1)
      try await storage.removeAll(in: .shared, keeping: [last.id])
      for file in files(in: directory) {
        #expect(try Data(contentsOf: file).range(of: Data("secret".utf8)) == nil, "\(file.lastPathComponent)")
      }
      let contents = try await FileOutboxStorage(directory: directory).contents(of: .shared)
      #expect(contents.texts == ["last"] && contents.identities.isEmpty && contents.setAside.isEmpty)
      #expect(contents.entries.map(\.number) == [4] && entries.count == 3)
    }
  }

  @Test func `after damage, the rest continues under its numbers`() async throws {
    try await withTemporaryDirectory { directory in
      let (file, lengths, entries) = try await written(["one", "two", "three"], in: directory)
      var damaged = try Data(contentsOf: file)
      damaged[lengths[0] + 40] ^= 1
      try damaged.write(to: file)
      // Of all calls, whichever comes first meets the damage.
      let storage = FileOutboxStorage(directory: directory)
      #expect(try await storage.commit([.add(.sample("four"))], in: .shared) == [4])
      await #expect(throws: OutboxStorageError.unknownEntry(entries[1].id)) {
        try await storage.commit([.update(entries[1])], in: .shared)
      }
      let contents = try await FileOutboxStorage(directory: directory).contents(of: .shared)
      #expect(contents.texts == ["one", "three", "four"] && contents.entries.map(\.number) == [1, 3, 4])
      #expect(contents.setAside.count == 1)
      // It is described until the scope is removed.
      #expect(try await storage.contents(of: .shared).setAside == contents.setAside)
      #expect(try await storage.contents(of: "other").setAside.isEmpty)
      try await storage.removeAll(in: .shared)
      #expect(try await storage.contents(of: .shared).withoutIdentity == OutboxContents())
      #expect(damagedJournals(in: directory).isEmpty)
    }
  }

  @Test func `damaged journals of one second are all kept`() async throws {
    try await withTemporaryDirectory { directory in
      let now = Date(timeIntervalSince1970: 1_795_276_500)
      let storage = FileOutboxStorage(directory: directory, system: .init(), now: { now })
      for index in 0..<3 {
        _ = try await storage.commit([.add(.sample("\(index)"))], in: .shared)
        try Data("damage \(index)".utf8).write(to: journal(in: directory))
        #expect(try await storage.contents(of: .shared).setAside.count == index + 1)
      }
      let names = damagedJournals(in: directory).map { $0.lastPathComponent.dropFirst(64 + ".journal.damaged-".count) }
      #expect(names == ["20261121T155500Z", "20261121T155500Z-2", "20261121T155500Z-3"])
      #expect(try await storage.contents(of: .shared).entries.isEmpty)
    }
  }

  @Test func `an empty file, zeros and another program's bytes are set aside`() async throws {
    for bytes in [Data(), Data(count: 4_096), Data("#!/bin/sh\n".utf8)] {
      try await withTemporaryDirectory { directory in
        let storage = FileOutboxStorage(directory: directory)
        _ = try await storage.commit([.add(.sample("one"))], in: .shared)
        try bytes.write(to: journal(in: directory))
        #expect(try await storage.contents(of: .shared).setAside.count == 1, "\(bytes.count) bytes")
        #expect(try await storage.contents(of: .shared).entries.isEmpty)
        _ = try await storage.commit([.add(.sample("two"))], in: .shared)
        #expect(try await FileOutboxStorage(directory: directory).contents(of: .shared).texts == ["two"])
      }
    }
  }

  @Test func `another scope's journal under this scope's name is not read`() async throws {
    try await withTemporaryDirectory { directory in
      let storage = FileOutboxStorage(directory: directory)
      _ = try await storage.commit([.add(.sample("alice's"))], in: "alice")
      let alices = try journal(in: directory)
      _ = try await storage.commit([.add(.sample("bob's"))], in: "bob")
      let bobs = try #require(files(in: directory, suffix: ".journal").first { $0 != alices })
      try Data(contentsOf: alices).write(to: bobs)
      let contents = try await FileOutboxStorage(directory: directory).contents(of: "bob")
      #expect(contents.entries.isEmpty && contents.setAside.count == 1)
    }
  }

  @Test func `a journal of a newer release is refused and left as it is, until it is removed`() async throws {
    try await withTemporaryDirectory { directory in
      let storage = FileOutboxStorage(directory: directory)
      _ = try await storage.commit([.add(.sample("one"))], in: .shared)
      let file = try journal(in: directory)
      var bytes = try Data(contentsOf: file)
      bytes.replaceSubrange(8..<24, with: [2, 0, 0, 0, 0, 0, 0, 0] + newerSum(bytes))
      try bytes.write(to: file)
      let error = OutboxStorageError.newerFormat(path: file.path(percentEncoded: false))
      for storage in [storage, FileOutboxStorage(directory: directory)] {
        await #expect(throws: error) { try await storage.contents(of: .shared) }
        await #expect(throws: error) { try await storage.commit([.add(.sample("two"))], in: .shared) }
        _ = try await storage.commit([.add(.sample("two"))], in: "other")
      }
      #expect(try Data(contentsOf: file) == bytes && damagedJournals(in: directory).isEmpty)
      try await storage.removeAll(in: .shared)
      #expect(try await storage.contents(of: .shared).withoutIdentity == OutboxContents())
    }
  }

  /// The checksum of the magic number and format 2.
  private func newerSum(_ bytes: Data) -> [UInt8] {
    let words = [UInt8](bytes.prefix(8)) + [2, 0, 0, 0, 0, 0, 0, 0]
    let sum = words.withUnsafeBytes { XXHash64.hash($0) }
    return withUnsafeBytes(of: sum.littleEndian) { Array($0) }
  }

  @Test func `a journal of which little is needed is written again`() async throws {
    try await withTemporaryDirectory { directory in
      let storage = FileOutboxStorage(directory: directory)
      let kept = StoredEntry.sample("kept")
      _ = try await storage.commit([.add(kept), .identify("a", Data("1".utf8))], in: .shared)
      let process = UUID()
      let now = Date(timeIntervalSinceReferenceDate: 0)
      #expect(
        try await storage.claim(kept.id, in: .shared, by: process, now: now, until: now + 30)?.bytes == kept.bytes)
      let text = String(repeating: "x", count: 1_000)
      var last: [UInt64] = []
      var most = 0
      for _ in 0..<400 {
        let entry = StoredEntry.sample(text)
        last = try await storage.commit([.add(entry)], in: .shared)
        _ = try await storage.commit([.remove(entry.id)], in: .shared)
        most = max(most, try Data(contentsOf: journal(in: directory)).count)
      }
      #expect(most > 60_000 && most < 70_000)
      let reopened = FileOutboxStorage(directory: directory)
      let contents = try await reopened.contents(of: .shared)
      #expect(contents.texts == ["kept"] && contents.identities == ["a": Data("1".utf8)])
      #expect(contents.leases == [kept.id: OutboxLease(process: process, until: now + 30)])
      #expect(try await reopened.claim(kept.id, in: .shared, by: UUID(), now: now + 29, until: now + 60) == nil)
      #expect(try await reopened.commit([.add(.sample("next"))], in: .shared) == last.map { $0 + 1 })
      #expect(files(in: directory, suffix: ".new").isEmpty)
    }
  }

  @Test func `ten thousand entries are read by another instance`() async throws {
    try await withTemporaryDirectory { directory in
      let storage = FileOutboxStorage(directory: directory)
      let entries = (0..<OutboxContents.entryLimit).map { StoredEntry.sample("\($0)") }
      for part in 0..<10 {
        _ = try await storage.commit(entries[(part * 1_000)..<(part + 1) * 1_000].map { .add($0) }, in: .shared)
      }
      let contents = try await FileOutboxStorage(directory: directory).contents(of: .shared)
      #expect(contents.entries.map(\.id) == entries.map(\.id))
    }
  }
}
