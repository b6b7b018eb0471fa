import ArgumentParser
import HTTPTypes
import Testing

@testable import reactor

@Suite struct `The arguments of reactor proxy` {
  private static let needed = ["--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1"]

  @Test func `the arguments of reactor proxy let in 1,024 clients where they do not say how many`() throws {
    #expect(try ProxyCommand.parse(Self.needed).maxConnections == 1024)
    #expect(try ProxyCommand.parse(Self.needed + ["--max-connections", "1"]).maxConnections == 1)
  }

  @Test(arguments: ["0", "many", "99999999999999999999"])
  func `invalid limits of clients are refused`(count: String) {
    #expect(throws: (any Error).self) { try ProxyCommand.parse(Self.needed + ["--max-connections", count]) }
  }

  @Test func `the arguments of reactor proxy hold 256 MiB in memory where they do not say how much`() throws {
    #expect(try ProxyCommand.parse(Self.needed).memoryLimit == nil)
    #expect(try ProxyCommand.parse(Self.needed + ["--memory-limit", "64"]).memoryLimit == 64)
  }

  @Test func `the arguments of reactor proxy name the rules, the targets and the cache`() throws {
    let command = try ProxyCommand.parse(
      Self.needed + [
        "--rules", "shared", "--targets", "Edge-Cache-Control, CDN-Cache-Control", "--cache-status", "edge 1",
      ])
    #expect(command.rules == .shared)
    #expect(command.targets?.names.map(\.rawName) == ["Edge-Cache-Control", "CDN-Cache-Control"])
    #expect(command.cacheStatus?.name == "edge 1")
    let plain = try ProxyCommand.parse(Self.needed)
    #expect(plain.rules == .private && plain.targets == nil && plain.cacheStatus == nil && !plain.noVarySearch)
    #expect(try ProxyCommand.parse(Self.needed + ["--rules", "shared", "--no-vary-search"]).noVarySearch)
  }

  @Test(arguments: [
    (["--rules", "public"], "--rules"), (["--targets", "CDN-Cache-Control"], "--targets"),
    (["--rules", "shared", "--targets", ""], "--targets"), (["--rules", "shared", "--targets", "a,,b"], "--targets"),
    (["--rules", "shared", "--targets", "a b"], "--targets"),
    (["--rules", "shared", "--targets", "Expires"], "--targets"),
    (["--no-vary-search"], "--no-vary-search"),
    (
      ["--rules", "shared", "--no-vary-search", "--fleet", "redis://127.0.0.1", "--namespace", "a"], "--no-vary-search"
    ),
    (["--rules", "shared", "--keep-cookies"], "--keep-cookies"), (["--cache-status", ""], "--cache-status"),
    (["--cache-status", "Zürich"], "--cache-status"), (["--memory-limit", "0"], "--memory-limit"),
    (["--memory-limit", "1048577"], "--memory-limit"), (["--memory-limit", "9223372036854775807"], "--memory-limit"),
    (["--memory-limit", "64", "--store", "/nowhere"], "--memory-limit"),
  ])
  func `the arguments of reactor proxy that cannot be meant are refused by name`(arguments: [String], name: String) {
    let error = #expect(throws: (any Error).self) { try ProxyCommand.parse(Self.needed + arguments) }
    #expect(error.map { ProxyCommand.message(for: $0) }?.contains(name) == true)
    #expect(error.map { ProxyCommand.exitCode(for: $0).rawValue } == 64)
  }

  @Test func `the arguments of reactor proxy name the path of changes, if there is one`() throws {
    #expect(try ProxyCommand.parse(Self.needed).live == nil)
    #expect(try ProxyCommand.parse(Self.needed + ["--live", "/v1/_events"]).live == "/v1/_events")
  }

  @Test(arguments: ["", "/", "events", "//host", "/a//b", "/a/", "/../a", "/a?b", "/a#b", "/%61", "/é", "/a b"])
  func `a path of changes that has another spelling is refused`(_ path: String) {
    #expect(throws: (any Error).self) { try ProxyCommand.parse(Self.needed + ["--live", path]) }
  }

  @Test func `a fleet tells no changes`() {
    let fleet = ["--fleet", "redis://127.0.0.1:6379", "--namespace", "shop"]
    #expect(throws: (any Error).self) { try ProxyCommand.parse(Self.needed + fleet + ["--live", "/events"]) }
    #expect(throws: Never.self) { try ProxyCommand.parse(Self.needed + fleet) }
  }
}
