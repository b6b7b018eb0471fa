import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HTTPCaching

/// Makes the n-th call fail, and notes all calls.
private final class Script: Sendable {
  private struct State {
    var calls: [(operation: FilePersistence.Failure.Operation, path: String)] = []
    var failing: (index: Int, code: Int32)?
  }

  private let state = Mutex(State())

  var system: FileSystem {
    FileSystem { operation, path in
      self.state.withLock { state in
        state.calls.append((operation, path))
        guard let failing = state.failing, failing.index == state.calls.count - 1 else { return nil }
        return .error(failing.code)
      }
    }
  }

  var calls: [(operation: FilePersistence.Failure.Operation, path: String)] { state.withLock { $0.calls } }

  func start(failing index: Int? = nil, code: Int32 = 0) {
    state.withLock { $0 = State(calls: [], failing: index.map { ($0, code) }) }
  }
}

@Suite struct `File persistence's faults` {
  typealias Operation = FilePersistence.Failure.Operation
  private let key = RecordKey.sample()
  private let other = RecordKey.sample("other", scope: "other")

  @Test(arguments: [ENOSPC, EIO, EACCES], [FilePersistence.Synchronization.normal, .full])
  func `whichever call of a save fails, the old record or the new one is whole`(
    _ code: Int32, _ synchronization: FilePersistence.Synchronization
  ) async throws {
    try await withTemporaryDirectory { directory in
      let (old, new) = (Record.sample(key, "old"), Record.sample(key, "new"))
      let observer = FilePersistence(directory: directory)
      try await observer.save(.sample(other), for: other)
      var seen: Set<Operation> = []
      var index = 0
      while true {
        try await observer.save(old, for: key)
        let script = Script()
        let persistence = FilePersistence(
          directory: directory, synchronization: synchronization, system: script.system)
        script.start(failing: index, code: code)
        var failure: FilePersistence.Failure?
        do {
          try await persistence.save(new, for: key)
        } catch {
          failure = try #require(error as? FilePersistence.Failure)
        }
        guard index < script.calls.count else { break }
        let failed = script.calls[index]
        seen.insert(failed.operation)
        let stored = try await observer.load(key)
        if let failure {
          #expect(failure.operation == failed.operation && failure.code == code && failure.path == failed.path)
          // Only once the record is in its place can its directory fail to be synchronised.
          let isRenamed = script.calls.prefix(index).contains { $0.operation == .rename }
          #expect(stored == (isRenamed ? new : old), "call \(index), \(failed.operation)")
        } else {
          #expect(stored == new, "call \(index), \(failed.operation), did not fail the save")
        }
        #expect(files(in: directory, suffix: ".temporary").isEmpty, "call \(index), \(failed.operation)")
        #expect(try await observer.load(other) == .sample(other))
        index += 1
      }
      #expect(seen.isSuperset(of: [.create, .write, .close, .rename]))
      #expect(seen.contains(.synchronize) == (synchronization == .full))
    }
  }

  @Test(arguments: [ENOSPC, EIO, EACCES])
  func `whichever call fails while the directory is made, the next save succeeds`(_ code: Int32) async throws {
    try await withTemporaryDirectory { directory in
      var index = 0
      while true {
        let script = Script()
        let persistence = FilePersistence(
          directory: directory.appending(path: "\(index)/a"), synchronization: .full, system: script.system)
        script.start(failing: index, code: code)
        try? await persistence.save(.sample(key), for: key)
        guard index < script.calls.count else { break }
        script.start()
        try await persistence.save(.sample(key), for: key)
        #expect(try await persistence.load(key) == .sample(key), "call \(index)")
        index += 1
      }
      #expect(index > 10)
    }
  }

  @Test(arguments: [EIO, EACCES])
  func `whichever call of a load fails, it is that error, and the record stays`(_ code: Int32) async throws {
    try await withTemporaryDirectory { directory in
      let script = Script()
      let persistence = FilePersistence(directory: directory, system: script.system, touchInterval: 0)
      try await persistence.save(.sample(key), for: key)
      var index = 0
      while true {
        script.start(failing: index, code: code)
        let result: Result<Record?, any Error>
        do {
          result = .success(try await persistence.load(key))
        } catch {
          result = .failure(error)
        }
        guard index < script.calls.count else { break }
        let failed = script.calls[index]
        switch result {
        case .success(let record): #expect(record == .sample(key) && failed.operation == .touch)
        case .failure(let error):
          #expect(
            error as? FilePersistence.Failure == .init(operation: failed.operation, path: failed.path, code: code))
        }
        index += 1
      }
      #expect(index == 4)
      script.start()
      #expect(try await persistence.load(key) == .sample(key))
    }
  }

  @Test(arguments: [EIO, EACCES])
  func `whichever call of a removal fails, it says so, and removes what it can`(_ code: Int32) async throws {
    try await withTemporaryDirectory { directory in
      let script = Script()
      let persistence = FilePersistence(directory: directory, synchronization: .full, system: script.system)
      let keys = (0..<4).map { RecordKey.sample("\($0)", scope: Scope("\($0 % 2)")) }
      var index = 0
      while true {
        script.start()
        for key in keys { try await persistence.save(.sample(key), for: key) }
        script.start(failing: index, code: code)
        var isFailed = false
        do {
          try await persistence.removeAll(in: nil)
        } catch {
          isFailed = true
        }
        guard index < script.calls.count else { break }
        #expect(isFailed, "call \(index), \(script.calls[index].operation)")
        let left = files(in: directory, suffix: ".record").count
        #expect(left <= (index == 0 ? 4 : script.calls[index].operation == .list ? 2 : 1), "call \(index)")
        index += 1
      }
      #expect(index > 8)
    }
  }

  @Test func `interrupted calls and short reads and writes are gone on with`() async throws {
    try await withTemporaryDirectory { directory in
      let count = Atomic(0)
      let system = FileSystem { operation, _ in
        if count.add(1, ordering: .relaxed).newValue.isMultiple(of: 2) { return .error(EINTR) }
        return operation == .read || operation == .write ? .atMost(7) : nil
      }
      let persistence = FilePersistence(directory: directory, synchronization: .full, system: system)
      let record = Record.sample(key, String(repeating: "0123456789", count: 100))
      try await persistence.save(record, for: key)
      #expect(try await persistence.load(key) == record)
      #expect(try await persistence.entries(in: nil, url: nil).map(\.key) == [key])
      try await persistence.removeAll(in: nil)
      #expect(files(in: directory).isEmpty)
    }
  }

  @Test func `a disk that fills up in the middle of a body leaves the old record`() async throws {
    try await withTemporaryDirectory { directory in
      let writes = Atomic(0)
      let system = FileSystem { operation, _ in
        guard operation == .write else { return nil }
        return writes.add(1, ordering: .relaxed).newValue > 5 ? .error(ENOSPC) : .atMost(100)
      }
      try await FilePersistence(directory: directory).save(.sample(key), for: key)
      let persistence = FilePersistence(directory: directory, system: system)
      let error = await #expect(throws: FilePersistence.Failure.self) {
        try await persistence.save(.sample(key, String(repeating: "x", count: 10_000)), for: key)
      }
      #expect(try #require(error).description.contains("No space left on device"))
      #expect(try await persistence.load(key) == .sample(key))
      #expect(files(in: directory, suffix: ".temporary").isEmpty)
    }
  }

  @Test func `a directory that is removed under a save is made again`() async throws {
    try await withTemporaryDirectory { directory in
      let isRemoved = Atomic(false)
      let system = FileSystem { operation, _ in
        if operation == .rename, !isRemoved.exchange(true, ordering: .relaxed) {
          try? FileManager.default.removeItem(at: directory)
        }
        return nil
      }
      let persistence = FilePersistence(directory: directory, system: system)
      try await persistence.save(.sample(key), for: key)
      #expect(try await persistence.load(key) == .sample(key))
    }
  }

  @Test func `a directory that goes at every attempt ends in an error, not in a loop`() async throws {
    await withTemporaryDirectory { directory in
      let system = FileSystem { operation, _ in operation == .rename ? .error(ENOENT) : nil }
      let persistence = FilePersistence(directory: directory, system: system)
      await #expect(throws: FilePersistence.Failure.self) { try await persistence.save(.sample(key), for: key) }
      #expect(files(in: directory, suffix: ".temporary").isEmpty)
    }
  }

  @Test func `a directory that is a file is named, with what to do`() async throws {
    try await withTemporaryDirectory { directory in
      try Data("a file".utf8).write(to: directory)
      let persistence = FilePersistence(directory: directory)
      await #expect(throws: FilePersistence.Failure.self) { try await persistence.load(key) }
      await #expect(throws: FilePersistence.Failure.self) { try await persistence.entries(in: nil, url: nil) }
      let error = await #expect(throws: FilePersistence.Failure.self) {
        try await persistence.save(.sample(key), for: key)
      }
      let text = try #require(error).description
      #expect(text.contains(directory.path(percentEncoded: false)) && text.contains("Not a directory"))
      #expect(text.contains("is a file; remove it"))
      #expect(try Data(contentsOf: directory) == Data("a file".utf8))
    }
  }

  @Test(arguments: ["https://example.com/cache", "file:///tmp/a%00b"])
  func `a URL that is no directory is refused`(_ url: String) async throws {
    let persistence = FilePersistence(directory: try #require(URL(string: url)))
    let error = await #expect(throws: FilePersistence.Failure.self) {
      try await persistence.save(.sample(key), for: key)
    }
    #expect(try #require(error).description.hasSuffix("give the store a file URL"))
    await #expect(throws: FilePersistence.Failure.self) { try await persistence.load(key) }
    await #expect(throws: FilePersistence.Failure.self) { try await persistence.removeAll(in: nil) }
  }

  @Test func `a listing that is cancelled ends`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory)
      try await persistence.save(.sample(key), for: key)
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await persistence.entries(in: nil, url: nil)
      }
      await #expect(throws: CancellationError.self) { try await task.value }
    }
  }
}
