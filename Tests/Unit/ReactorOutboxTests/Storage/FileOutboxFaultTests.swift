import Foundation
import HTTPCaching
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorOutbox

@Suite struct `An outbox in files on a disk that fails` {
  /// The state of the journal before the commit that fails.
  enum Start: CaseIterable {
    case nothing, plain, torn, damaged, due
  }

  private let first = StoredEntry.sample("first")
  private let second = StoredEntry.sample("second")

  private func prepare(_ start: Start, in directory: URL) async throws {
    guard start != .nothing else { return }
    let storage = FileOutboxStorage(directory: directory)
    _ = try await storage.commit([.add(first)], in: .shared)
    _ = try await storage.commit([.add(second), .identify("a", Data("1".utf8))], in: .shared)
    switch start {
    case .nothing, .plain: break
    case .torn: try change(directory) { $0 + Journal.frameStart + [7] }
    case .damaged: try change(directory) { [0x00] + $0.dropFirst() }
    case .due:
      // The next commit makes it large enough to be written again.
      let large = StoredEntry.sample(String(repeating: "x", count: JournalFile.compactionSize - 600))
      _ = try await storage.commit([.add(large)], in: .shared)
      _ = try await storage.commit([.remove(large.id)], in: .shared)
    }
  }

  private func change(_ directory: URL, _ body: (Data) -> Data) throws {
    let file = try journal(in: directory)
    try body(Data(contentsOf: file)).write(to: file)
  }

  private func changes(_ start: Start, _ new: StoredEntry) -> [OutboxChange] {
    let end: [OutboxChange] = [.add(new), .identify("b", Data("2".utf8))]
    return start == .nothing ? end : [.remove(first.id), .move(.sample("moved", id: second.id))] + end
  }

  /// Fails the call at `index`, and checks what is left.
  ///
  /// - Returns: The call, or `nil` if there are not so many.
  private func failing(
    _ index: Int, _ code: Int32, persists: Bool, _ start: Start
  ) async throws -> CallScript.Operation? {
    try await withTemporaryDirectory { parent in
      try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
      let directory = parent.appending(path: "outbox")
      try await prepare(start, in: directory)
      let script = CallScript()
      let storage = FileOutboxStorage(directory: directory, system: script.system)
      let new = StoredEntry.sample(String(repeating: "new", count: 200))
      let (old, all) = (start == .nothing ? [] : ["first", "second"], ["new"])
      let after = start == .nothing ? all : ["moved"] + all
      script.start(failing: index, code: code, persists: persists)
      var failure: FilePersistence.Failure?
      do {
        _ = try await storage.commit(changes(start, new), in: .shared)
      } catch {
        failure = try #require(error as? FilePersistence.Failure)
      }
      guard index < script.calls.count else { return nil }
      let call = script.calls[index]
      let place: Comment = "call \(index), \(call), of \(start)"
      script.start()
      let names = try await names(FileOutboxStorage(directory: directory))
      if failure == nil {
        #expect(names == after, place)
      } else {
        // Only if the commit cannot be cut off either, all of it may be there.
        #expect(names == old || (persists && names == after), place)
      }
      if start != .damaged { #expect(damagedJournals(in: directory).isEmpty, place) }
      // The same object continues.
      _ = try await storage.commit([.add(.sample("later"))], in: .shared)
      let all2 = try await self.names(FileOutboxStorage(directory: directory))
      #expect(all2 == names + ["later"], place)
      #expect(persists || files(in: directory, suffix: ".new").isEmpty, place)
      return call
    }
  }

  private func names(_ storage: FileOutboxStorage) async throws -> [String] {
    try await storage.contents(of: .shared).texts.map { $0.hasPrefix("new") ? "new" : $0 }
  }

  @Test(arguments: [ENOSPC, EIO], Start.allCases)
  func `whichever call of a commit fails, all of it is there or nothing`(_ code: Int32, _ start: Start) async throws {
    var seen: Set<CallScript.Operation> = []
    for persists in [false, true] {
      var index = 0
      while let call = try await failing(index, code, persists: persists, start) {
        seen.insert(call)
        index += 1
      }
      #expect(index > 6)
    }
    let own: Set<CallScript.Operation> =
      switch start {
      case .nothing: [.createDirectory, .create, .close, .rename]
      case .plain: [.read]
      case .torn: [.truncate]
      case .damaged, .due: [.rename, .create, .remove]
      }
    #expect(seen.isSuperset(of: own.union([.open, .lock, .write, .synchronize])), "\(seen)")
  }

  @Test func `a commit that is written byte by byte is whole`() async throws {
    try await withTemporaryDirectory { directory in
      let system = FileSystem { operation, _ in operation == .write || operation == .read ? .atMost(1) : nil }
      let storage = FileOutboxStorage(directory: directory, system: system)
      for name in ["one", "two"] { _ = try await storage.commit([.add(.sample(name))], in: .shared) }
      #expect(
        try await FileOutboxStorage(directory: directory, system: system).contents(of: .shared).texts == ["one", "two"])
    }
  }

  @Test func `whichever call of a reading fails, it throws, and nothing is lost`() async throws {
    for start in [Start.plain, .torn, .damaged] {
      var index = 0
      while true {
        let isDone = try await withTemporaryDirectory { directory in
          try await prepare(start, in: directory)
          let script = CallScript()
          let storage = FileOutboxStorage(directory: directory, system: script.system)
          script.start(failing: index, code: EIO)
          let contents = try? await storage.contents(of: .shared)
          guard index < script.calls.count else { return true }
          let place: Comment = "call \(index), \(script.calls[index]), of \(start)"
          #expect(contents == nil, place)
          script.start()
          #expect(try await names(storage) == ["first", "second"], place)
          #expect(damagedJournals(in: directory).count == (start == .damaged ? 1 : 0), place)
          return false
        }
        if isDone { break }
        index += 1
      }
      #expect(index > 5)
    }
  }

  /// As on a file system that has no links.
  @Test func `a damaged journal stays in its place until another takes it`() async throws {
    try await withTemporaryDirectory { directory in
      try await prepare(.damaged, in: directory)
      let count = Shared(0)
      let system = FileSystem { operation, _ in
        guard operation == .rename else { return nil }
        let index = count.change { count in
          count += 1
          return count
        }
        return index == 1 || index == 3 ? .error(EPERM) : nil
      }
      let storage = FileOutboxStorage(directory: directory, system: system)
      await #expect(throws: FilePersistence.Failure.self) { try await storage.contents(of: .shared) }
      #expect(try await names(FileOutboxStorage(directory: directory)) == ["first", "second"])
      #expect(damagedJournals(in: directory).count == 1)
    }
  }

  @Test func `whichever call of a removal fails, it throws, and the next one removes everything`() async throws {
    var index = 0
    while true {
      let isDone = try await withTemporaryDirectory { directory in
        try await prepare(.damaged, in: directory)
        let script = CallScript()
        let storage = FileOutboxStorage(directory: directory, system: script.system)
        _ = try await storage.commit([.add(.sample("other"))], in: "other")
        _ = try await storage.contents(of: .shared)
        script.start(failing: index, code: EIO)
        var isFailed = false
        do { try await storage.removeAll(in: nil) } catch { isFailed = true }
        guard index < script.calls.count else { return true }
        #expect(isFailed, "call \(index), \(script.calls[index])")
        script.start()
        try await storage.removeAll(in: nil)
        #expect(files(in: directory).map(\.lastPathComponent) == ["lock"])
        return false
      }
      if isDone { break }
      index += 1
    }
    #expect(index > 7)
  }
}
