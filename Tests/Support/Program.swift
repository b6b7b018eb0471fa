#if os(macOS) || os(Linux)
  public import Foundation

  /// A program that is built beside the tests.
  public struct Program: Sendable {
    public let file: URL

    public init(file: URL) { self.file = file }

    public init(_ name: String) throws {
      let places = [Bundle.main.executablePath ?? ""] + CommandLine.arguments
      for place in places where place.hasPrefix("/") {
        var folder = URL(filePath: place).deletingLastPathComponent()
        while folder.path().count > 1 {
          let file = folder.appending(path: name)
          if FileManager.default.isExecutableFile(atPath: file.path(percentEncoded: false)) {
            self.file = file
            return
          }
          folder.deleteLastPathComponent()
        }
      }
      throw CocoaError(.fileNoSuchFile)
    }

    /// Runs the program to its end and returns its output. It blocks, so it has a separate thread.
    public func output(_ arguments: String...) async throws -> String { try await output(arguments) }

    public func output(_ arguments: [String]) async throws -> String {
      try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try run(arguments) }) }
      }
    }

    private func run(_ arguments: [String]) throws -> String {
      let (process, output) = (Process(), Pipe())
      process.executableURL = file
      process.arguments = arguments
      process.standardOutput = output
      try process.run()
      try output.fileHandleForWriting.close()
      let data = try output.fileHandleForReading.readToEnd() ?? Data()
      process.waitUntilExit()
      return String(decoding: data, as: UTF8.self)
    }
  }
#endif
