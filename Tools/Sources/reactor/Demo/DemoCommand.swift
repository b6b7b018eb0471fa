import ArgumentParser
import Foundation
import ReactorCore

/// `reactor demo`: the whole flow against an embedded server. Each step is checked.
struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Shows the whole flow against a server on this machine, and checks each step.",
    discussion: "It uses free loopback ports and a temporary directory, and leaves nothing behind.")

  @Flag(help: "Afterwards, leave the server running and show the model layer in a page, until Ctrl-C.")
  var stay = false

  func run() async throws {
    let work: @Sendable () async -> Int32 = { [stay] in
      do {
        try await Self.walk(stays: stay)
        return ExitCode.success.rawValue
      } catch {
        let status = Task.isCancelled ? ExitStatus(.cancelled) : Self.status(of: error)
        status.report()
        return status.code
      }
    }
    // With `--stay`, a signal is the regular end, not an interruption.
    throw ExitCode(stay ? await Interrupt.ending(work) : await Interrupt.cancelling(work))
  }

  static func status(of error: any Error) -> ExitStatus {
    ExitStatus(code: ExitStatus.failed, text: "a step of the demo did not do what it claims: \(error)")
  }

  private static func walk(stays: Bool) async throws {
    // The server is on this machine, which a proxy of the environment could not reach.
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] { unsetenv(name) }
    try await TemporaryDirectory.use { directory in
      let server = try await DemoServer.start()
      let walk = try DemoWalk(server: server, directory: directory)
      let result: Result<Void, any Error>
      do {
        if stays { try await Self.stay(walk) } else { try await walk.run() }
        result = .success(())
      } catch {
        result = .failure(error)
      }
      await end(walk, server)
      try result.get()
    }
  }

  /// Runs the walk with an inspector, and then waits until the task is cancelled.
  private static func stay(_ walk: DemoWalk) async throws {
    let inspector = try await DemoInspector.start(walk.layer)
    let result: Result<Void, any Error>
    do {
      try await walk.run()
      // The last step has stopped the server.
      let server = try await DemoServer.start(port: walk.server.url.port ?? 0)
      StandardStream.output.writeLine(
        """

        The news API runs again. What the layer holds, and each step that it took: \(inspector.url)
        Ctrl-C ends both.
        """)
      let (never, end) = AsyncStream.makeStream(of: Never.self)
      for await _ in never {}
      end.finish()
      await Task { await server.stop() }.value
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await Task { await inspector.stop() }.value
    try result.get()
  }

  /// Ends the walk in a task of its own, since the current task may be cancelled.
  private static func end(_ walk: DemoWalk, _ server: DemoServer) async {
    await Task {
      await walk.close()
      await server.stop()
    }.value
  }
}
