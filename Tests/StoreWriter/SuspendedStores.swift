#if SQLite
  import Foundation
  import ReactorCore
  import ReactorOutbox
  import ReactorSQLite
  import Synchronization
  import TestSupport

  /// Both SQLite stores in a directory, written by several tasks, and suspended when it is told to.
  ///
  /// Arguments: `suspended` and the directory. On standard input: `s` to suspend and `r` to resume.
  /// On standard output, a line after each: `suspended` or `resumed`, and the number of commits so
  /// far.
  struct SuspendedStores {
    static func run(_ path: String) async throws {
      let records = try SQLitePersistence(path: path + "/records.sqlite", synchronization: .full)
      let outbox = try SQLiteOutboxStorage(path: path + "/outbox.sqlite")
      let commits = Commits()
      Thread.detachNewThread {
        var byte: UInt8 = 0
        while read(STDIN_FILENO, &byte, 1) == 1 {
          let suspends = byte == UInt8(ascii: "s")
          if suspends {
            records.suspend()
            outbox.suspend()
          } else {
            records.resume()
            outbox.resume()
          }
          StoreWriter.say("\(suspends ? "suspended" : "resumed") \(commits.count.load(ordering: .relaxed))")
        }
        exit(0)
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          for version in 1... {
            let written = WrittenRecord(number: 1, version: version)
            try await commits.unlessSuspended { try await records.save(written.record, for: written.key) }
          }
        }
        group.addTask {
          while true {
            let entry = StoredEntry(id: UUID(), lane: "main", bytes: Data(count: 1_000))
            try await commits.unlessSuspended {
              _ = try await outbox.commit([.add(entry)], in: .shared)
              _ = try await outbox.commit([.remove(entry.id)], in: .shared)
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }

  private final class Commits: Sendable {
    let count = Atomic(0)

    /// Counts what succeeds, and waits a little where the store is suspended.
    func unlessSuspended(_ commit: () async throws -> Void) async throws {
      do {
        try await commit()
        count.add(1, ordering: .relaxed)
      } catch SQLitePersistenceError.suspended {
        try await Task.sleep(for: .milliseconds(1))
      }
    }
  }
#endif
