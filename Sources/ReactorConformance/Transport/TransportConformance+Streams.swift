import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting

/// Responses that are read while they arrive. The checks run for a `StreamingTransport`.
extension TransportConformance.Check {
  static let streams = [
    Self("a stream begins with the head, and each piece arrives before the next is sent") { subject in
      let body = ScriptedBody()
      try await subject.streaming { _ in
        .streaming(body, headers: [.contentType: "text/event-stream"])
      } body: { server, transport in
        let (response, stream) = try await transport.stream(server.request(), body: nil)
        subject.expect(response.status == .ok, "the status is \(response.status)")
        subject.expect(response.headerFields[.contentType] == "text/event-stream", "\(response.headerFields)")
        var iterator = stream.makeAsyncIterator()
        // The server sends each piece only after the one before was read.
        for piece in ["a", "data: b\n\n", String(repeating: "c", count: 3_000)] {
          body.send(piece)
          let bytes = try await iterator.read(piece.utf8.count)
          subject.expect(bytes == Data(piece.utf8), "a piece of \(piece.utf8.count) bytes arrived as \(bytes)")
        }
        body.finish()
        let rest = try await iterator.next()
        subject.expect(rest == nil, "after its end, the stream has another piece")
      }
    },
    Self("a stream asks for no coding, unless the request does, and sends the request as it is") { subject in
      try await subject.streaming { request in
        .status(200, body: request.body)
      } body: { server, transport in
        let fields: HTTPFields = [.accept: "text/event-stream", .authorization: "Bearer t"]
        let request = server.request("/a%2Fb?x=%2B", method: .post, fields: fields)
        let (_, stream) = try await transport.stream(request, body: Data("prompt".utf8))
        let bytes = try await stream.all()
        subject.expect(bytes == Data("prompt".utf8), "the response has the body \(bytes)")
        let received = server.requests.first
        subject.expect(
          received?.requestLine == "POST /a%2Fb?x=%2B HTTP/1.1", "the server got \(received?.requestLine ?? "")")
        for (name, value) in [
          ("Accept", "text/event-stream"), ("Authorization", "Bearer t"), ("Accept-Encoding", "identity"),
        ] {
          let values = received?.headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
          subject.expect(values == [value], "the server got \(name) as \(values ?? [])")
        }
      }
    },
    Self("a stream has every status, with its body") { subject in
      for (code, fields) in [
        (200, []), (401, [("WWW-Authenticate", "Bearer")]), (401, []), (403, []), (404, []),
        (429, [("Retry-After", "1")]),
        (500, []), (503, []), (204, []),
      ] as [(Int, [(String, String)])] {
        let words = Data(code == 204 ? "".utf8 : "words".utf8)
        try await subject.streaming { _ in
          .status(code, fields: fields, body: words)
        } body: { server, transport in
          let (response, stream) = try await transport.stream(server.request(), body: nil)
          subject.expect(response.status.code == code, "\(code) arrived as \(response.status)")
          let bytes = try await stream.all()
          subject.expect(bytes == words, "the body of \(code) is \(bytes)")
          subject.expect(server.requests.count == 1, "the server got \(server.requests.count) requests")
        }
      }
    },
    Self("a stream follows redirects as send does", unless: .redirects) { subject in
      try await subject.streaming { request in
        request.target == "/" ? .redirect(307, to: "/there") : .chunked([request.body])
      } body: { server, transport in
        let request = server.request(method: .post)
        let (response, stream) = try await transport.stream(request, body: Data("body".utf8))
        let bytes = try await stream.all()
        subject.expect(response.status == .ok && bytes == Data("body".utf8), "\(response.status), \(bytes)")
        subject.expect(server.requests.map(\.target) == ["/", "/there"], "\(server.requests.map(\.target))")
      }
      try await subject.streaming({ _ in .redirect(to: "/") }, settings: .init(maximumRedirects: 3)) {
        server, transport in
        await subject.expectFailure(of: "a loop", .tooManyRedirects(limit: 3)) {
          try await transport.stream(server.request(), body: nil)
        }
      }
    },
    Self("a burst of 2 MiB arrives whole at a reader that reads") { subject in
      let body = ScriptedBody()
      let piece = Data((0..<(256 << 10)).map { UInt8(truncatingIfNeeded: $0 % 251) })
      try await subject.streaming { _ in
        .streaming(body)
      } body: { server, transport in
        var iterator = try await transport.stream(server.request(), body: nil).1.makeAsyncIterator()
        for index in 0..<8 {
          body.send(piece)
          let bytes = try await iterator.read(piece.count)
          subject.expect(bytes == piece, "the part \(index) of 8 arrived as \(bytes)")
        }
      }
    },
    Self("a burst of 8 MiB waits for a reader that begins late, or ends the stream") { subject in
      let bytes = Data(repeating: 7, count: 8 << 20)
      let head = MockServer.Response.head(200, [("Content-Length", "\(bytes.count)")])
      let isSlowed = !subject.exceptions.contains(.slowReaders)
      try await subject.streaming { _ in
        isSlowed ? .raw(head + bytes) : .held(until: Latch(), sendingFirst: head + bytes)
      } body: { server, transport in
        let (_, stream) = try await transport.stream(server.request(), body: nil)
        if isSlowed {
          let received = try await stream.all()
          subject.expect(received == bytes, "\(received.count) of \(bytes.count) bytes arrived")
        } else {
          try await subject.expectDisconnection(of: server, after: "a burst that nobody reads")
          let error = await subject.failure(of: "a late reader") { try await stream.all() }
          guard case TransportError.tooManyUnread? = error else {
            return subject.expect(
              false, "expected TransportError.tooManyUnread, got \(error.map { "\($0)" } ?? "none")")
          }
        }
      }
    },
    Self("eight streams do not hold a request up") { subject in
      let body = ScriptedBody()
      try await subject.streaming { request in
        request.target == "/good" ? .text("good") : .streaming(body)
      } body: { server, transport in
        var iterators: [ResponseBody.Iterator] = []
        for index in 0..<8 {
          iterators.append(try await transport.stream(server.request("/\(index)"), body: nil).1.makeAsyncIterator())
        }
        await subject.expectGood(transport, server, after: "eight streams were opened")
        body.send("x")
        for index in iterators.indices {
          let bytes = try await iterators[index].read(1)
          subject.expect(bytes == Data("x".utf8), "the stream \(index) got \(bytes)")
        }
      }
    },
  ]
}

extension ResponseBody {
  /// Returns the whole body.
  func all() async throws -> Data {
    var data = Data()
    for try await piece in self { data.append(contentsOf: piece) }
    return data
  }
}

extension ResponseBody.Iterator {
  /// Returns the next `count` bytes or more, or all that are left.
  mutating func read(_ count: Int) async throws -> Data {
    var data = Data()
    while data.count < count, let piece = try await next() { data.append(contentsOf: piece) }
    return data
  }

  mutating func next() async throws -> ArraySlice<UInt8>? { try await next(isolation: nil) }
}
