import Foundation
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorOutbox

/// The counts of ids after 500, 2,000 and 5,000 that servers gave.
@Suite struct `The ids that servers gave` {
  static let steps = [500, 1_500, 3_000]

  /// Commits ids, 50 at once, and calls `body` after each step.
  private func give(_ storage: any OutboxStorage, _ body: (_ last: String) async throws -> Void) async throws {
    for count in Self.steps {
      var last = ""
      for _ in 0..<count / 50 {
        let new = (0..<50).map { _ in TemporaryID().string }
        _ = try await storage.commit(new.map { .identify($0, Data("1".utf8)) }, in: .shared)
        last = new.last ?? ""
      }
      try await body(last)
    }
  }

  @Test func `a journal keeps the latest thousand ids and the ids in entries, also for another process`() async throws {
    try await withTemporaryDirectory { directory in
      let storage = FileOutboxStorage(directory: directory)
      let (string, number) = (TemporaryID(), TemporaryID())
      _ = try await storage.commit(
        [
          .add(.sample(#"{"id":"\#(string.string)"}"#)), .add(.sample(#"{"id":\#(number.int)}"#)),
          .identify(string.string, Data("7".utf8)), .identify(number.string, Data("8".utf8)),
        ], in: .shared)
      var sizes: [Int] = []
      try await give(storage) { last in
        for storage in [storage, FileOutboxStorage(directory: directory)] {
          let ids = try await storage.contents(of: .shared).identities
          #expect(ids.count <= 1_252)
          #expect(ids[string.string] == Data("7".utf8) && ids[number.string] == Data("8".utf8))
          #expect(ids[last] != nil)
        }
        sizes.append(try Data(contentsOf: journal(in: directory)).count)
      }
      #expect(sizes[2] < sizes[0] * 4)
    }
  }

  @Test func `once no entry holds an old id, it goes`() async throws {
    let storage = MemoryOutboxStorage()
    let (id, entry) = (TemporaryID(), UUID())
    _ = try await storage.commit(
      [.add(.sample(#"["\#(id.string)"]"#, id: entry)), .identify(id.string, Data("7".utf8))], in: .shared)
    try await give(storage) { _ in
      let ids = try await storage.contents(of: .shared).identities
      #expect(ids.count <= 1_251 && ids[id.string] != nil)
    }
    _ = try await storage.commit([.remove(entry)], in: .shared)
    try await give(storage) { _ in
      let ids = try await storage.contents(of: .shared).identities
      #expect(ids.count <= 1_251)
    }
    #expect(try await storage.contents(of: .shared).identities[id.string] == nil)
  }

  @Test func `thousands that entries hold all stay`() async throws {
    let storage = MemoryOutboxStorage()
    let ids = (0..<2_000).map { _ in TemporaryID().string }
    _ = try await storage.commit([.add(.sample("\(ids)"))], in: .shared)
    _ = try await storage.commit(ids.map { .identify($0, Data("1".utf8)) }, in: .shared)
    try await give(storage) { _ in
      let kept = try await storage.contents(of: .shared).identities
      let lost = ids.filter { kept[$0] == nil }
      #expect(lost.isEmpty && kept.count <= 3_250)
    }
  }

  @Test func `a process has as many in memory, and answers with the latest`() async throws {
    let writer = Writer()
    let context = try #require(writer.outbox.layer)
    for count in Self.steps {
      var last = TemporaryID()
      for _ in 0..<count {
        last = TemporaryID()
        writer.outbox.learn([last.string: Data("1".utf8)], context)
      }
      #expect(writer.outbox.withState(\.identities).count <= 1_500)
      #expect(writer.outbox.identity(of: last) != nil)
    }
    try await writer.end()
  }

  @Test func `an id that a waiting entry holds is not forgotten in memory`() async throws {
    let writer = Writer()
    writer.bench.reachability.set(false)
    let context = try #require(writer.outbox.layer)
    let item = AddItem(name: "b")
    try await writer.layer.submit(item)
    writer.outbox.withState { $0.keepIdentities([item.id.string: Data("7".utf8)]) }
    for _ in 0..<3_000 { writer.outbox.learn([TemporaryID().string: Data("1".utf8)], context) }
    #expect(writer.outbox.identity(of: item.id) == .integer(7))
    writer.bench.reachability.set(true)
  }
}
