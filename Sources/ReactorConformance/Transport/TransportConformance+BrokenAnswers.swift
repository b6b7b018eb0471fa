import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Servers that hang up, or violate HTTP.
extension TransportConformance.Check {
  private typealias Response = MockServer.Response

  static let brokenAnswers = [
    Self("a response that the connection cuts short is a failure that may pass, never a short success") { subject in
      try await expectFailures(subject, cutShort) { what, error in
        subject.expect(
          error.map { RetryPolicy.mayPass(.failure($0)) } != false,
          "\(what): expected an error that is retried, got \(error, default: "none")")
      }
    },
    Self("bytes that are not HTTP are an error") { subject in try await expectFailures(subject, nonsense) },
    Self("a request that changes something is sent once, even if it fails") { subject in
      for method in [HTTPRequest.Method.post, .put, .patch, .delete] {
        for body in [abc, nil] {
          try await expectSentOnce(subject, method, body)
        }
      }
    },
    Self("a port without a server and an unknown host are errors of the connection") { subject in
      let transport = subject.make(.init())
      for authority in ["127.0.0.1:\(MockServer.unusedPort)", "does-not-exist.invalid"] {
        await subject.expectFailure(of: authority) {
          try await transport.send(HTTPRequest(method: .get, scheme: "http", authority: authority, path: "/"))
        }
      }
    },
    Self("a server that does not speak TLS is an error") { subject in
      try await subject.serving { _ in
        .raw("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
      } body: { server, transport in
        var request = server.request()
        request.scheme = "https"
        await subject.expectFailure(of: "TLS") { try await transport.send(request) }
        subject.expect(server.requests.allSatisfy(\.isTLS), "the request was sent without TLS")
      }
    },
  ]

  /// Expects one request on a kept connection and one on a new connection, both reported as lost.
  ///
  /// `localhost` may have several addresses, of which only one has a server.
  private static func expectSentOnce(
    _ subject: TransportConformance.Subject, _ method: HTTPRequest.Method, _ body: Data?
  ) async throws {
    for host in ["127.0.0.1", "localhost"] {
      try await subject.serving {
        $0.method == "GET" ? .text("good") : .close
      } body: { server, transport in
        var request = server.request("/good")
        request.authority = "\(host):\(server.port)"
        // The first exchange leaves an idle connection, which may turn out to be closed.
        _ = try await transport.send(request)
        request.method = method
        let name = "\(method) to \(host)\(body == nil ? ", without a body" : "")"
        let error = await subject.failure(of: name) { [request] in try await transport.send(request, body: body) }
        subject.expect(error.map(isLost) != false, "\(name): expected a lost connection, got \(error, default: "none")")
        let count = server.requests.count { $0.method == method.rawValue }
        subject.expect(count == 1, "\(name) was sent \(count) times")
      }
    }
  }

  /// Returns `true` for an error of a connection on which the request may have been sent.
  private static func isLost(_ error: any Error) -> Bool {
    switch error {
    case is CancellationError, is ReactorError, TransportError.notConnected, TransportError.notSecure: false
    case let error as URLError: ![.cannotConnectToHost, .cannotFindHost].contains(error.code)
    default: true
    }
  }

  private static let abc = Data("abc".utf8)
  private static let announced = Response.head(200, [("Content-Length", "100")])
  private static let announcedZipped = Response.head(200, [("Content-Length", "100"), ("Content-Encoding", "gzip")])

  private static let cutShort: [(String, Response)] = [
    ("fewer bytes than Content-Length", .short(announcing: 100, body: abc)),
    ("no bytes in spite of Content-Length", .short(announcing: 100, body: Data())),
    (
      "fewer bytes than Content-Length, compressed",
      .short(announcing: 100, body: Data([0x1f, 0x8b, 8, 0]), fields: [("Content-Encoding", "gzip")])
    ),
    (
      "fewer bytes than Content-Length, compressed and begun",
      .short(announcing: zipped.count, body: zipped.dropLast(5), fields: [("Content-Encoding", "gzip")])
    ),
    ("no last chunk, compressed", .chunked([zipped], headers: [.contentEncoding: "gzip"], isWhole: false)),
    ("by a reset in a compressed body", .reset(after: announcedZipped + zipped.dropLast(5))),
    ("no last chunk", .chunked([abc], isWhole: false)),
    ("in the middle of a chunk", .raw(Response.head(200, [("Transfer-Encoding", "chunked")]) + Data("a\r\nabc".utf8))),
    (
      "in the size of a chunk",
      .raw(Response.head(200, [("Transfer-Encoding", "chunked")]) + Data("3\r\nabc\r\n1".utf8))
    ),
    ("before an answer", .close),
    ("by a reset before an answer", .reset()),
    ("by a reset in the body", .reset(after: announced + abc)),
    ("only an interim response", .raw("HTTP/1.1 100 Continue\r\n\r\n")),
  ]

  private static let nonsense: [(String, Response)] = [
    ("another protocol", .raw("220 mail.example.com ready\r\n\r\n")),
    ("a status that is not a number", .raw("HTTP/1.1 abc\r\n\r\n")),
    ("a chunk whose size is not a number", chunked("xyz\r\nabc\r\n0\r\n\r\n")),
    ("a chunk that is longer than its size", chunked("3\r\nabcdef\r\n0\r\n\r\n")),
    ("a chunk whose size overflows", chunked("ffffffffffffffffff\r\nabc\r\n0\r\n\r\n")),
  ]

  private static func chunked(_ body: String) -> Response {
    .raw(Response.head(200, [("Transfer-Encoding", "chunked")]) + Data(body.utf8))
  }

  private static func expectFailures(
    _ subject: TransportConformance.Subject, _ cases: [(String, Response)],
    _ judge: (String, (any Error)?) -> Void = { _, _ in }
  ) async throws {
    for (what, reply) in cases {
      try await subject.serving {
        $0.target == "/good" ? .text("good") : reply
      } body: { server, transport in
        judge(what, await subject.expectFailure(of: what) { try await transport.send(server.request()) })
        await subject.expectGood(transport, server, after: what)
      }
    }
  }
}
