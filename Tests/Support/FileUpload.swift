#if os(Linux)
  import Foundation
  import HTTPTypes
  public import ReactorCore
  import ReactorConformance
  import ReactorTesting

  /// Sends a file of 64 MB, and sees what that takes of the process's own memory. For a process
  /// that does nothing else.
  public enum FileUpload {
    public static let size = 64 << 20

    /// Returns the growth of anonymous memory in bytes while the file was sent.
    public static func growth(sendingBy transport: any Transport) async throws -> Int {
      let file = FileManager.default.temporaryDirectory.appending(path: "upload-\(UUID().uuidString)")
      try makeFile(file)
      defer { try? FileManager.default.removeItem(at: file) }
      let resource = try Resource("upload", method: .post).body(contentsOf: file)
      // It keeps nothing of what it reads.
      let server = try MockServer.withoutHTTP { connection in
        connection.drain(atLeast: size)
        connection.send("HTTP/1.1 204 No Content\r\n\r\n")
        connection.drain()
      }
      defer { server.stop() }
      let (before, most) = (anonymousMemory(), Shared(0))
      _ = try await transport.send(server.request("/upload", method: .post), body: resource.body) { _ in
        let now = anonymousMemory()
        most.change { $0 = max($0, now) }
      }
      return most.value - before
    }

    /// Returns the growth of anonymous memory in bytes while a form with the file was sent.
    public static func growth(ofFormSentBy transport: any Transport) async throws -> Int {
      let file = FileManager.default.temporaryDirectory.appending(path: "upload-\(UUID().uuidString)")
      try makeFile(file)
      defer { try? FileManager.default.removeItem(at: file) }
      let server = try MockServer.withoutHTTP { connection in
        connection.drain(atLeast: size)
        connection.send("HTTP/1.1 204 No Content\r\n\r\n")
        connection.drain()
      }
      defer { server.stop() }
      let layer = ModelLayer(baseURL: server.url, transport: transport, reachability: .always)
      let (before, most) = (anonymousMemory(), Shared(0))
      try await layer.send(Resource("upload", form: [.file("file", at: file)])) { _ in
        let now = anonymousMemory()
        most.change { $0 = max($0, now) }
      }
      return most.value - before
    }

    /// Written in pieces, so that it never was in memory as a whole.
    private static func makeFile(_ file: URL) throws {
      try Data().write(to: file)
      let handle = try FileHandle(forWritingTo: file)
      for index in 0..<(size >> 20) { try handle.write(contentsOf: Data(repeating: UInt8(index), count: 1 << 20)) }
      try handle.close()
    }

    /// `RssAnon` of proc(5), in bytes.
    private static func anonymousMemory() -> Int {
      let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
      let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
      return (line?.split(separator: " ").dropLast().last.flatMap { Int($0) } ?? 0) * 1_024
    }
  }
#endif
