#if os(macOS) || os(Linux)
  import Foundation
  import ReactorTesting
  import Synchronization

  /// A server or a client of `StoreWriter` that follows changes, and the lines that it says.
  public final class LiveProcess: Sendable {
    /// A process that has not said what the trial waits for.
    struct Silent: Error, CustomStringConvertible { let description: String }

    fileprivate struct Said {
      var lines: [String] = []
      /// The last count of each number.
      var counts: [Int: Int] = [:]
      var hasEnded = false
    }

    private let process = Process()
    private let input = Pipe()
    private let said: Shared<Said>

    init(_ arguments: [String]) throws {
      let (output, said) = (Pipe(), Shared(Said()))
      self.said = said
      process.executableURL = try Program("StoreWriter").file
      process.arguments = arguments
      process.standardOutput = output
      process.standardInput = input
      try process.run()
      try output.fileHandleForWriting.close()
      let reading = output.fileHandleForReading
      Thread.detachNewThread {
        var rest = ""
        while case let data = reading.availableData, !data.isEmpty {
          let lines = (rest + String(decoding: data, as: UTF8.self)).split(
            separator: "\n", omittingEmptySubsequences: false)
          rest = lines.last.map(String.init) ?? ""
          said.change { said in lines.dropLast().forEach { said.add(String($0)) } }
        }
        said.change { $0.hasEnded = true }
      }
    }

    deinit { kill() }

    var lines: [String] { said.value.lines }
    /// The last count that the process has said of each number.
    var counts: [Int: Int] { said.value.counts }

    func tell(_ command: String) throws { try input.fileHandleForWriting.write(contentsOf: Data(command.utf8)) }

    /// Returns the first line behind `start` for which `body` has a value.
    func line<Value>(behind start: Int = 0, _ body: (String) -> Value?) async throws -> Value {
      var found: Value?
      try await wait {
        found = lines.dropFirst(start).lazy.compactMap(body).first
        return found != nil
      }
      guard let found else { throw Silent(description: "no line") }
      return found
    }

    /// Returns once a condition holds, which other processes bring about.
    func wait(_ condition: () async throws -> Bool) async throws {
      let start = ContinuousClock.now
      while try await !condition() {
        guard !said.value.hasEnded, start.duration(to: .now) < .seconds(60) else {
          throw Silent(description: "\(said.value.counts), after \(lines.suffix(30))")
        }
        try await Task.sleep(for: .milliseconds(5))
      }
    }

    /// Kills the process, and reads what it had said.
    func kill() {
      // The id of an exited process may belong to another.
      if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
      process.waitUntilExit()
      // Its last lines may be on their way.
      let end = ContinuousClock.now + .seconds(5)
      while !said.value.hasEnded, ContinuousClock.now < end { usleep(1_000) }
    }
  }

  extension LiveProcess.Said {
    fileprivate mutating func add(_ line: String) {
      lines.append(line)
      let words = line.split(separator: " ").map { Int($0) }
      if words.count == 2, let number = words[0], let count = words[1] { counts[number] = count }
    }
  }
#endif
