import CommandSupport
import Testing

@testable import reactor

/// A mistake beside a value that is secret.
@Suite(.timeLimit(.minutes(5))) struct `Secrets in messages about arguments` {
  @Test(arguments: [
    ["fleet", "status", "--fleet", "redis://:SECRET@127.0.0.1:6379/bad", "--namespace", "a"],
    ["fleet", "status", "--fleet=redis://:SECRET@127.0.0.1:6379/bad", "--namespace", "a"],
    ["fleet", "status", "--flet=redis://:SECRET@127.0.0.1", "--namespace", "a"],
    ["fleet", "status", "redis://:SECRET@127.0.0.1", "--namespace", "a"],
    ["fleet", "status", "--fleet", "redis://127.0.0.1", "SECRET", "--namespace", "a"],
    ["proxy", "--listen", "127.0.0.1:0", "--upstream", "http://h", "--fleet", "http://:SECRET@h", "--namespace", "a"],
    ["proxy", "--listen", "127.0.0.1:0", "--upstream", "http://user:SECRET@127.0.0.1"],
    ["fetch", "http://user:SECRET@127.0.0.1"],
    ["fetch", "http://127.0.0.1", "--header", "Authorization Bearer SECRET"],
    ["fetch", "http://127.0.0.1", "--header", "Authorization Bearer SECRET: x"],
    ["fetch", "http://127.0.0.1", "--header", "Authorization:", "Bearer", "SECRET"],
    ["fetch", "http://127.0.0.1", "--query", "SECRET"],
    ["fetch", "http://127.0.0.1?token=SECRET", "http://127.0.0.1?token=SECRET"],
    ["outbox", "drain", "--outbox", "a", "--origin", "https://user:SECRET@127.0.0.1"],
    ["outbox", "drain", "--outbox", "a", "--header", "SECRET"],
    ["send", "http://127.0.0.1", "--outbox", "a", "--method", "POST", "--body", "x", "SECRET"],
  ])
  func `secrets in messages about arguments are not repeated`(arguments: [String]) async throws {
    let result = try await Command.run(arguments)
    #expect(result.status == 64 && result.error.contains("Error: "), "\(result)")
    #expect(!result.error.contains("SECRET") && !result.output.contains("SECRET"), "\(result)")
  }

  @Test func `a word that is no secret is still named`() async throws {
    let result = try await Command.run(
      ["proxy", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1", "--largest-body", "much"])
    #expect(result.status == 64 && result.error.contains("'much'"), "\(result)")
    #expect(try await Command.run(["--help"]).status == 0)
  }
}
