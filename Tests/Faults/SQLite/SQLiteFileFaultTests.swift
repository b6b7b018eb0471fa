#if SQLite
  import Foundation
  import ReactorCore
  import ReactorTesting
  import Synchronization
  import TestSupport
  import Testing

  @testable import HTTPCaching
  @testable import ReactorSQLite

  /// The calls that are not SQLite's.
  @Suite(.timeLimit(.minutes(3))) struct `SQLite's other files on a disk that fails` {
    @Test(arguments: [ENOSPC, EIO, EACCES], [false, true])
    func `whichever call fails, each error is typed, and nothing stored before is lost`(
      _ code: Int32, _ persists: Bool
    ) async throws {
      let seed = Chance.seed("Faults of SQLite's files (\(code), \(persists))")
      var generator = SeededGenerator(seed: seed)
      // In a row of runs, every call.
      let stride = Chance.count("REACTOR_FAULT_STRIDE", default: 32, thorough: 8)
      var failed: Set<String> = []
      var index = Int.random(in: 0..<stride, using: &generator)
      while let call = try await failing(index, code, persists) {
        failed.insert(call)
        index += stride
      }
      #expect(index > 60)
      #expect(stride > 1 || failed == Script.calls)
    }

    /// - Returns: the call that failed; `nil` where there are not so many.
    private func failing(_ index: Int, _ code: Int32, _ persists: Bool) async throws -> String? {
      try await withTemporaryDirectory { directory in
        let trial = try await FileFaultTrial(directory)
        let script = Script(failing: index, code, persists)
        await trial.use(script.system)
        guard let call = script.failed else {
          #expect(trial.errors.isEmpty)
          return nil
        }
        let faults = try await trial.settled()
        #expect(faults.isEmpty, "call \(index), \(call)")
        return call
      }
    }
  }

  /// Makes one call fail, or all from it on.
  private final class Script: Sendable {
    static let calls: Set = [
      "open", "create", "create the directory", "synchronize", "inspect", "rename", "remove", "list", "restrict",
      "resolve", "lock",
    ]

    private let state: Mutex<(count: Int, failed: String?)> = Mutex((0, nil))
    private let index: Int
    private let code: Int32
    private let persists: Bool

    init(failing index: Int, _ code: Int32, _ persists: Bool) {
      self.index = index
      self.code = code
      self.persists = persists
    }

    var failed: String? { state.withLock { $0.failed } }

    var system: SQLiteSystem {
      SQLiteSystem(
        files: FileSystem { operation, _ in self.fault(operation.rawValue).map { .error($0) } },
        fault: { call, _ in self.fault("\(call)") })
    }

    private func fault(_ call: String) -> Int32? {
      state.withLock { state in
        defer { state.count += 1 }
        guard persists ? state.count >= index : state.count == index else { return nil }
        state.failed = state.failed ?? call
        return code
      }
    }
  }
#endif
