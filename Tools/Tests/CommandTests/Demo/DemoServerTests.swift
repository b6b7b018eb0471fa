import Foundation
import HTTPTypes
import ReactorCore
import Synchronization
import Testing

@testable import reactor

@Suite(.timeLimit(.minutes(1))) struct `The demo's server` {
  private func get(_ url: URL, _ path: String, tag: String? = nil) async throws -> (HTTPResponse, Data) {
    var request = HTTPRequest(
      method: .get, scheme: "http", authority: "127.0.0.1:\(url.port ?? 0)", path: path)
    request.headerFields[.ifNoneMatch] = tag
    return try await URLSessionTransport().send(request, body: nil) { _ in }
  }

  @Test func `tells 200 articles, three of them malformed, and counts requests`() async throws {
    let server = try await DemoServer.start()
    let (response, body) = try await get(server.url, "/articles")
    let articles = try #require(JSONSerialization.jsonObject(with: body) as? [Any])
    #expect(response.status == .ok)
    #expect(articles.count == 200)
    #expect(try Parser<[Article]>.json().parse(body).pruned.map(\.index) == NewsAPI.malformed)
    #expect(server.requestCount == 1)
    await server.stop()
  }

  @Test func `answers 304 to its own tag`() async throws {
    let server = try await DemoServer.start()
    let (first, _) = try await get(server.url, "/envelope")
    #expect(first.headerFields[.cacheControl] == "max-age=60")
    let (second, body) = try await get(server.url, "/envelope", tag: first.headerFields[.eTag])
    #expect(second.status == .notModified)
    #expect(body.isEmpty)
    await server.stop()
  }

  @Test func `starts and stops in a task that is cancelled`() async throws {
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      let server = try await DemoServer.start()
      await server.stop()
      return server.requestCount
    }
    #expect(try await task.value == 0)
  }

  @Test func `is gone when it was stopped`() async throws {
    let server = try await DemoServer.start()
    _ = try await get(server.url, "/articles")
    await server.stop()
    await #expect(throws: (any Error).self) { try await get(server.url, "/articles") }
    #expect(server.requestCount == 1)
  }
}

@Suite struct `The demo's temporary directory` {
  @Test func `is removed when the work fails`() async throws {
    var directory: URL?
    await #expect(throws: CancellationError.self) {
      try await TemporaryDirectory.use { url in
        directory = url
        try Data().write(to: url.appending(path: "left-over"))
        throw CancellationError()
      }
    }
    let path = try #require(directory).path(percentEncoded: false)
    #expect(!FileManager.default.fileExists(atPath: path))
  }
}

@Suite(.timeLimit(.minutes(1))) struct `A demo that is not as claimed` {
  @Test func `stops at the step that is not, and says what was seen`() async throws {
    let server = try await DemoServer.start()
    let told = Mutex<[String]>([])
    let error = try await TemporaryDirectory.use { directory in
      // One request more than the demo knows of.
      _ = try await Reactor<[Article]>(baseURL: server.url).fetch("articles")
      let walk = try DemoWalk(
        server: server, directory: directory, report: DemoReport { line in told.withLock { $0.append(line) } })
      return await #expect(throws: DemoReport.NotAsClaimed.self) { try await walk.run() }
    }
    await server.stop()
    #expect(error?.description == "requests at the server: 1 was claimed, 2 was seen")
    #expect(told.withLock { $0.last } == "\n1. The first fetch comes from the network.")
  }

  @Test func `ends with a status that is no success`() {
    let status = DemoCommand.status(of: DemoReport.NotAsClaimed(description: "2 was seen"))
    #expect(status.code == 1)
    #expect(status.text.contains("2 was seen"))
  }
}
