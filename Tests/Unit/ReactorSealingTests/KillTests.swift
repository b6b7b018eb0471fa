#if Sealing && (os(macOS) || os(Linux))
  import Foundation
  import HTTPCaching
  import ReactorOutbox
  import ReactorTesting
  import TestSupport
  import Testing

  @testable import ReactorSealing

  @Suite(.timeLimit(.minutes(20))) struct `A rotation that is killed` {
    private let kills = Int(ProcessInfo.processInfo.environment["REACTOR_KILLS"] ?? "") ?? 30

    /// The program `Resealer` adds a key, seals everything again, removes the older keys, and
    /// begins anew, while it saves.
    @Test func `leaves every record and every entry readable, and the next one goes on`() async throws {
      let seed = UInt64(ProcessInfo.processInfo.environment["REACTOR_SEED"] ?? "") ?? .random(in: 0 ... .max)
      print("REACTOR_SEED=\(seed)")
      var generator = SeededGenerator(seed: seed)
      try await withTemporaryDirectory { directory in
        var saved: [Int: Int] = [:]
        var rotations = 0
        for kill in 0..<kills {
          let lines = try await run(in: directory, lines: Int.random(in: 1...60, using: &generator))
          for line in lines {
            let words = line.split(separator: " ")
            if words.first == "saved", words.count == 3, let number = Int(words[1]) { saved[number] = Int(words[2]) }
            if words.first == "rotated" { rotations += 1 }
            if words.first == "failed" { Issue.record("kill \(kill): \(line)") }
          }
          try await expectReadable(saved, in: directory, kill)
        }
        #expect(rotations > 0, "no rotation ended")
        #expect(!saved.isEmpty)
      }
    }

    private func expectReadable(_ saved: [Int: Int], in directory: URL, _ kill: Int) async throws {
      let sealing = Sealing(keys: FileSealingKeys(directory: directory.appending(path: "keys")))
      let store = SealedPersistence(FilePersistence(directory: directory.appending(path: "records")), sealing: sealing)
      for (number, version) in saved {
        let record = try await store.load(.sample("\(number)", scope: "ada"))
        let loaded = record.flatMap { Int(String(decoding: $0.body, as: UTF8.self)) }
        #expect(
          loaded.map { $0 >= version } == true, "kill \(kill): record \(number) has \(loaded ?? -1), not \(version)")
      }
      let outbox = SealedOutboxStorage(
        FileOutboxStorage(directory: directory.appending(path: "outbox")), sealing: sealing)
      let contents = try await outbox.contents(of: "ada")
      #expect(contents.setAside.isEmpty)
      if !saved.isEmpty { #expect(contents.entries.count == 8, "kill \(kill)") }
      for entry in contents.entries { #expect(entry.bytes == Data(entry.lane.utf8)) }
    }

    /// Kills the program after so many lines, and returns them.
    private func run(in directory: URL, lines count: Int) async throws -> [String] {
      let file = try Program("Resealer").file
      return try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
          continuation.resume(with: Result { try Self.run(file, directory, lines: count) })
        }
      }
    }

    private static func run(_ file: URL, _ directory: URL, lines count: Int) throws -> [String] {
      let (process, output) = (Process(), Pipe())
      process.executableURL = file
      process.arguments = [directory.path(percentEncoded: false)]
      process.standardOutput = output
      try process.run()
      try output.fileHandleForWriting.close()
      var data = Data()
      var isKilled = false
      while true {
        let more = output.fileHandleForReading.availableData
        if more.isEmpty { break }
        data.append(more)
        if !isKilled, data.count(where: { $0 == UInt8(ascii: "\n") }) >= count {
          kill(process.processIdentifier, SIGKILL)
          isKilled = true
        }
      }
      process.waitUntilExit()
      // The last line may be cut.
      let whole = data.prefix(upTo: (data.lastIndex(of: UInt8(ascii: "\n")) ?? -1) + 1)
      return String(decoding: whole, as: UTF8.self).split(separator: "\n").map(String.init)
    }
  }
#endif
