import Foundation
import HTTPTypes
import ReactorCore

/// Servers that hang up, or violate HTTP.
extension TransportConformance.Check {
  private typealias Response = MockServer.Response

  static let brokenAnswers = [
    Self("a truncated response is an error, never a short success") { subject in
      try await expectFailures(subject, cutShort)
    },
    Self("bytes that are not HTTP are an error") { subject in try await expectFailures(subject, nonsense) },
    Self("a connection that ends within the header is an error", unless: .headerCutShort) { subject in
      try await expectFailures(
        subject,
        ["HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n"].map {
          ("cut after \($0.utf8.count) bytes", .raw($0))
        })
    },
    Self("a request that changes something is sent once, even if it fails") { subject in
      let requests: [(HTTPRequest.Method, Data?)] = [
        (.post, abc), (.put, abc), (.patch, abc), (.delete, abc), (.post, nil), (.patch, nil),
      ]
      for (method, body) in requests {
        try await subject.serving {
          $0.method == "GET" ? .text("good") : .close
        } body: { server, transport in
          // The first exchange leaves an idle connection, which may turn out to be closed.
          await subject.expectGood(transport, server, after: "nothing")
          let name = body == nil ? "\(method) without a body" : "\(method)"
          await subject.expectFailure(of: name) {
            try await transport.send(server.request(method: method), body: body)
          }
          let count = server.requests.filter { $0.method == method.rawValue }.count
          subject.expect(count == 1, "\(name) was sent \(count) times")
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

  private static let abc = Data("abc".utf8)
  private static let announced = Response.head(200, [("Content-Length", "100")])

  private static let cutShort: [(String, Response)] = [
    ("fewer bytes than Content-Length", .short(announcing: 100, body: abc)),
    ("no bytes in spite of Content-Length", .short(announcing: 100, body: Data())),
    (
      "fewer bytes than Content-Length, compressed",
      .short(announcing: 100, body: Data([0x1f, 0x8b, 8, 0]), fields: [("Content-Encoding", "gzip")])
    ),
    ("no last chunk", .chunked([abc], isWhole: false)),
    ("in the middle of a chunk", .raw(Response.head(200, [("Transfer-Encoding", "chunked")]) + Data("a\r\nabc".utf8))),
    (
      "in the size of a chunk",
      .raw(Response.head(200, [("Transfer-Encoding", "chunked")]) + Data("3\r\nabc\r\n1".utf8))
    ),
    ("before an answer", .close),
    ("by a reset before an answer", .reset()),
    ("by a reset in the body", .reset(after: announced + abc)),
    ("an interim response alone", .raw("HTTP/1.1 100 Continue\r\n\r\n")),
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
    _ subject: TransportConformance.Subject, _ cases: [(String, Response)]
  ) async throws {
    for (what, reply) in cases {
      try await subject.serving {
        $0.target == "/good" ? .text("good") : reply
      } body: { server, transport in
        await subject.expectFailure(of: what) { try await transport.send(server.request()) }
        await subject.expectGood(transport, server, after: what)
      }
    }
  }
}
