import ArgumentParser

@main struct ReactorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reactor",
    abstract: "Fetches through Reactor's model layer: memory, then disk, then the network.",
    discussion: """
      Exit codes: 0 success; 64 usage; 65 the bytes could not be parsed; 66 not cached; 69 no connectivity, or the \
      transport failed; 74 persistence, or standard output; 75 timed out; 76 the server answered with an error status; 130 interrupted; 143 terminated.
      """,
    subcommands: [FetchCommand.self, StoreCommand.self, ProxyCommand.self])
}
