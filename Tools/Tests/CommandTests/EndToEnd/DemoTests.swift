import Foundation
import HTTPTypes
import ReactorCore
import Testing
import Wire

@testable import reactor

@Suite(.timeLimit(.minutes(2))) struct `reactor demo` {
  /// Runs `script` with the demo's program as `$1` and an empty directory for its temporary files as `$TMPDIR`.
  private func run(_ script: String) async throws -> (result: ChildProcess.Result, leftOver: [String]) {
    try await TemporaryDirectory.use { directory in
      let path = directory.appending(path: "tmp", directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
      let result = try await ChildProcess.run(
        URL(filePath: "/bin/sh"),
        [
          "-c", "export TMPDIR=\"$2\"; \(script)", "sh", Command.executable.path(percentEncoded: false),
          path.path(percentEncoded: false), directory.path(percentEncoded: false),
        ], directory: directory, deadline: .seconds(60))
      return (result, try FileManager.default.contentsOfDirectory(atPath: path.path(percentEncoded: false)))
    }
  }

  @Test func `walks through every step and leaves nothing behind`() async throws {
    let (result, leftOver) = try await run(#"exec "$1" demo"#)
    let lines = String(decoding: result.output, as: UTF8.self).split(separator: "\n")
    #expect(result.status == 0, "\(result.error)")
    #expect(result.error == "")
    #expect(lines.filter { $0.hasPrefix("   ok, ") }.count == 7)
    #expect(lines.contains { $0.contains("3 of 200 pruned") })
    #expect(leftOver == [])
  }

  @Test(arguments: [("INT", Int32(130)), ("TERM", 143)])
  func `leaves nothing behind when it is interrupted`(signal: String, status: Int32) async throws {
    // The first line says that the server runs; the rest is read, so that no closed pipe ends the demo instead.
    let (result, leftOver) = try await run(
      """
      mkfifo "$3/pipe"; "$1" demo > "$3/pipe" & demo=$!
      { read -r line; kill -\(signal) $demo; cat > /dev/null; } < "$3/pipe"; wait $demo
      """)
    #expect(result.status == status)
    #expect(result.error == "reactor: interrupted\n")
    #expect(leftOver == [])
  }

  @Test func `stays with the inspector of what it did, until it is interrupted`() async throws {
    try await RunningCommand.run(["demo", "--stay"]) { demo in
      let told = try await demo.line(with: "What the layer holds")
      let page = try #require(told.split(separator: " ").last.flatMap { URL(string: String($0)) })
      let authority = "127.0.0.1:\(page.port ?? 0)"
      let request = HTTPRequest(method: .get, scheme: "http", authority: authority, path: page.path)
      let (response, body) = try await URLSessionTransport().send(request, body: nil) { _ in }
      #expect(response.status == .ok)
      #expect(String(decoding: body, as: UTF8.self).contains("<title>"))
      // A page that is left open: its feed goes on until the command ends it.
      let feed = try await WireClient.connect(port: page.port ?? 0)
      try await feed.send("GET \(page.path)/live HTTP/1.1\r\nHost: \(authority)\r\n\r\n")
      #expect(try await feed.read { $0.contains("data: ") }.contains("/articles"))
      let end = try await demo.end()
      #expect(end.status == 0, "\(end.error)")
      #expect(end.error == "")
      _ = try await feed.rest()
    }
  }

  @Test func `leaves nothing behind when nobody reads what it says`() async throws {
    let (_, leftOver) = try await run(#""$1" demo | head -n 1"#)
    #expect(leftOver == [])
  }
}
