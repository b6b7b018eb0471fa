import ArgumentParser

@main struct ReactorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reactor",
    abstract: "Fetches through Reactor's model layer: memory, then disk, then the network.",
    discussion: ExitCodes.help([
      0: "success",
      64: "the arguments are invalid",
      65:
        "the response cannot be read, or a part of a store or an outbox is\n        damaged, or the state of an entry forbids the command",
      66: "not in the store",
      69: "no connectivity, or the network failed, or proxy cannot listen",
      74: "a store, an outbox, standard input or standard output failed",
      75: "timed out, or entries of an outbox are left",
      76: "the server answered with an error status, or the outcome of a\n        request is unknown",
      77: "a server of a fleet refuses the credentials, or does not suit one",
      130: "interrupted",
      143: "terminated",
    ]),
    version: ReactorVersion.text,
    subcommands: [
      FetchCommand.self, SendCommand.self, OutboxCommand.self, StoreCommand.self, ProxyCommand.self,
      FleetCommand.self,
    ])
}
