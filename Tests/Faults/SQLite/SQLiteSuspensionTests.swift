#if SQLite && (os(macOS) || os(Linux))
  import Foundation
  import GRDB
  import TestSupport
  import Testing

  /// iOS stops a process wherever it is, and ends it if it holds a lock then.
  @Suite(.timeLimit(.minutes(2))) struct `A process that is stopped after it has suspended its SQLite stores` {
    @Test func `a process that is stopped while suspended holds no lock, and continues afterwards`() async throws {
      try await withTemporaryDirectory { directory in
        let writer = try SuspendedWriter(directory.path(percentEncoded: false))
        defer { writer.end() }
        var counts: [Int] = []
        for _ in 0..<20 {
          counts.append(try await writer.told("s", "suspended"))
          writer.signal(SIGSTOP)
          for name in ["records", "outbox"] {
            let path = directory.appending(path: "\(name).sqlite").path(percentEncoded: false)
            #expect(throws: Never.self) { try Self.write(to: path) }
          }
          writer.signal(SIGCONT)
          _ = try await writer.told("r", "resumed")
          // Some commits later.
          try await Task.sleep(for: .milliseconds(20))
        }
        #expect(zip(counts, counts.dropFirst()).allSatisfy(<), "it writes between the rounds: \(counts)")
      }
    }

    /// Writes without waiting for a lock, and takes the lock of the store's files.
    private static func write(to path: String) throws {
      var configuration = Configuration()
      configuration.busyMode = .immediateError
      try DatabaseQueue(path: path, configuration: configuration).writeWithoutTransaction { db in
        try db.execute(sql: "BEGIN IMMEDIATE; ROLLBACK")
      }
      let descriptor = open(path + "-lock", O_RDWR | O_CLOEXEC)
      defer { close(descriptor) }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw POSIXError(.EWOULDBLOCK) }
    }
  }

  /// The program `StoreWriter` with the stores of a directory.
  private struct SuspendedWriter: Sendable {
    private let process = Process()
    private let output = Pipe()
    private let input = Pipe()

    init(_ path: String) throws {
      process.executableURL = try Program("StoreWriter").file
      process.arguments = ["suspended", path]
      process.standardOutput = output
      process.standardInput = input
      try process.run()
      try output.fileHandleForWriting.close()
    }

    /// Sends a command, and returns the count in the answer to it.
    func told(_ command: String, _ answer: String) async throws -> Int {
      try input.fileHandleForWriting.write(contentsOf: Data(command.utf8))
      let line = await withCheckedContinuation { continuation in
        Thread.detachNewThread {
          continuation.resume(returning: String(decoding: output.fileHandleForReading.availableData, as: UTF8.self))
        }
      }
      let words = line.split(whereSeparator: \.isWhitespace)
      return try #require(words.first == Substring(answer) ? words.last.flatMap { Int($0) } : nil, "\(line)")
    }

    func signal(_ number: Int32) { if process.isRunning { kill(process.processIdentifier, number) } }

    func end() {
      signal(SIGCONT)
      signal(SIGKILL)
    }
  }
#endif
