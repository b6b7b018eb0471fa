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
          let status = Task.isCancelled ? ExitStatus(.cancelled) : Self.status(of: error)
          status.report()
          return status.code
        }
      })
  }

  static func status(of error: any Error) -> ExitStatus {
    ExitStatus(code: ExitStatus.failed, text: "the demo is not as claimed: \(error)")
  }

  private static func walk() async throws {
    // The server is on this machine; a proxy in the environment could not reach it.
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] { unsetenv(name) }
    try await TemporaryDirectory.use { directory in
      let server = try await DemoServer.start()
      let walk = try DemoWalk(server: server, directory: directory)
      do {
        try await walk.run()
      } catch {
        await end(walk, server)
        throw error
      }
      await end(walk, server)
    }
  }

  /// In a task of its own, since the one that walks may be cancelled.
  private static func end(_ walk: DemoWalk, _ server: DemoServer) async {
    await Task {
      await walk.close()
      await server.stop()
    }.value
  }
}
