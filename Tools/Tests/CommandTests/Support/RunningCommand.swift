import CommandSupport
import Foundation
import Testing

@testable import reactor

/// The built `reactor` while it runs: its lines as they come, then its end.
final class RunningCommand {
  struct End: Sendable {
    var status: Int32
    var error: String
    /// The rest of standard output, after the lines that were read.
    var rest: String
  }

  private let output: FileHandle
  private let process: Task<ChildProcess.Result, any Error>
  private var buffer = Data()
  private var isClosed = false

  /// Runs the command while `body` reads; it is killed after a minute, which ends the lines.
  ///
  /// - Parameters:
  ///   - executable: another program, to be run beside it.
  ///   - signal: what ``end()`` sends.
  static func run(
    _ arguments: [String], executable: URL = Command.executable, signal: Int32 = SIGINT,
    body: (RunningCommand) async throws -> Void
  ) async throws {
    try await TemporaryDirectory.use { directory in
      let pipe = Pipe()
      let process = Task {
        try await ChildProcess.run(
          executable, arguments, directory: directory, pipe: pipe, deadline: .seconds(60), cancelSignal: signal)
      }
      let command = RunningCommand(output: pipe.fileHandleForReading, process: process)
      let result = await Result { try await body(command) }
      process.cancel()
      _ = await process.result
      try result.get()
    }
  }

  private init(output: FileHandle, process: Task<ChildProcess.Result, any Error>) {
    self.output = output
    self.process = process
  }

  /// The next line, as soon as it has been written.
  func line() async throws -> String {
    while true {
      if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
        defer { buffer = Data(buffer[buffer.index(after: end)...]) }
        return String(decoding: buffer[..<end], as: UTF8.self)
      }
      buffer += try #require(await more(), "standard output ended")
    }
  }

  /// The next line that holds `text`, and all until then are left out.
  func line(with text: String) async throws -> String {
    while true {
      let line = try await line()
      if line.contains(text) { return line }
    }
  }

  /// Sends the signal.
  func interrupt() { process.cancel() }

  /// Sends the signal, and waits until the process and everything that holds its output have
  /// exited.
  func end() async throws -> End {
    interrupt()
    return try await ended()
  }

  /// Waits for the end without a signal.
  func ended() async throws -> End {
    let result = try await process.value
    while let data = await more() { buffer += data }
    return End(status: result.status, error: result.error, rest: String(decoding: buffer, as: UTF8.self))
  }

  /// Reads until `text` is there, in a line that need not be finished.
  func beginning(with text: String) async throws {
    while buffer.range(of: Data(text.utf8)) == nil { buffer += try #require(await more(), "standard output ended") }
  }

  /// Stops reading, for good.
  func close() throws {
    isClosed = true
    try output.close()
  }

  /// Returns the output since the last call, on a thread that may block; `nil` at the end.
  private func more() async -> Data? {
    guard !isClosed else { return nil }
    return await withCheckedContinuation { continuation in
      DispatchQueue.global().async { [output] in
        let data = output.availableData
        continuation.resume(returning: data.isEmpty ? nil : data)
      }
    }
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
