import Foundation
import ReactorValkey

/// A server of Debian's package `redis-server` on a loopback port, for as long as this lives.
final class RedisProcess {
  let address: ValkeyAddress
  private let process = Process()
  private let directory: TemporaryDirectory

  /// Returns `nil` if it is not installed.
  init?() throws {
    guard let path = Self.path(of: "redis-server") else { return nil }
    directory = try TemporaryDirectory()
    let port = Int.random(in: 20_000..<30_000)
    address = ValkeyAddress(host: "127.0.0.1", port: port)
    process.executableURL = path
    process.arguments = [
      "--bind", "127.0.0.1", "--port", "\(port)", "--save", "", "--appendonly", "no", "--dir",
      directory.url.path(percentEncoded: false), "--logfile", "log",
    ]
    try process.run()
    let end = ContinuousClock.now + .seconds(10)
    while (try? String(contentsOf: directory.url.appending(path: "log"), encoding: .utf8))?
      .contains("Ready to accept connections") != true
    {
      try expect(process.isRunning && ContinuousClock.now < end, "redis-server starts on port \(port)")
      Thread.sleep(forTimeInterval: 0.01)
    }
  }

  deinit {
    // On Linux, the child has the signal mask of the thread that started it, and a thread of the
    // concurrency pool blocks SIGTERM.
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// Sends so many requests for one body of a kilobyte, from 32 connections.
  func benchmark(_ requests: Int) async throws {
    guard let path = Self.path(of: "redis-benchmark") else {
      throw Unexpected(description: "redis-benchmark is not installed")
    }
    let client = Process()
    client.executableURL = path
    client.arguments = [
      "-h", "127.0.0.1", "-p", "\(address.port)", "-c", "32", "-n", "\(requests)", "-q", "HMGET", "bare:0", "b",
    ]
    client.standardOutput = FileHandle.nullDevice
    try client.run()
    client.waitUntilExit()
    try expect(client.terminationStatus == 0, "redis-benchmark ends well")
  }

  private static func path(of program: String) -> URL? {
    ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"].map { URL(filePath: "\($0)/\(program)") }
      .first { FileManager.default.isExecutableFile(atPath: $0.path(percentEncoded: false)) }
  }
}
