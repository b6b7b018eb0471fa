import Foundation
import Testing

@testable import reactor

@Suite(.timeLimit(.minutes(2))) struct `reactor demo` {
  @Test func `walks through every step and leaves nothing behind`() async throws {
    try await TemporaryDirectory.use { directory in
      let path = directory.appending(path: "tmp", directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
      let result = try await ChildProcess.run(
        URL(filePath: "/usr/bin/env"),
        ["TMPDIR=\(path.path(percentEncoded: false))", Command.executable.path(percentEncoded: false), "demo"],
        directory: directory, deadline: .seconds(60))
      let lines = String(decoding: result.output, as: UTF8.self).split(separator: "\n")
      #expect(result.status == 0, "\(result.error)")
      #expect(result.error == "")
      #expect(lines.filter { $0.hasPrefix("   ok, ") }.count == 7)
      #expect(lines.contains { $0.contains("3 of 200 pruned") })
      #expect(try FileManager.default.contentsOfDirectory(atPath: path.path(percentEncoded: false)) == [])
    }
  }
}
