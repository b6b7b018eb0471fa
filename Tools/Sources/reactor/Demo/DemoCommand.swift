import ArgumentParser
import Foundation
import ReactorCore

/// `reactor demo`: the whole flow against an embedded server, each step checked.
struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Shows the whole flow against a server on this machine, and checks each step.",
    discussion: "It uses a free loopback port and a temporary directory, and leaves nothing behind.")

  func run() async throws {
    throw ExitCode(
      await Interrupt.cancelling {
        do {
          try await Self.walk()
          return ExitCode.success.rawValue
        } catch {
          let status = ExitStatus(code: ExitStatus.failed, text: "the demo is not as claimed: \(error)")
          status.report()
          return status.code
        }
      })
  }

  private static func walk() async throws {
    try await TemporaryDirectory.use { directory in
      let server = try await DemoServer.start()
      do {
        let walk = DemoWalk(server: server, directory: directory)
        try await walk.run()
      } catch {
        await server.stop()
        throw error
      }
      await server.stop()
    }
  }
}
