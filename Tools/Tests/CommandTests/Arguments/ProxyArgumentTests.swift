import ArgumentParser
import Testing

@testable import reactor

@Suite struct `The arguments of reactor proxy` {
  private static let needed = ["--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1"]

  @Test func `let in 1,024 clients where they do not say how many`() throws {
    #expect(try ProxyCommand.parse(Self.needed).maxConnections == 1024)
    #expect(try ProxyCommand.parse(Self.needed + ["--max-connections", "1"]).maxConnections == 1)
  }

  @Test(arguments: ["0", "many", "99999999999999999999"])
  func `are refused where they let in nobody, or are no number`(count: String) {
    #expect(throws: (any Error).self) { try ProxyCommand.parse(Self.needed + ["--max-connections", count]) }
  }
}
