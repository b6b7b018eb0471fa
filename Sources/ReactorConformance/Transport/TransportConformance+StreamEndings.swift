import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting

/// The ends of streams.
extension TransportConformance.Check {
  static let streamEndings = [
    Self("a stream that ends early throws, after its bytes") { subject in
      for (what, response) in [
        ("fewer bytes than announced", .short(announcing: 10, body: Data("abc".utf8))),
        ("no last chunk", .chunked([Data("abc".utf8)], isWhole: false)),
        ("a chunk cut in half", .raw(head([("Transfer-Encoding", "chunked")]) + Data("3\r\nabc\r\n5\r\nde".utf8))),
      ] as [(String, MockServer.Response)] {
        try await subject.streaming { _ in
          response
        } body: { server, transport in
          var (bytes, iterator) = (
            Data(), try await transport.stream(server.request(), body: nil).1.makeAsyncIterator()
          )
          await subject.expectFailure(of: what) {
            while let piece = try await iterator.next() { bytes.append(contentsOf: piece) }
          }
          subject.expect(bytes.starts(with: Data("abc".utf8)), "\(what): \(bytes) arrived before the error")
          let rest = try await iterator.next()
          subject.expect(rest == nil, "\(what): the stream has another piece after its error")
          subject.expect(server.requests.count == 1, "\(what): the server got \(server.requests.count) requests")
        }
      }
    },
    Self("a stream that ends as announced does not throw") { subject in
      for (what, response) in [
        ("a length", .text("abc")), ("chunks", .chunked([Data("a".utf8), Data("bc".utf8)])),
        ("the connection", .raw(head([]) + Data("abc".utf8))),
      ] as [(String, MockServer.Response)] {
        try await subject.streaming { _ in
          response
        } body: { server, transport in
          let bytes = try await transport.stream(server.request(), body: nil).1.all()
          subject.expect(bytes == Data("abc".utf8), "delimited by \(what), the body is \(bytes)")
        }
      }
    },
    Self("a request whose stream is lost before the head is not sent again") { subject in
      for method in [HTTPRequest.Method.get, .post] {
        try await subject.streaming {
          $0.target == "/good" ? .text("good") : .close
        } body: { server, transport in
          // The connection may be kept.
          _ = try await transport.stream(server.request("/good"), body: nil).1.all()
          let body = method == .post ? Data("body".utf8) : nil
          await subject.expectFailure(of: "\(method)") {
            try await transport.stream(server.request("/lost", method: method), body: body)
          }
          let count = server.requests.count { $0.target == "/lost" }
          subject.expect(count == 1, "the server got \(count) requests with \(method)")
        }
      }
    },
    Self("a stream that is cancelled before its head ends at once, and then its connection") { subject in
      let (arrived, hungUp) = (Latch(), Latch())
      try await subject.streaming { request in
        if request.target == "/good" { return .text("good") }
        arrived.open()
        return .held(until: Latch(), hungUp: hungUp)
      } body: { server, transport in
        let task = Task { try await transport.stream(server.request(), body: nil) }
        try await subject.wait(for: arrived, "the request")
        task.cancel()
        await subject.expectCancellation(of: "waiting for the head") { try await task.value }
        try await subject.expectHangUp(hungUp, after: "a cancellation")
        await subject.expectGood(transport, server, after: "a cancellation")
      }
    },
    Self("a reader that is cancelled ends the stream and its connection") { subject in
      for start in bodies {
        try await expectHangUp(subject, start, after: "a cancellation of the reader") { body, started in
          let task = Task {
            var iterator = body.makeAsyncIterator()
            _ = try await iterator.read(3)
            started.open()
            _ = try await iterator.next()
          }
          try await subject.wait(for: started, "the start of the body")
          task.cancel()
          await subject.expectCancellation(of: "the reader") { try await task.value }
        }
      }
    },
    Self("a stream that is released ends its connection, read or not") { subject in
      for start in bodies {
        try await expectHangUp(subject, start, after: "a release") { _, _ in }
        try await expectHangUp(subject, start, after: "a break") { body, _ in
          for try await _ in body { break }
        }
      }
    },
    Self("a stream has one reader") { subject in
      try await subject.streaming { _ in
        .text("abc")
      } body: { server, transport in
        let (_, stream) = try await transport.stream(server.request(), body: nil)
        var first = stream.makeAsyncIterator()
        await subject.failure(of: "a second reader") { try await stream.all() }
        let bytes = try await first.read(3)
        subject.expect(bytes == Data("abc".utf8), "after a second reader, the first got \(bytes)")
      }
    },
    Self("the deadline of a stream ends with its head", unless: .injectedClock) { subject in
      let (clock, body, arrived, hungUp) = (TestClock(), ScriptedBody(), Latch(), Latch())
      try await subject.streaming(
        { request in
          if request.target == "/body" { return .streaming(body) }
          arrived.open()
          return .held(until: Latch(), hungUp: hungUp)
        }, settings: .init(timeout: .seconds(10), clock: clock)
      ) { server, transport in
        var iterator = try await transport.stream(server.request("/body"), body: nil).1.makeAsyncIterator()
        subject.expect(clock.sleeperCount == 0, "\(clock.sleeperCount) tasks still wait for the clock")
        clock.advance(by: .seconds(86_400))
        body.send("late")
        let bytes = try await iterator.read(4)
        subject.expect(bytes == Data("late".utf8), "after a day, \(bytes) arrived")
        let task = Task { try await transport.stream(server.request(), body: nil) }
        try await subject.wait(for: arrived, "the request")
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(10))
        let error = await subject.failure(of: "waiting for the head") { try await task.value }
        if case ReactorError.timedOut? = error {
        } else {
          subject.expect(false, "expected ReactorError.timedOut, got \(error.map { "\($0)" } ?? "no error")")
        }
        try await subject.expectHangUp(hungUp, after: "the deadline")
      }
    },
    Self("200 streams that are opened and dropped leave no connection") { subject in
      let body = ScriptedBody()
      try await subject.streaming {
        $0.target == "/good" ? .text("good") : .streaming(body)
      } body: { server, transport in
        body.send("x")
        for index in 0..<200 {
          let (_, stream) = try await transport.stream(server.request(), body: nil)
          // Some are dropped unread, and some within the body.
          if index.isMultiple(of: 2) { for try await _ in stream { break } }
        }
        try await subject.expectDisconnection(of: server, after: "200 streams")
        let open = Sockets.count(to: server.port)
        subject.expect(open == 0, "\(open) sockets are still open")
        await subject.expectGood(transport, server, after: "200 streams")
      }
    },
  ]

  private static func head(_ fields: [(String, String)]) -> Data { MockServer.Response.head(200, fields) }

  /// Responses that begin with three bytes: with a length, until the connection ends, and in
  /// chunks.
  private static let bodies = [
    head([("Content-Length", "100")]) + Data("abc".utf8), head([]) + Data("abc".utf8),
    head([("Transfer-Encoding", "chunked")]) + Data("3\r\nabc\r\n".utf8),
  ]

  /// Expects the end of the connection after `read` has got the body and returned.
  private static func expectHangUp(
    _ subject: TransportConformance.Subject, _ start: Data, after what: String,
    _ read: (ResponseBody, Latch) async throws -> Void
  ) async throws {
    let (started, hungUp) = (Latch(), Latch())
    try await subject.streaming { request in
      request.target == "/good" ? .text("good") : .held(until: Latch(), hungUp: hungUp, sendingFirst: start)
    } body: { server, transport in
      try await read(transport.stream(server.request(), body: nil).1, started)
      try await subject.expectHangUp(hungUp, after: what)
      await subject.expectGood(transport, server, after: what)
    }
  }
}
