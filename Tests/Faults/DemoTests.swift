#if os(macOS) || os(Linux)
  import Foundation
  import HTTPTypes
  import ReactorCore
  import Synchronization
  import TestSupport
  import Testing

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  @testable import ReactorDemo

  @Suite(.timeLimit(.minutes(5))) struct `The demo` {
    private struct Result {
      var status: Int32
      var output: String
      var error: String
      var leftOver: [String]
    }

    /// Runs `script` with the demo's program as `$1`, an empty directory for its temporary files as
    /// `$TMPDIR`, and another one as the working directory. The status is the script's last line.
    private func run(_ script: String) async throws -> Result {
      try await withTemporaryDirectory { directory in
        let temporary = directory.appending(path: "tmp", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: true)
        let status = try await Program(file: URL(filePath: "/bin/sh")).output(
          "-c", "cd \"$2\" || exit 1; export TMPDIR=\"$2/tmp\"; touch out; \(script); echo $?", "sh",
          try Program("ReactorDemo").file.path(percentEncoded: false), directory.path(percentEncoded: false))
        return Result(
          status: Int32(status.trimmingCharacters(in: .whitespacesAndNewlines)) ?? -1,
          output: try String(contentsOf: directory.appending(path: "out"), encoding: .utf8),
          error: try String(contentsOf: directory.appending(path: "err"), encoding: .utf8),
          leftOver: try FileManager.default.contentsOfDirectory(atPath: temporary.path(percentEncoded: false)))
      }
    }

    @Test func `the demo walks through every step and leaves nothing behind`() async throws {
      let result = try await run(#""$1" > out 2> err"#)
      let lines = result.output.split(separator: "\n")
      #expect(result.status == 0)
      #expect(result.error == "")
      #expect(lines.filter { $0.hasPrefix("   ok, ") }.count == 7)
      #expect(lines.contains { $0.contains("3 of 200 pruned") })
      #expect(result.leftOver == [])
    }

    @Test(arguments: [("INT", Int32(130)), ("TERM", 143)])
    func `the demo leaves nothing behind when it is interrupted`(signal: String, status: Int32) async throws {
      // The first line says that the server runs; the rest is read, so that no closed pipe ends the
      // demo instead.
      let result = try await run(
        """
        mkfifo pipe; "$1" > pipe 2> err & demo=$!
        { read -r line; kill -\(signal) $demo; cat > out; } < pipe; wait $demo
        """)
      #expect(result.status == status)
      #expect(result.error == "demo: interrupted\n")
      #expect(result.leftOver == [])
    }

    @Test func `the demo can run until it is interrupted`() async throws {
      let result = try await run(
        """
        mkfifo pipe; "$1" --stay > pipe 2> err & demo=$!
        while read -r line; do
          echo "$line" >> out
          case "$line" in "Ctrl-C ends both.") kill -INT $demo;; esac
        done < pipe; wait $demo
        """)
      #expect(result.status == 0)
      #expect(result.error == "")
      #expect(result.output.contains("What the layer holds, and each step that it took: http://127.0.0.1:"))
      #expect(result.leftOver == [])
    }

    @Test func `the demo leaves nothing behind when its output is closed`() async throws {
      let result = try await run(#"{ "$1" 2> err; echo $? > out; } | head -n 1 > /dev/null"#)
      #expect(result.output == "0\n")
      #expect(result.leftOver == [])
    }

    @Test func `the demo ends with what to read and run next, all of which is there`() async throws {
      let result = try await run(#""$1" > out 2> err"#)
      let end = try #require(result.output.range(of: "All as claimed, in "))
      let next = result.output[end.upperBound...]
      #expect(next.hasSuffix(DemoWalk.next + "\n"))
      let words = next.split { $0.isWhitespace || $0 == "," }.map(String.init)
      let files = words.filter { $0.hasSuffix(".swift") || $0.hasSuffix(".md") }
      #expect(files.count == 3 && files.allSatisfy(Repository.exists))
      let makefile = try Repository.text(of: "Makefile")
      let targets = zip(words, words.dropFirst()).filter { $0.0 == "make" }.map(\.1)
      #expect(targets == ["demo", "newsroom"] && targets.allSatisfy { makefile.contains("\n\($0): ") })
    }

    @Test func `the demo fails when it cannot begin`() async throws {
      let result = try await run(#"TMPDIR=/dev/null "$1" > out 2> err"#)
      #expect(result.status == 1)
      #expect(result.error.hasPrefix("demo: "))
    }

    @Test func `the demo stops at the step that is not as claimed, and says what was seen`() async throws {
      let server = try DemoServer()
      let told = Mutex<[String]>([])
      let error = try await withTemporaryDirectory { directory in
        // One request more than the demo knows of.
        _ = try await Reactor<[Article]>(baseURL: server.url).fetch("articles")
        let walk = try DemoWalk(
          server: server, directory: directory, report: DemoReport { line in told.withLock { $0.append(line) } })
        return await #expect(throws: DemoReport.NotAsClaimed.self) { try await walk.run() }
      }
      server.stop()
      #expect(error?.description == "requests at the server: expected 1, found 2")
      #expect(told.withLock { $0.last } == "\n1. The first fetch comes from the network.")
    }
  }

  @Suite(.timeLimit(.minutes(5))) struct `The demo's servers` {
    private func get(_ url: URL, _ path: String, tag: String? = nil) async throws -> (HTTPResponse, Data) {
      var request = HTTPRequest(
        method: .get, scheme: "http", authority: "127.0.0.1:\(url.port ?? 0)", path: path)
      request.headerFields[.ifNoneMatch] = tag
      return try await URLSessionTransport().send(request, body: nil) { _ in }
    }

    @Test func `answer with 200 articles, three of them malformed, and count requests`() async throws {
      let server = try DemoServer()
      let (response, body) = try await get(server.url, "/articles")
      let articles = try #require(JSONSerialization.jsonObject(with: body) as? [Any])
      #expect(response.status == .ok)
      #expect(articles.count == 200)
      #expect(try Parser<[Article]>.json().parse(body).pruned.map(\.index) == NewsAPI.malformed)
      #expect(server.requestCount == 1)
      server.stop()
    }

    @Test func `answer 304 to their own tag`() async throws {
      let server = try DemoServer()
      let (first, _) = try await get(server.url, "/envelope")
      #expect(first.headerFields[.cacheControl] == "max-age=60")
      let (second, body) = try await get(server.url, "/envelope", tag: first.headerFields[.eTag])
      #expect(second.status == .notModified)
      #expect(body.isEmpty)
      server.stop()
    }

    @Test func `the demo's servers are gone when they were stopped, and may start again on their port`() async throws {
      let server = try DemoServer()
      _ = try await get(server.url, "/articles")
      server.stop()
      await #expect(throws: (any Error).self) { try await get(server.url, "/articles") }
      #expect(server.requestCount == 1)
      let next = try DemoServer(port: server.port)
      #expect(try await get(server.url, "/articles").0.status == .ok)
      next.stop()
    }

    @Test func `the demo's servers show the layer in a page, whose live feed ends with the server`() async throws {
      let server = try DemoServer()
      let layer = ModelLayer(baseURL: server.url)
      let inspector = try DemoInspector(layer)
      _ = try await layer.reactor([Article].self).fetch("articles")
      let (response, page) = try await get(inspector.url, "/inspector")
      #expect(response.status == .ok)
      #expect(String(decoding: page, as: UTF8.self).contains("<title>"))
      var pieces = BodyPieces.of(inspector.url.appending(path: "live")).makeAsyncIterator()
      var feed = Data()
      while !feed.contains("data: "), let piece = await pieces.next() { feed += piece }
      #expect(feed.contains("/articles"))
      // On a separate thread: it waits for the feed, whose end needs a thread of the pool.
      let hasStopped = await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: inspector.stop()) }
      }
      #expect(hasStopped)
      while await pieces.next() != nil {}
      server.stop()
    }
  }

  /// The pieces of a response's body, as they arrive.
  private final class BodyPieces: NSObject, URLSessionDataDelegate {
    private let pieces: AsyncStream<Data>.Continuation

    private init(_ pieces: AsyncStream<Data>.Continuation) { self.pieces = pieces }

    static func of(_ url: URL) -> AsyncStream<Data> {
      let (stream, pieces) = AsyncStream.makeStream(of: Data.self)
      let session = URLSession(configuration: .ephemeral, delegate: BodyPieces(pieces), delegateQueue: nil)
      session.dataTask(with: url).resume()
      session.finishTasksAndInvalidate()
      return stream
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) { pieces.yield(data) }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      pieces.finish()
    }
  }

  extension Data {
    fileprivate func contains(_ text: String) -> Bool { range(of: Data(text.utf8)) != nil }
  }
#endif
