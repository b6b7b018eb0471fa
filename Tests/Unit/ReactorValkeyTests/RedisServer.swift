#if Valkey
  import Foundation
  import NIOCore
  import NIOPosix
  import ReactorFleet
  import ReactorValkey
  import Testing

  /// A server of Debian's package `redis-server` on a free loopback port, for one test.
  struct RedisServer: Sendable {
    let address: ValkeyAddress
    private let process: pid_t
    private let directory: URL

    static var isInstalled: Bool { path != nil }
    static let isMissing: Comment = "redis-server is not installed: apt-get install redis-server"

    private static var path: String? {
      ["/usr/bin/redis-server", "/usr/local/bin/redis-server", "/opt/homebrew/bin/redis-server"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Starts a server without contents, and returns once it answers.
    ///
    /// - Parameters:
    ///   - options: Further options of the server.
    ///   - port: The port; `nil` for a free one.
    ///   - isEncrypted: `true` for only TLS on that port; `options` name the certificate.
    static func start(_ options: [String] = [], port: Int? = nil, isEncrypted: Bool = false) async throws -> RedisServer
    {
      // Another process may take the port between its choice and its use.
      for _ in 0..<5 {
        let server = try launch(options, port: port ?? freePort(), isEncrypted: isEncrypted)
        if try await server.answers() { return server }
        await server.stop()
      }
      throw FleetError.unavailable("no server could be started")
    }

    private static func launch(_ options: [String], port: Int, isEncrypted: Bool) throws -> RedisServer {
      guard let path else { throw FleetError.unavailable("\(isMissing)") }
      let directory = FileManager.default.temporaryDirectory.appending(path: "redis-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      let arguments =
        [
          path, "--bind", "127.0.0.1", isEncrypted ? "--tls-port" : "--port", "\(port)", "--save", "", "--appendonly",
          "no", "--dir",
          directory.path(percentEncoded: false), "--logfile", "log",
        ] + (isEncrypted ? ["--port", "0"] : []) + options
      var process = pid_t()
      var words = arguments.map { strdup($0) } + [nil]
      defer { for word in words { free(word) } }
      // Not Foundation's Process, which fails beside many open files.
      let error = posix_spawn(&process, path, nil, nil, &words, environ)
      guard error == 0 else { throw FleetError.unavailable(String(cString: strerror(error))) }
      let address = ValkeyAddress(host: "127.0.0.1", port: port, isEncrypted: isEncrypted)
      return RedisServer(address: address, process: process, directory: directory)
    }

    /// Waits until the server takes connections, for at most ten seconds.
    private func answers() async throws -> Bool {
      let end = ContinuousClock.now + .seconds(10)
      while ContinuousClock.now < end {
        var status: Int32 = 0
        if waitpid(process, &status, WNOHANG) == process { return false }
        let log = try? String(contentsOf: directory.appending(path: "log"), encoding: .utf8)
        // A connection could be to another server, that was faster to take the port.
        if log?.contains("Ready to accept connections") == true { return true }
        try await Task.sleep(for: .milliseconds(10))
      }
      return false
    }

    private static func freePort() throws -> Int {
      let channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .bind(host: "127.0.0.1", port: 0).wait()
      defer { try? channel.close().wait() }
      return channel.localAddress?.port ?? 0
    }

    func send(signal: Int32) { kill(process, signal) }

    /// Ends the process, and waits for its end.
    func stop(signal: Int32 = SIGKILL) async {
      kill(process, SIGCONT)
      kill(process, signal)
      await withCheckedContinuation { continuation in
        Thread.detachNewThread { [process] in
          var status: Int32 = 0
          waitpid(process, &status, 0)
          continuation.resume()
        }
      }
      try? FileManager.default.removeItem(at: directory)
    }
  }
#endif
