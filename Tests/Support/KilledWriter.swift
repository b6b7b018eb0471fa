#if os(macOS) || os(Linux)
  import Foundation
  import ReactorCore

  /// The program `StoreWriter`, which saves records until it is killed.
  public struct KilledWriter: Sendable {
    /// The results of a run.
    public struct Run: Sendable {
      /// The last version of each number that the writer said was stored.
      public var acknowledged: [Int: Int] = [:]
      public var count = 0
      /// Any other output.
      public var complaint = ""
    }

    private let process = Process()
    private let output = Pipe()
    private let input = Pipe()

    /// Starts it; it does nothing yet, so that the next one can start while the store of the last
    /// one is looked at.
    ///
    /// - Parameter part: which of `parts` shares of the keys it writes.
    public init(
      _ engine: WriterEngine, path: String, seed: UInt64, run: Int, part: Int = 0, of parts: Int = 1
    ) throws {
      process.executableURL = try Program("StoreWriter").file
      process.arguments = [engine.rawValue, path] + ["\(seed)", "\(run)", "\(part)", "\(parts)"]
      process.standardOutput = output
      process.standardInput = input
      try process.run()
      try output.fileHandleForWriting.close()
    }

    /// Lets it begin, and kills it when it has said so many lines; of which the first says that it
    /// opens the store.
    public func kill(after count: Int) throws -> Run {
      try input.fileHandleForWriting.write(contentsOf: [0])
      var text = ""
      var lines = 0
      while true {
        let data = output.fileHandleForReading.availableData
        if data.isEmpty { break }
        let isAlive = lines < count
        lines += data.count { $0 == UInt8(ascii: "\n") }
        if isAlive, lines >= count { kill() }
        text += String(decoding: data, as: UTF8.self)
      }
      process.waitUntilExit()
      var run = Run(text)
      if process.terminationReason != .uncaughtSignal || process.terminationStatus != SIGKILL {
        run.complaint += "it ended by itself with \(process.terminationStatus)"
      }
      return run
    }

    public func kill() {
      // The id of an exited process may belong to another.
      if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    }

    /// ``kill(after:)`` on a separate thread, since it blocks.
    public func killed(after count: Int) async throws -> Run {
      try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try kill(after: count) }) }
      }
    }
  }

  extension KilledWriter.Run {
    fileprivate init(_ text: String) {
      for line in text.split(separator: "\n") {
        let words = line.split(separator: " ").compactMap { Int($0) }
        if words.count == 2 {
          acknowledged[words[0]] = words[1]
          count += 1
        } else if line != "open" {
          complaint += line
        }
      }
    }
  }
#endif
