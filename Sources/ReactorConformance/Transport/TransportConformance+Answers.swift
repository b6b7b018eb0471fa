import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting

/// Valid responses and their results.
extension TransportConformance.Check {
  static let answers = [
    Self("every status is a response") { subject in
      let codes = [
        200, 201, 202, 203, 205, 206, 226, 299, 300, 400, 401, 403, 404, 407, 408, 410, 412, 416, 418, 421, 429, 451,
        499, 500, 501, 502, 503, 504, 599, 600, 999,
      ]
      try await subject.serving {
        .status(Int($0.target.dropFirst()) ?? 0, body: Data("text".utf8))
      } body: { server, transport in
        for code in codes {
          let (response, body) = try await transport.send(server.request("/\(code)"))
          subject.expect(
            response.status.code == code,
            "the server sent status \(code), the transport returned \(response.status.code)")
          subject.expect(body == Data("text".utf8), "the body of a \(code) has \(body.count) bytes")
        }
      }
    },
    Self("204 and 304 have no body, whatever their Content-Length (RFC 9112 §6.3)") { subject in
      for code in [204, 304] {
        for fields in [[], [("Content-Length", "5")], [("Content-Length", "0")]] {
          try await subject.serving {
            $0.target == "/good" ? .text("good") : .head(code, fields: fields)
          } body: { server, transport in
            let (response, body) = try await transport.send(server.request())
            subject.expect(
              response.status.code == code,
              "the server sent status \(code), the transport returned \(response.status.code)")
            subject.expect(body.isEmpty, "the body of a \(code) has \(body.count) bytes")
            await subject.expectGood(transport, server, after: "a \(code) with \(fields)")
          }
        }
      }
    },
    Self("HEAD has the fields and no body, whatever its Content-Length") { subject in
      try await subject.serving {
        $0.target == "/good" ? .text("good") : .head(announcing: 1 << 40)
      } body: { server, transport in
        let (response, body) = try await transport.send(server.request(method: .head))
        subject.expect(response.headerFields[.contentLength] == "1099511627776", "\(response.headerFields)")
        subject.expect(body.isEmpty, "the transport returned a body of \(body.count) bytes")
        await subject.expectGood(transport, server, after: "HEAD")
      }
    },
    Self("a body arrives whole, of any size and framing") { subject in
      try await subject.serving { request in
        let parts = request.target.split(separator: "/")
        let bytes = Self.bytes(parts.last.flatMap { Int($0) } ?? 0)
        return switch parts.first {
        case "chunked": .chunked([bytes.prefix(10), Data(bytes.dropFirst(10))].filter { !$0.isEmpty })
        case "closed": .raw(MockServer.Response.head(200, []) + bytes)
        default: .status(200, body: bytes)
        }
      } body: { server, transport in
        for size in [0, 1, 65_535, 65_536, 3_000_000] {
          for framing in ["announced", "chunked", "closed"] {
            let (_, body) = try await transport.send(server.request("/\(framing)/\(size)"))
            subject.expect(
              body == Self.bytes(size),
              "\(framing): the server sent \(size) bytes, the transport returned \(body.count), or other ones")
          }
        }
      }
    },
    Self("chunks may have extensions (RFC 9112 §7.1.1)") { subject in
      try await expectHelloWorld(subject, "5;a=b\r\nhello\r\n0006\r\n world\r\n0;last\r\n\r\n")
    },
    Self("a field needs no space after its colon (RFC 9112 §5.1)", unless: .fieldsWithoutSpace) { subject in
      try await subject.serving { _ in
        .raw("HTTP/1.1 200 OK\r\nETag:\"a\"\r\nContent-Length:2\r\n\r\nhi")
      } body: { server, transport in
        let (response, body) = try await transport.send(server.request())
        subject.expect(response.headerFields[.eTag] == "\"a\"", "\(response.headerFields)")
        subject.expect(body == Data("hi".utf8), "the transport returned a body of \(body.count) bytes")
      }
    },
    Self("a response with 70,000 fields fails, and later ones succeed") { subject in
      let fields = (0..<70_000).map { "a\($0):\r\n" }.joined()
      try await subject.serving {
        $0.target == "/good" ? .text("good") : .raw("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 2\r\n\r\nhi")
      } body: { server, transport in
        await subject.expectFailure(of: "70,000 fields") { try await transport.send(server.request()) }
        await subject.expectGood(transport, server, after: "70,000 fields")
      }
    },
    Self("a host may be an IPv6 address (RFC 3986 §3.2.2)", unless: .addressesOfIPv6) { subject in
      // A machine may have no IPv6.
      guard let server = try? MockServer.onIPv6({ _ in .text("good") }) else { return }
      defer { server.stop() }
      let (_, body) = try await subject.make(TransportConformance.Settings()).send(server.request())
      subject.expect(body == Data("good".utf8), "the transport returned a body of \(body.count) bytes")
      subject.expect(
        server.requests.first?["Host"] == server.authority,
        "the field Host is \(server.requests.first?["Host"] ?? "missing"), not \(server.authority)")
    },
    Self("interim responses are not the answer (RFC 9110 §15.2)") { subject in
      let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
      try await subject.serving {
        $0.target == "/good"
          ? .text("good") : .raw(interim + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
      } body: { server, transport in
        let (response, body) = try await transport.send(server.request())
        subject.expect(response.status == .ok && body == Data("hi".utf8), "\(response.status), \(body)")
        await subject.expectGood(transport, server, after: "interim responses")
      }
    },
    Self("a status needs no reason, and the version may be 1.0") { subject in
      for line in ["HTTP/1.1 299 ", "HTTP/1.0 299 Status"] {
        try await subject.serving { _ in
          .raw("\(line)\r\nX-Name: value\r\n\r\nto the end")
        } body: { server, transport in
          let (response, body) = try await transport.send(server.request())
          subject.expect(
            response.status.code == 299 && body == Data("to the end".utf8), "\(line): \(response), \(body)")
        }
      }
    },
    Self("fields of one name stay separate and in order, or are joined with commas") { subject in
      let fields = [
        ("Set-Cookie", "a=1"), ("X-Name", "Ænima"), ("Set-Cookie", "b=2; Path=/"), ("Cache-Control", "no-cache"),
        ("Cache-Control", "private"), ("X-Empty", ""),
      ]
      try await subject.serving { _ in
        .text("x", fields: fields)
      } body: { server, transport in
        let (response, _) = try await transport.send(server.request())
        let isApart = !subject.exceptions.contains(.fieldsApart)
        for (name, values) in [
          ("Set-Cookie", ["a=1", "b=2; Path=/"]), ("X-Name", ["Ænima"]), ("Cache-Control", ["no-cache", "private"]),
          ("X-Empty", [""]),
        ] {
          guard let name = HTTPField.Name(name) else { continue }
          let received = response.headerFields[values: name]
          subject.expect(received == (isApart ? values : [values.joined(separator: ", ")]), "\(name): \(received)")
        }
      }
    },
    Self("fields of one name are found in any case", unless: .fieldsInAnyCase) { subject in
      try await subject.serving { _ in
        .text("x", fields: [("Cache-Control", "no-cache"), ("cache-control", "private")])
      } body: { server, transport in
        let (response, _) = try await transport.send(server.request())
        let received = response.headerFields[.cacheControl]
        subject.expect(received == "no-cache, private", "Cache-Control is \(received ?? "missing")")
      }
    },
    Self("a slow server is waited for, and its bytes are reported as they arrive") { subject in
      let latches = (0..<10).map { _ in Latch() }
      let head = MockServer.Response.head(200, [("Content-Length", "8")])
      let pieces = [head.prefix(9), head.dropFirst(9)] + (0..<8).map { Data([UInt8($0)]) }
      try await subject.serving { _ in
        latches[0].open()
        latches[1].open()
        return .dripping(zip(latches, pieces).map { (after: $0, bytes: Data($1)) })
      } body: { server, transport in
        let isTold = !subject.exceptions.contains(.progress)
        if !isTold { for latch in latches { latch.open() } }
        // The server sends each byte after the progress of the one before.
        let (_, body) = try await transport.send(server.request(), body: nil) { progress in
          if progress.stage == .receiving, progress.received < 8 { latches[Int(progress.received) + 2].open() }
        }
        subject.expect(body == Data(0..<8), "the transport returned the body \(Array(body))")
      }
    },
  ]

  private static func expectHelloWorld(_ subject: TransportConformance.Subject, _ chunks: String) async throws {
    try await subject.serving {
      $0.target == "/good" ? .text("good") : .kept("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)")
    } body: { server, transport in
      let (_, body) = try await transport.send(server.request())
      subject.expect(
        body == Data("hello world".utf8), "the transport returned the body \(String(decoding: body, as: UTF8.self))")
      await subject.expectGood(transport, server, after: "chunks")
    }
  }

  /// Returns bytes whose pattern does not repeat at the size of a buffer.
  static func bytes(_ count: Int) -> Data {
    var bytes = Data(capacity: count + block.count)
    while bytes.count < count { bytes.append(block) }
    return bytes.prefix(count)
  }

  private static let block = Data((0..<4_093).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
}
