import ArgumentParser
import Foundation
import HTTPCachingProxy
import ReactorFleet
import ReactorValkey

/// `reactor fleet`: shows proxies that share a store, and removes their shared responses.
struct FleetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fleet",
    abstract: "Shows the proxies that share a Valkey or Redis server, and removes what they share.",
    discussion: "The help of each subcommand has its exit codes.",
    subcommands: [FleetStatusCommand.self, FleetWatchCommand.self, FleetPurgeCommand.self, FleetVerifyCommand.self])
}

extension ExitCodes {
  /// The exit codes of a command that only talks to the server.
  fileprivate static let ofFleet = help([
    0: "done",
    64: "the arguments are invalid",
    69: "the server cannot be reached, or does not do what a fleet needs",
    74: "standard output failed",
    77: "the server refuses the credentials, or does not suit a fleet",
    130: "interrupted",
    143: "terminated",
  ])
}

/// The options of every subcommand.
struct FleetOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The server, as in redis://cache:6379. A password that it lacks is taken from REACTOR_FLEET_PASSWORD.",
      valueName: "url"),
    transform: FleetArgument.parse)
  var fleet: FleetArgument

  @Option(help: ArgumentHelp("The name of the proxies that share responses.", valueName: "name"))
  var namespace: String

  @OptionGroup var tls: FleetTLSOptions

  func validate() throws { _ = try tls.store(fleet, namespace) }

  /// Runs `body` with the store, and exits with 0 or the code of its error.
  func run(_ body: @escaping @Sendable (ValkeyStore) async throws -> Void) async throws -> Never {
    let store = try tls.store(fleet, namespace)
    throw ExitCode(
      await Interrupt.cancelling {
        do {
          try await body(store)
          return ExitCode.success.rawValue
        } catch let code as ExitCode {
          return code.rawValue
        } catch {
          let status = (error as? FleetError).map(ExitStatus.init) ?? .unwritableOutput
          status.report()
          return status.code
        }
      })
  }
}

extension ExitStatus {
  /// `EX_NOPERM`: the server refuses the credentials, or does not suit a fleet.
  static let refused: Int32 = 77

  init(_ error: FleetError) {
    if case .misconfigured = error {
      self.init(code: Self.refused, text: FleetLine.reason(error))
    } else {
      self.init(code: Self.unavailable, text: FleetLine.reason(error))
    }
  }
}

struct FleetStatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Prints how many proxies follow each other.",
    discussion: """
      It exits with 69, and the reason, if the server accepts no writes: proxies then contact the upstream themselves.

      \(ExitCodes.ofFleet)
      """)

  @OptionGroup var options: FleetOptions

  @Flag(help: "Print an object: namespace, nodes, store.")
  var json = false

  private struct Status: Encodable {
    var namespace: String
    var nodes: Int
    /// The identity of the server, which changes with a failover.
    var store: String
  }

  func run() async throws {
    let (namespace, json) = (options.namespace, json)
    try await options.run { store in
      let pulse = try await store.beat("status", nonce: 0, scopes: [])
      let status = Status(namespace: namespace, nodes: try await store.nodes(), store: pulse.store)
      let text = "namespace \(status.namespace)\nnodes     \(status.nodes)\nstore     \(status.store)\n"
      try StandardStream.output.write(json ? JSONOutput.bytes(status) : Data(text.utf8))
    }
  }
}

struct FleetWatchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "Prints the messages of the proxies, a line each, until it is interrupted.",
    discussion: """
      URLs are digests: the server does not know them. It exits with 69 if the connection is lost.

      \(ExitCodes.ofFleet)
      """)

  @OptionGroup var options: FleetOptions

  func run() async throws {
    try await options.run { store in
      try await store.follow("watch") { message in
        StandardStream.output.writeLine(Self.line(message))
      }
    }
  }

  static func line(_ message: FleetMessage) -> String {
    switch message {
    case .following: "following"
    case .stored(let record, let version): "stored \(record.url.text) \(record.name) \(version)"
    case .released(let record): "released \(record.url.text) \(record.name)"
    case .fenced(let url, let version): "stale \(url.text) \(version)"
    case .renewed(let scope, _): "removed \(scope)"
    case .beat: "beat"
    }
  }
}

struct FleetPurgeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "purge", abstract: "Removes the responses of a URL from every proxy, or everything.",
    discussion: ExitCodes.ofFleet)

  @OptionGroup var options: FleetOptions

  @Option(
    help: ArgumentHelp(
      "The URL at the upstream: the proxies' --upstream, and the path and query of the requests.",
      valueName: "url"))
  var url: String?

  @Flag(help: "Remove everything that the proxies share.")
  var all = false

  func validate() throws {
    guard (url == nil) == all else { throw ValidationError("give --url, or --all for everything") }
    if let url { _ = try URLArgument.parse(url) }
  }

  func run() async throws {
    let url = url
    try await options.run { store in
      var configuration = FleetConfiguration()
      configuration.budget = .seconds(5)
      let fleet = Fleet(store, configuration: configuration)
      if let url {
        try await fleet.remove(RecordKey(method: .get, url: url).url)
      } else {
        try await fleet.removeAll()
      }
    }
  }
}

struct FleetVerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Reads every response that the proxies share, and checks it and the server.",
    discussion: """
      A line on standard error names each unreadable response; the proxies request it again by themselves. A line names each property of the server that keeps proxies from sharing well: a replica, an old version, \
      a missing command, or how it makes room when it is full. A user of the server with few \
      permissions needs +scan and +hkeys for it.

      \(ExitCodes.help([
        0: "every response can be read, and the server suits a fleet",
        64: "the arguments are invalid",
        65: "a response cannot be read",
        69: "the server cannot be reached, or does not do what a fleet needs",
        74: "standard output failed",
        77: "the server refuses the credentials, or does not suit a fleet",
        130: "interrupted",
        143: "terminated",
      ]))
      """)

  @OptionGroup var options: FleetOptions

  @Flag(help: "Print an object: records, bad, problems.")
  var json = false

  private struct Result: Encodable {
    var records: Int
    var bad: Int
    var problems: [String]
  }

  func run() async throws {
    let json = json
    try await options.run { store in
      let found = try await store.verify()
      let result = Result(records: found.records, bad: found.bad.count, problems: found.problems)
      let text = "records \(result.records)\nbad     \(result.bad)\n"
      try StandardStream.output.write(json ? JSONOutput.bytes(result) : Data(text.utf8))
      for line in found.problems + found.bad { StandardStream.error.writeLine(line) }
      if !found.problems.isEmpty { throw ExitCode(ExitStatus.refused) }
      if !found.bad.isEmpty { throw ExitCode(ExitStatus.unparsable) }
    }
  }
}
