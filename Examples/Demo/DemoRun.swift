import Foundation
import ReactorCore

/// A run of the demo, with a server and a its own temporary directory. It leaves nothing behind.
enum DemoRun {
  /// Walks through all steps.
  ///
  /// - Parameter stays: Pass `true` to show the layer in a page afterwards, until the task is
  ///   cancelled.
  /// - Throws: The error of the first step that does not behave as claimed.
  static func walk(stays: Bool = false) async throws {
    // The server is on this machine, which a proxy of the environment could not reach.
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] { unsetenv(name) }
    let directory = FileManager.default.temporaryDirectory.appending(
      path: "reactor-demo-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(
      at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(at: directory) }
    let server = try DemoServer()
    defer { server.stop() }
    let walk = try DemoWalk(server: server, directory: directory)
    let result = await Result { try await stays ? stay(walk) : walk.run() }
    // A separate task, since the current one may be cancelled.
    await Task { await walk.close() }.value
    try result.get()
  }

  /// Runs the walk with an inspector, and then waits until the task is cancelled.
  private static func stay(_ walk: DemoWalk) async throws {
    let inspector = try DemoInspector(walk.layer)
    defer { inspector.stop() }
    try await walk.run()
    // The last step has stopped the server.
    let server = try DemoServer(port: walk.server.port)
    defer { server.stop() }
    walk.report.write(
      """

      The news API runs again. What the layer holds, and each step that it took: \(inspector.url)
      Ctrl-C ends both.
      """)
    let (never, end) = AsyncStream.makeStream(of: Never.self)
    for await _ in never {}
    end.finish()
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
