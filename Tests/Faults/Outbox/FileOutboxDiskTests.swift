import Foundation
import HTTPCaching
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorOutbox

@Suite(.timeLimit(.minutes(5))) struct `An outbox in files, and the disk` {
  private static func isTyped(_ error: any Error) -> Bool {
    error is FilePersistence.Failure || error is OutboxStorageError
  }

  @Test(arguments: [ENOSPC, EIO], [false, true])
  func `whichever call fails, each commit is there whole or not at all`(_ code: Int32, _ persists: Bool) async throws {
    let seed = Chance.seed("Faults of an outbox (\(code), \(persists))")
    var generator = SeededGenerator(seed: seed)
    // In a row of runs, every call.
    let stride = Chance.count("REACTOR_FAULT_STRIDE", default: 9, thorough: 3)
    var call = Int.random(in: 1...stride, using: &generator)
    while true {
      let calls = Shared(0)
      let system = FileSystem { [call] _, _ in
        let count = calls.change { calls in
          calls += 1
          return calls
        }
        return count == call || (persists && count > call) ? .error(code) : nil
      }
      await withTemporaryDirectory { directory in
        var trial = OutboxTrial(isTyped: Self.isTyped)
        await trial.use { FileOutboxStorage(directory: directory, system: system) }
        await trial.settle { FileOutboxStorage(directory: directory) }
        #expect(trial.faults.isEmpty, "call \(call)")
      }
      guard calls.value >= call else { break }
      call += stride
    }
    #expect(call > 100)
  }

  @Test func `a power cut takes nothing that was acknowledged, and tears no commit`() async throws {
    let seed = Chance.seed("Power cut of an outbox")
    var generator = SeededGenerator(seed: seed)
    var acknowledged = 0
    for cut in stride(from: 0, to: Chance.count("REACTOR_CUTS", default: 120, thorough: 400), by: 4) {
      try await withTemporaryDirectory { parent in
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        let disk = PowerCut(parent)
        let directory = parent.appending(path: "outbox")
        var trial = OutboxTrial(isTyped: Self.isTyped)
        for _ in 0..<4 {
          disk.arm(at: .random(in: 1...170, using: &generator))
          await trial.use { FileOutboxStorage(directory: directory, system: disk.system) }
          disk.cut(&generator)
          await trial.settle { FileOutboxStorage(directory: directory) }
        }
        acknowledged += trial.acknowledged
        #expect(trial.faults.isEmpty, "cut \(cut), REACTOR_SEED=\(seed)")
      }
    }
    #expect(acknowledged > 400)
  }

  /// Such a disk may lose acknowledged commits. It cannot make the outbox invent or mix any.
  @Test func `a disk that says synchronized and is not leaves every entry whole or out`() async throws {
    let seed = Chance.seed("Lying disk of an outbox")
    var generator = SeededGenerator(seed: seed)
    for cut in stride(from: 0, to: Chance.count("REACTOR_CUTS", default: 60, thorough: 200), by: 2) {
      try await withTemporaryDirectory { parent in
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        let disk = PowerCut(parent, lies: true)
        let directory = parent.appending(path: "outbox")
        var trial = OutboxTrial(isTyped: Self.isTyped)
        for _ in 0..<2 {
          disk.arm(at: .random(in: 1...170, using: &generator))
          await trial.use { FileOutboxStorage(directory: directory, system: disk.system) }
          disk.cut(&generator)
          await trial.settle(mayLose: true) { FileOutboxStorage(directory: directory) }
        }
        #expect(trial.faults.isEmpty, "cut \(cut), REACTOR_SEED=\(seed)")
      }
    }
  }
}

#if os(macOS) || os(Linux)
  @Suite(.timeLimit(.minutes(5))) struct `An outbox in files of a process that is killed` {
    /// Killed before a system call of the store: each in turn, in a row of runs.
    @Test func `everything acknowledged is there, and the next process continues`() async throws {
      let seed = Chance.seed("Killed outbox")
      var generator = SeededGenerator(seed: seed)
      let stride = Chance.count("REACTOR_FAULT_STRIDE", default: 27, thorough: 9)
      var call = Int.random(in: 1...stride, using: &generator)
      while call < 120 {
        try await withTemporaryDirectory { directory in
          try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
          let path = directory.path(percentEncoded: false)
          await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, call = call as Int] in
            try await `An outbox in files of a process that is killed`.work(in: path, killedAt: call)
          }
          let storage = FileOutboxStorage(directory: directory.appending(path: "outbox"))
          let contents = try await storage.contents(of: .shared)
          let texts = contents.entries.map { String(decoding: $0.bytes, as: UTF8.self) }
          let said = (try? String(contentsOf: directory.appending(path: "said"), encoding: .utf8)) ?? ""
          let acknowledged = said.split(separator: "\n").map(String.init)
          #expect(texts == acknowledged || texts.dropLast() == acknowledged[...], "call \(call)")
          #expect(contents.setAside.isEmpty, "call \(call)")
          _ = try await storage.commit([.add(StoredEntry(id: UUID(), lane: "main", bytes: Data()))], in: .shared)
        }
        call += stride
      }
    }

    private static func work(in path: String, killedAt call: Int) async throws {
      let calls = Shared(0)
      let system = FileSystem { _, _ in
        let count = calls.change { calls in
          calls += 1
          return calls
        }
        if count == call { kill(getpid(), SIGKILL) }
        return nil
      }
      let directory = URL(filePath: path, directoryHint: .isDirectory)
      let storage = FileOutboxStorage(directory: directory.appending(path: "outbox"), system: system)
      let said = open(directory.appending(path: "said").path(), O_WRONLY | O_CREAT | O_APPEND, 0o600)
      for index in 0... {
        let text = "\(index)" + String(repeating: ".", count: index * 40)
        _ = try await storage.commit([.add(StoredEntry(id: UUID(), lane: "main", bytes: Data(text.utf8)))], in: .shared)
        let line = Array("\(text)\n".utf8)
        guard write(said, line, line.count) == line.count else { exit(74) }
      }
    }
  }
#endif
