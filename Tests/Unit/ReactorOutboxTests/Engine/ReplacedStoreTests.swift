import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorOutbox

/// Real files, which somebody deletes while a program has entries of them in memory.
@Suite("A store that is removed under a running program", .timeLimit(.minutes(1)))
struct ReplacedStoreTests {
  /// Calls `body` with a directory and a program whose outbox is in it.
  private func withWriter(_ body: (URL, Writer) async throws -> Void) async throws {
    try await withTemporaryDirectory { directory in
      let writer = Writer(storage: FileOutboxStorage(directory: directory))
      // It has read its store, as a program that runs for a while.
      try await writer.outbox.reload()
      try await body(directory, writer)
    }
  }

  /// Another program with the same directory, server and time.
  private func second(_ writer: Writer, _ directory: URL) -> Writer {
    Writer(storage: FileOutboxStorage(directory: directory), on: writer.bench)
  }

  private func accept(_ names: String..., by writer: Writer) {
    for name in names { writer.transport.answer("/v1/\(name)", with: .json("\"done\"")) }
  }

  private func stored(_ directory: URL) async throws -> OutboxContents {
    try await FileOutboxStorage(directory: directory).contents(of: .shared)
  }

  /// The names of the entries in the store, except entries kept for their drafts.
  private func left(_ directory: URL) async throws -> [String] {
    try await stored(directory).entries.map(OutboxEntry.init(decoding:)).filter { $0.state != .accepted }.map(\.name)
  }

  /// The counts of entries that were saved again, as the events name them.
  private func restored(_ writer: Writer) async -> [Int] {
    await writer.layer.flushEvents()
    return writer.log.events.compactMap { event in
      guard case .outbox(_, .storeFailed(.persistence(let error))) = event.kind,
        case .replaced(let count)? = error as? OutboxStorageError
      else { return nil }
      return count
    }
  }

  @Test func `waiting entries are sent in order, once, when a cleaner deletes the directory`() async throws {
    try await withWriter { directory, writer in
      accept("b", "c", "d", by: writer)
      writer.bench.reachability.set(false)
      var answers: [Submission<String>] = []
      for name in ["b", "c", "d"] { answers.append(try await writer.layer.submit(Add(name: name))) }
      try FileManager.default.removeItem(at: directory)
      writer.bench.reachability.set(true)
      for answer in answers { _ = try await answer.answer() }
      #expect(writer.sent == ["POST /v1/b b", "POST /v1/c c", "POST /v1/d d"])
      #expect(await restored(writer) == [3])
      #expect(try await left(directory).isEmpty)
      try await writer.end()
    }
  }

  @Test func `after its store was removed, the entries are in the new one before anything is sent`() async throws {
    try await withWriter { directory, writer in
      writer.bench.reachability.set(false)
      try await writer.submit("b", "c")
      try FileManager.default.removeItem(at: directory)
      try await writer.outbox.reload()
      #expect(await restored(writer) == [2])
      let ids = writer.outbox.entries.map(\.id)
      #expect(try await stored(directory).entries.map(\.id) == ids)
      await writer.outbox.stop()
      let next = second(writer, directory)
      accept("b", "c", by: next)
      writer.bench.reachability.set(true)
      await next.wait()
      #expect(next.sent == ["POST /v1/b b", "POST /v1/c c"])
      try await next.end()
    }
  }

  @Test func `an entry that is submitted after the removal goes behind earlier ones`() async throws {
    try await withWriter { directory, writer in
      accept("b", "c", "d", "e", by: writer)
      writer.bench.reachability.set(false)
      try await writer.submit("b", "c")
      try FileManager.default.removeItem(at: directory)
      try await writer.submit("d", "e")
      writer.bench.reachability.set(true)
      await writer.wait()
      #expect(writer.sent == ["b", "c", "d", "e"].map { "POST /v1/\($0) \($0)" })
      #expect(await restored(writer) == [2])
      try await writer.end()
    }
  }

  @Test func `entries that another process removes do not come back, though others follow`() async throws {
    try await withWriter { directory, writer in
      writer.bench.reachability.set(false)
      try await writer.submit("b", "c")
      let other = FileOutboxStorage(directory: directory)
      try await other.removeAll(in: .shared)
      _ = try await other.commit([.identify("a", Data("1".utf8))], in: .shared)
      try await writer.outbox.reload()
      #expect(writer.outbox.entries.isEmpty)
      #expect(await restored(writer).isEmpty)
      writer.bench.reachability.set(true)
      await writer.wait()
      #expect(writer.sent.isEmpty)
      try await writer.end()
    }
  }

  @Test func `a sign-out after the removal ends them`() async throws {
    try await withWriter { directory, writer in
      writer.bench.reachability.set(false)
      try await writer.submit("b")
      try FileManager.default.removeItem(at: directory)
      try await writer.layer.removeAll()
      writer.bench.reachability.set(true)
      try await writer.outbox.reload()
      #expect(writer.outbox.entries.isEmpty && writer.sent.isEmpty)
      #expect(try await left(directory).isEmpty)
      try await writer.end()
    }
  }

  @Test func `an entry that is being sent is saved again, leased, and not sent twice`() async throws {
    try await withWriter { directory, writer in
      let gate = Gate()
      writer.transport.answer("/v1/b", with: .json("\"done\"").held(at: gate))
      let submission = try await writer.layer.submit(Add(name: "b"))
      try await gate.waitForArrival()
      try FileManager.default.removeItem(at: directory)
      try await writer.outbox.reload()
      #expect(try await stored(directory).leases[submission.id] != nil)
      let next = second(writer, directory)
      await next.wait(for: "sending")
      gate.open()
      _ = try await submission.answer()
      try await next.outbox.reload()
      await next.wait()
      #expect(writer.sent == ["POST /v1/b b"])
      #expect(try await left(directory).isEmpty)
    }
  }

  @Test func `an accepted write is done even if the removal of the store goes unnoticed`() async throws {
    try await withWriter { directory, writer in
      let gate = Gate()
      writer.transport.answer("/v1/b", with: .json("\"done\"").held(at: gate))
      let submission = try await writer.layer.submit(Add(name: "b"))
      try await gate.waitForArrival()
      try FileManager.default.removeItem(at: directory)
      gate.open()
      _ = try await submission.answer()
      await writer.wait()
      #expect(try await left(directory).isEmpty)
      #expect(writer.sent == ["POST /v1/b b"])
      try await writer.end()
    }
  }

  @Test func `a refusal stays listed, and can be discarded`() async throws {
    try await withWriter { directory, writer in
      writer.transport.answer("/v1/b", with: refused)
      let submission = try await writer.layer.submit(Add(name: "b"))
      await writer.wait(for: "refused")
      try FileManager.default.removeItem(at: directory)
      try await writer.outbox.reload()
      #expect(writer.states == ["refused"])
      #expect(await writer.outbox.discard(submission.id))
      #expect(try await left(directory).isEmpty)
      try await writer.end()
    }
  }

  @Test func `if two processes have an entry in memory, one saves it again, and it is sent once`() async throws {
    try await withWriter { directory, writer in
      accept("b", by: writer)
      writer.bench.reachability.set(false)
      try await writer.submit("b")
      let other = second(writer, directory)
      await other.wait(for: "waiting, connectivity")
      other.outbox.pause()
      try FileManager.default.removeItem(at: directory)
      writer.bench.reachability.set(true)
      await writer.wait()
      #expect(writer.sent == ["POST /v1/b b"])
      other.outbox.resume()
      await other.wait()
      #expect(writer.sent == ["POST /v1/b b"])
      #expect(await restored(other).isEmpty)
    }
  }

  @Test func `an entry can be withdrawn after the removal, and nothing of it is left`() async throws {
    try await withWriter { directory, writer in
      writer.bench.reachability.set(false)
      let submission = try await writer.layer.submit(Add(name: "b"))
      try FileManager.default.removeItem(at: directory)
      #expect(await writer.outbox.withdraw(submission.id))
      #expect(try await left(directory).isEmpty)
      writer.bench.reachability.set(true)
      try await writer.end()
    }
  }
}

extension Writer {
  /// Submits additions of these names, in this order.
  fileprivate func submit(_ names: String...) async throws {
    for name in names { try await layer.submit(Add(name: name)) }
  }
}

@Suite struct `The identity of a directory's store` {
  private func identity(_ directory: URL) async throws -> UUID? {
    try await FileOutboxStorage(directory: directory).contents(of: .shared).identity
  }

  @Test func `compactions, removals of everything and other processes keep it`() async throws {
    try await withTemporaryDirectory { directory in
      let storage = FileOutboxStorage(directory: directory)
      let first = try #require(try await storage.contents(of: .shared).identity)
      let large = StoredEntry.sample(String(repeating: "x", count: JournalFile.compactionSize))
      _ = try await storage.commit([.add(large)], in: .shared)
      let generation = try Data(contentsOf: journal(in: directory)).prefix(40)
      _ = try await storage.commit([.remove(large.id), .add(.sample("one"))], in: .shared)
      #expect(try Data(contentsOf: journal(in: directory)).prefix(40) != generation)
      #expect(try await identity(directory) == first)
      try await storage.removeAll(in: nil)
      #expect(try await identity(directory) == first)
      _ = try await FileOutboxStorage(directory: directory).commit([.add(.sample("two"))], in: "other")
      #expect(try await storage.contents(of: .shared).identity == first)
    }
  }

  @Test func `a deleted outbox directory gets another identity, before it is created again and after`() async throws {
    try await withTemporaryDirectory { directory in
      let storage = FileOutboxStorage(directory: directory)
      _ = try await storage.commit([.add(.sample("one"))], in: .shared)
      let first = try await identity(directory)
      try FileManager.default.removeItem(at: directory)
      let second = try await storage.contents(of: .shared).identity
      #expect(second != nil && second != first)
      #expect(try await storage.contents(of: .shared).identity == second)
      _ = try await storage.commit([.add(.sample("two"))], in: .shared)
      #expect(try await storage.contents(of: .shared).identity == second)
      #expect(try await identity(directory) == second)
    }
  }

  @Test func `a lock file that is deleted without the journal, or cut, changes nothing`() async throws {
    try await withTemporaryDirectory { directory in
      let storage = FileOutboxStorage(directory: directory)
      _ = try await storage.commit([.add(.sample("one"))], in: .shared)
      let first = try await storage.contents(of: .shared).identity
      let lock = directory.appending(path: "lock")
      try FileManager.default.removeItem(at: lock)
      #expect(try await storage.contents(of: .shared).identity == first)
      _ = try await storage.commit([.add(.sample("two"))], in: .shared)
      #expect(try await identity(directory) == first)
      try Data([1, 2, 3]).write(to: lock)
      #expect(try await storage.contents(of: .shared).identity == first)
      _ = try await storage.commit([.add(.sample("three"))], in: .shared)
      #expect(try await identity(directory) == first)
    }
  }

  @Test func `a journal of an earlier release has an identity that all processes read`() async throws {
    try await withTemporaryDirectory { directory in
      _ = try await FileOutboxStorage(directory: directory).commit([.add(.sample("one"))], in: .shared)
      try Data().write(to: directory.appending(path: "lock"))
      let first = try #require(try await identity(directory))
      let storage = FileOutboxStorage(directory: directory)
      #expect(try await storage.contents(of: .shared).identity == first)
      _ = try await storage.commit([.add(.sample("two"))], in: .shared)
      #expect(try await identity(directory) == first)
    }
  }
}
