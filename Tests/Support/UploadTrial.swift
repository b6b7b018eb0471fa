import Foundation
import HTTPTypes
public import ReactorCore
import ReactorTesting
import Synchronization
import Testing

/// Uploads of files over real HTTP, for each transport.
public struct UploadTrial: Sendable {
  private let transport: any Transport

  public init(_ transport: any Transport) { self.transport = transport }

  /// The files behind the bodies that were sent, seen from within each attempt, as Linux names
  /// them.
  private final class Copies: TransportMiddleware {
    private let files = Mutex<[String]>([])

    func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
      if let body { try files.withLock { $0.append(try Self.file(behind: body)) } }
      return try await next(request, body)
    }

    /// Returns the file that is mapped where a body is; an empty text without one.
    private static func file(behind body: Data) throws -> String {
      #if os(Linux)
        let address = body.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        // Foundation reads only a part of a file whose size is unknown.
        let maps = try #require(fopen("/proc/self/maps", "r"))
        defer { fclose(maps) }
        var buffer = [CChar](repeating: 0, count: 8_192)
        while fgets(&buffer, Int32(buffer.count), maps) != nil {
          let line = String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
          let range = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
          guard range.count == 2, range[0] <= address, address < range[1] else { continue }
          return line.firstIndex(of: "/").map { String(line[$0...]) } ?? ""
        }
        return ""
      #else
        return "/reactor-form- (deleted)"
      #endif
    }

    /// Checks that each of these attempts sent a file that has no name any more.
    func check(attempts: Int) {
      let files = files.withLock { $0 }
      #expect(files.count == attempts)
      #expect(files.allSatisfy { $0.contains("/reactor-form-") && $0.hasSuffix(" (deleted)") }, "\(files)")
    }
  }

  private func layer(_ server: MockServer, _ copies: Copies) -> ModelLayer {
    var configuration = ReactorConfiguration()
    configuration.retry.firstDelay = .zero
    return ModelLayer(
      backend: Backend(baseURL: server.url, transport: transport, middlewares: [copies], reachability: .always),
      configuration: configuration)
  }

  /// Bytes whose period divides no size of a piece.
  private static func bytes(_ count: Int) -> Data {
    let block = Data((0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    var bytes = Data(capacity: count + block.count)
    while bytes.count < count { bytes.append(block) }
    return bytes.prefix(count)
  }

  private static func withFile(_ bytes: Data, _ body: (URL) async throws -> Void) async throws {
    try await withTemporaryDirectory { directory in
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      let file = directory.appending(path: "sunset \"1\".jpg")
      try bytes.write(to: file)
      try await body(file)
    }
  }

  private static func parts(_ request: MockServer.Request) throws -> [MultipartBody.Part] {
    #expect(request["Content-Length"] == "\(request.body.count)" && request["Transfer-Encoding"] == nil)
    return try MultipartBody(request.body, contentType: request["Content-Type"] ?? "").parts
  }

  /// Sends fields, data, a large file and an empty one.
  public func sendsEverything(fileSize: Int) async throws {
    let bytes = Self.bytes(fileSize)
    try await Self.withFile(bytes) { file in
      let empty = file.deletingLastPathComponent().appending(path: "empty")
      try Data().write(to: empty)
      try await MockServer.run { _ in
        .json("[]", status: 201)
      } body: { server in
        let copies = Copies()
        let form: MultipartForm = [
          .field("title", "夕焼け"), .data("meta", Data("{}".utf8), contentType: "application/json"),
          .file("photo", at: file, contentType: "image/jpeg"), .file("more", at: empty, fileName: "naïve.txt"),
        ]
        let reports = Shared<[TransferProgress]>([])
        try await layer(server, copies).send(Resource("photos", form: form)) { progress in
          reports.change { $0.append(progress) }
        }
        let request = try #require(server.requests.first)
        let parts = try Self.parts(request)
        #expect(request.method == "POST" && parts.map(\.name) == ["title", "meta", "photo", "more"])
        #expect(parts.map(\.fileName) == [nil, nil, "sunset %221%22.jpg", "naïve.txt"])
        #expect(
          parts.map(\.contentType) == [nil, "application/json", "image/jpeg", "application/octet-stream"])
        #expect(parts.map(\.bytes.count) == [Array("夕焼け".utf8).count, 2, fileSize, 0])
        #expect(parts.count > 2 && parts[2].bytes == bytes)
        copies.check(attempts: 1)
        check(reports.value, of: request)
      }
    }
  }

  private func check(_ reports: [TransferProgress], of request: MockServer.Request) {
    #expect(reports.first?.stage == .connecting && reports.last?.fractionCompleted == 1)
    #expect(reports.last?.sent == Int64(request.body.count) && reports.last?.toSend == Int64(request.body.count))
    #expect(zip(reports, reports.dropFirst()).allSatisfy { $0.fractionCompleted <= $1.fractionCompleted })
    #expect(zip(reports, reports.dropFirst()).allSatisfy { $0.sent <= $1.sent && $0.stage <= $1.stage })
    #expect((4...110).contains(reports.count), "\(reports.count) reports")
    #expect(reports.contains { $0.stage == .sending && $0.sent > 0 && $0.sent < $0.toSend })
  }

  /// Sends bodies whose sizes are about multiples of the pieces that a client reads.
  public func sendsEverySize() async throws {
    try await MockServer.run { _ in
      .status(204)
    } body: { server in
      let layer = layer(server, Copies())
      try await Self.withFile(Data()) { file in
        try await layer.send(Resource("photos", form: [.file("photo", at: file)]))
        let overhead = server.requests.last?.body.count ?? 0
        for pieces in 1...7 {
          for rest in -1...1 {
            let size = pieces * 16_384 + rest
            try Self.bytes(size - overhead).write(to: file)
            try await layer.send(Resource("photos", form: [.file("photo", at: file)]))
            let request = try #require(server.requests.last)
            #expect(request.body.count == size)
            #expect(try Self.parts(request).map(\.bytes) == [Self.bytes(size - overhead)])
          }
        }
      }
    }
  }

  /// The server refuses an upload by its head, and closes the connection.
  public func endsWithAnEarlyAnswer() async throws {
    try await Self.withFile(Self.bytes(4 << 20)) { file in
      let copies = Copies()
      let server = try MockServer.withoutHTTP { connection in
        _ = connection.head()
        connection.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        connection.drain()
      }
      defer { server.stop() }
      let layer = layer(server, copies)
      let error = await TestSupport.error {
        try await layer.send(Resource("photos", form: [.file("photo", at: file)]))
      }
      #expect(error?.status == 413, "\(String(describing: error))")
      copies.check(attempts: 1)
    }
  }

  /// The server is busy at first, and the file is gone when it is asked again.
  public func sendsTheSameBytesAgain() async throws {
    try await Self.withFile(Self.bytes(300_000)) { file in
      let tick = Tick()
      try await MockServer.run { _ in
        try? FileManager.default.removeItem(at: file)
        return tick.next() == 1 ? .status(503, headers: [.retryAfter: "0"]) : .status(204)
      } body: { server in
        let copies = Copies()
        var upload = Resource("photos", form: [.file("photo", at: file)])
        upload.idempotencyKey = "once"
        try await layer(server, copies).send(upload)
        let requests = server.requests
        #expect(requests.count == 2 && requests[0].body == requests[1].body)
        #expect(requests[0]["Content-Type"] == requests[1]["Content-Type"])
        #expect(try Self.parts(requests[0]).map(\.bytes.count) == [300_000])
        copies.check(attempts: 2)
      }
    }
  }

  /// The file is gone before the upload begins.
  public func refusesAMissingFile() async throws {
    try await MockServer.run { _ in
      .status(204)
    } body: { server in
      let upload = Resource("photos", form: [.file("photo", at: URL(filePath: "/nowhere/a.jpg"))])
      let copies = Copies()
      let error = await TestSupport.error { try await layer(server, copies).send(upload) }
      guard case .network(let cause as MultipartForm.FileError)? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(cause.reason == .missing && server.requests.isEmpty)
      #expect("\(error.map { "\($0)" } ?? "")".contains("the file a.jpg of the part photo does not exist"))
    }
  }

  /// The caller leaves while the server reads.
  public func endsWhenCancelled() async throws {
    try await Self.withFile(Self.bytes(8 << 20)) { file in
      let (arrived, ended, copies) = (Gate(), Gate(), Copies())
      let server = try MockServer.withoutHTTP { connection in
        _ = connection.head()
        arrived.open()
        connection.drain()
      }
      defer { server.stop() }
      let reports = Shared<[TransferProgress]>([])
      let layer = layer(server, copies)
      // The exchange ends after its caller.
      let token = layer.observeEvents { if case .failed = $0.kind { ended.open() } }
      defer { token.cancel() }
      let task = Task {
        await TestSupport.error {
          try await layer.send(Resource("photos", form: [.file("photo", at: file)])) { progress in
            reports.change { $0.append(progress) }
          }
        }
      }
      try await arrived.wait()
      task.cancel()
      #expect(await task.value?.isCancelled == true)
      let count = reports.value.count
      try await ended.wait()
      try await server.waitUntilDisconnected()
      copies.check(attempts: 1)
      #expect(reports.value.count == count)
    }
  }
}
