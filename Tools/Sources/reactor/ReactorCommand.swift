import ArgumentParser

@main struct ReactorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reactor",
    abstract: "Fetches through Reactor's model layer: memory, then disk, then the network.",
    discussion: """
      Exit codes: 0 success; 64 usage; 65 the bytes could not be parsed, or an entry's state forbids the command; 66 not \
      cached; 69 no connectivity, or the transport failed; 74 persistence, or standard output; 75 timed out, or entries of an \
      outbox are left; 76 the server answered with an error status, or the outcome of a request is unknown; 77 a server of a fleet refuses the \
      credentials, or does not suit a fleet; 130 interrupted; \
      143 terminated.
      """,
    subcommands: [
      FetchCommand.self, SendCommand.self, OutboxCommand.self, StoreCommand.self, ProxyCommand.self,
      FleetCommand.self,
    ])
}
