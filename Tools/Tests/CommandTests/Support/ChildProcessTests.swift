import CommandSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A child process` {
  private static let shell = URL(filePath: "/bin/sh")

  private func run(_ script: String, deadline: Duration = .seconds(30)) async throws -> ChildProcess.Result {
    try await TemporaryDirectory.use { directory in
      try await ChildProcess.run(Self.shell, ["-c", script], directory: directory, deadline: deadline)
    }
  }

  @Test func `a child process gives what it printed and its status`() async throws {
    let result = try await run("echo out; echo err >&2; exit 7")
    #expect(result.status == 7)
    #expect(result.output == Data("out\n".utf8))
    #expect(result.error == "err\n")
  }

  @Test func `a child process may print more than a pipe holds`() async throws {
    let result = try await run("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2")
    #expect(result.output.count == 1_000_000)
    #expect(result.error.utf8.count == 1_000_000)
  }

  @Test func `a child process is ended with the task`() async throws {
    let task = Task { try await run("exec sleep 60") }
    task.cancel()
    #expect(try await task.value.status != 0)
  }

  @Test func `a child process is ended at its deadline`() async throws {
    #expect(try await run("exec sleep 60", deadline: .milliseconds(1)).status != 0)
  }

  @Test func `a fault that ends a child process is an error with the signal and standard error`() async throws {
    let crash = await #expect(throws: ChildProcess.Crash.self) { try await run("echo words >&2; kill -ILL $$") }
    #expect(crash?.signal == SIGILL)
    #expect(crash?.error == "words\n")
  }

  @Test func `a program that does not exist fails`() async {
    await #expect(throws: (any Error).self) {
      try await TemporaryDirectory.use { directory in
        try await ChildProcess.run(URL(filePath: "/nowhere/at/all"), [], directory: directory)
      }
    }
  }
}
