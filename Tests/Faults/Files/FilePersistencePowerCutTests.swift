import Foundation
import ReactorTesting
import TestSupport
import Testing

@testable import HTTPCaching

@Suite(.timeLimit(.minutes(5))) struct `File persistence on a disk that fails` {
  /// Returns true for the errors that a half-written record may throw.
  private static func isTyped(_ error: any Error) -> Bool {
    error is FilePersistence.Failure || error is Record.Failure
  }

  @Test(arguments: [ENOSPC, EIO, EACCES], [false, true])
  func `whichever call fails, what was acknowledged is there and whole`(_ code: Int32, _ persists: Bool) async throws {
    let seed = Chance.seed("Faults of files (\(code), \(persists))")
    var generator = SeededGenerator(seed: seed)
    // In a row of runs, every call.
    let stride = Chance.count("REACTOR_FAULT_STRIDE", default: 32, thorough: 8)
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
        var ledger = Ledger { $0 is FilePersistence.Failure }
        await ledger.use { FilePersistence(directory: directory, synchronization: .normal, system: system) }
        await ledger.settle(isStrict: true) { FilePersistence(directory: directory) }
        #expect(ledger.faults.isEmpty && ledger.revived.isEmpty, "call \(call)")
        #expect(persists || files(in: directory, suffix: ".temporary").isEmpty, "call \(call)")
      }
      guard calls.value >= call else { break }
      call += stride
    }
    #expect(call > 50)
  }

  @Test(arguments: [FilePersistence.Synchronization.normal, .full])
  func `a power cut tears nothing unseen, and takes nothing that was synchronised`(
    _ synchronization: FilePersistence.Synchronization
  ) async throws {
    let seed = Chance.seed("Power cut of files (\(synchronization))")
    var generator = SeededGenerator(seed: seed)
    let isFull = synchronization == .full
    for cut in stride(from: 0, to: Chance.count("REACTOR_CUTS", default: 60, thorough: 200), by: 4) {
      try await withTemporaryDirectory { parent in
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        let disk = PowerCut(parent)
        let directory = parent.appending(path: "store")
        var ledger = Ledger(isTyped: Self.isTyped)
        for _ in 0..<4 {
          disk.arm(at: .random(in: 1...200, using: &generator))
          await ledger.use {
            FilePersistence(directory: directory, synchronization: synchronization, system: disk.system)
          }
          disk.cut(&generator)
          await ledger.settle(isStrict: isFull, mayMiss: !isFull) {
            FilePersistence(directory: directory, synchronization: synchronization)
          }
        }
        #expect(ledger.faults.isEmpty, "cut \(cut), REACTOR_SEED=\(seed)")
      }
    }
  }
}
