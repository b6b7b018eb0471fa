import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting

/// Messages with contradictory or invalid lengths (RFC 9112 §6.3).
extension TransportConformance.Check {
  static let framing = [
    Self("bytes beyond the end of a response are not the next response") { subject in
      let forged = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
      for (what, start) in [
        ("after the Content-Length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"),
        ("after the last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
      ] {
        try await subject.serving {
          $0.target == "/good" ? .text("good") : .kept(start + forged)
        } body: { server, transport in
          // An error is as good as the announced body.
          let body = try? await transport.send(server.request()).1
          subject.expect(
            body ?? Data("abc".utf8) == Data("abc".utf8), "\(what): the transport returned \(body?.count ?? 0) bytes")
          await subject.expectGood(transport, server, after: "further bytes \(what)")
        }
      }
    },
    Self("an unknown transfer coding is an error, or all bytes are the body") { subject in
      for coding in ["x-unknown", "gzip", "x-unknown, chunked", "chunked, x-unknown", "identity"] {
        let isChunked = coding.hasSuffix("chunked")
        let body = isChunked ? "3\r\nabc\r\n0\r\n\r\n" : "abc"
        try await subject.serving {
          $0.target == "/good" ? .text("good") : .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: \(coding)\r\n\r\n\(body)")
        } body: { server, transport in
          let received = try? await transport.send(server.request()).1
          let allowed = [nil, Data(body.utf8), Data("abc".utf8)]
          subject.expect(allowed.contains(received), "\(coding): the transport returned \(received?.count ?? 0) bytes")
          await subject.expectGood(transport, server, after: coding)
        }
      }
    },
    Self("chunks override a Content-Length, or both together are an error") { subject in
      try await subject.serving {
        $0.target == "/good"
          ? .text("good")
          : .kept("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
      } body: { server, transport in
        let body = try? await transport.send(server.request()).1
        subject.expect(body ?? Data("abc".utf8) == Data("abc".utf8), "the transport returned \(body?.count ?? 0) bytes")
        await subject.expectGood(transport, server, after: "both")
      }
    },
    Self("contradictory or invalid lengths are an error, or all bytes are the body") { subject in
      let cases = ["3\r\nContent-Length: 4", "3, 4", "abc", "-1", "99999999999999999999", "0x3", "3;", "+3", ""]
      for length in cases {
        try await subject.serving {
          $0.target == "/good" ? .text("good") : .raw("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\nabc")
        } body: { server, transport in
          let body = try? await transport.send(server.request()).1
          subject.expect(
            body ?? Data("abc".utf8) == Data("abc".utf8),
            "Content-Length \(length): the transport returned \(body?.count ?? 0) bytes")
          await subject.expectGood(transport, server, after: length)
        }
      }
    },
    Self("the same Content-Length twice counts once") { subject in
      try await subject.serving { _ in
        .raw("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc")
      } body: { server, transport in
        let body = try? await transport.send(server.request()).1
        subject.expect(body ?? Data("abc".utf8) == Data("abc".utf8), "the transport returned \(body?.count ?? 0) bytes")
      }
    },
  ]
}
