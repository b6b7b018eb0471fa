import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting

/// Bodies in gzip and deflate (RFC 9110 §8.4.1).
extension TransportConformance.Check {
  private static let hello = Data("hello hello hello hello".utf8)
  static let zipped = decoded("H4sIAAAAAAACA8tIzcnJV8hAJwHjUT2NFwAAAA==")
  private static let deflated = decoded("eNrLSM3JyVfIQCcBaAMIsQ==")
  /// Deflate without the header and the checksum of zlib, as some servers send it.
  private static let deflatedRaw = Data(deflated.dropFirst(2).dropLast(4))
  /// 10,000 zero bytes.
  private static let zippedZeros = decoded("H4sIAAAAAAACA+3BAQ0AAADCoPdPbQ43oAAAAAAAAAAAAODfAC7KO00QJwAA")
  /// 10,195 bytes that decode to ten million: in the middle of the zeros, each byte adds 1,032
  /// more.
  private static let bomb = zippedZeros.prefix(25) + Data(count: 10_170)

  static let codings = [
    Self("a compressed body is decoded, and its coding and length are removed from the fields", unless: .contentCodings)
    { subject in
      for (coding, bytes) in [
        ("gzip", zipped), ("deflate", deflated), ("GZip", zipped), ("x-gzip", zipped), ("deflate", deflatedRaw),
      ] {
        try await subject.serving {
          .status(
            200, fields: [("Content-Encoding", coding), ("ETag", "\"1\"")], body: $0.target == "/" ? bytes : Data())
        } body: { server, transport in
          let (response, body) = try await transport.send(server.request())
          subject.expect(body == hello, "\(coding): the transport returned \(body.count) bytes")
          subject.expect(response.headerFields[.contentEncoding] == nil, "\(coding): \(response.headerFields)")
          subject.expect(response.headerFields[.contentLength] == nil, "\(coding): \(response.headerFields)")
          subject.expect(response.headerFields[.eTag] == "\"1\"", "\(coding): \(response.headerFields)")
        }
      }
    },
    Self("a response without a body, such as a 304, may name a coding") { subject in
      for (method, code) in [(HTTPRequest.Method.get, 204), (.get, 304), (.get, 404), (.post, 201), (.head, 200)] {
        for coding in ["gzip", "x-gzip", "deflate"] {
          try await subject.serving {
            if $0.target == "/good" { return .text("good") }
            let length = code == 204 || code == 304 ? [] : [("Content-Length", method == .head ? "20" : "0")]
            return .head(code, fields: [("Content-Encoding", coding)] + length)
          } body: { server, transport in
            let (response, body) = try await transport.send(server.request(method: method))
            subject.expect(
              response.status.code == code && body.isEmpty, "\(coding), \(code): \(response), \(body.count) bytes")
            await subject.expectGood(transport, server, after: "\(coding), \(code)")
          }
        }
      }
    },
    Self("a body in the identity coding or an unknown one is not changed") { subject in
      for coding in ["identity", "x-rot13"] {
        try await subject.serving { _ in
          .status(200, fields: [("Content-Encoding", coding)], body: hello)
        } body: { server, transport in
          do {
            let (_, body) = try await transport.send(server.request())
            subject.expect(body == hello, "\(coding): the transport returned \(body.count) bytes")
          } catch {
            // To refuse an unknown coding is as good.
            subject.expect(coding != "identity" && !(error is ReactorError), "\(coding): threw \(error)")
          }
        }
      }
    },
    Self("a body that is not in its declared coding is an error", unless: .contentCodings) { subject in
      for (what, bytes) in [("not compressed", hello), ("corrupt", changed(zipped))] {
        for coding in ["gzip", "deflate"] {
          try await subject.serving {
            $0.target == "/good"
              ? .text("good") : .status(200, fields: [("Content-Encoding", coding)], body: bytes)
          } body: { server, transport in
            await subject.expectFailure(of: "\(coding), \(what)") { try await transport.send(server.request()) }
            await subject.expectGood(transport, server, after: "\(coding), \(what)")
          }
        }
      }
    },
    Self("a truncated compressed body is an error", unless: .compressedBodyCutShort) { subject in
      guard !subject.exceptions.contains(.contentCodings) else { return }
      for (coding, bytes) in [("gzip", zipped), ("deflate", deflated)] {
        try await subject.serving { _ in
          .status(200, fields: [("Content-Encoding", coding)], body: bytes.dropLast(12))
        } body: { server, transport in
          await subject.expectFailure(of: coding) { try await transport.send(server.request()) }
        }
      }
    },
    Self("a body may be a thousand times its compressed size, up to the limit", unless: .contentCodings) { subject in
      try await subject.serving(
        { _ in .status(200, fields: [("Content-Encoding", "gzip")], body: zippedZeros) },
        settings: .init(maximumResponseSize: 10_000)
      ) { server, transport in
        let (_, body) = try await transport.send(server.request())
        subject.expect(body == Data(count: 10_000), "the transport returned \(body.count) bytes")
        guard !subject.exceptions.contains(.sizeLimit) else { return }
        let smaller = subject.make(.init(maximumResponseSize: 9_999))
        await subject.expectFailure(of: "one byte more", .responseTooLarge(limit: 9_999)) {
          try await smaller.send(server.request())
        }
      }
    },
    Self("a decompression bomb is refused at the size limit", unless: .sizeLimit) { subject in
      guard !subject.exceptions.contains(.contentCodings) else { return }
      let hungUp = Latch()
      let head = MockServer.Response.head(200, [("Content-Encoding", "gzip"), ("Content-Length", "1000000")])
      try await subject.serving(
        { $0.target == "/good" ? .text("good") : .held(until: Latch(), hungUp: hungUp, sendingFirst: head + bomb) },
        settings: .init(maximumResponseSize: 1 << 20)
      ) { server, transport in
        await subject.expectFailure(of: "10 MB in 10 KB", .responseTooLarge(limit: 1 << 20)) {
          try await transport.send(server.request())
        }
        try await subject.expectHangUp(hungUp, after: "a decompression bomb")
        await subject.expectGood(transport, server, after: "a decompression bomb")
      }
    },
  ]

  private static func decoded(_ base64: String) -> Data { Data(base64Encoded: base64) ?? Data() }

  private static func changed(_ bytes: Data) -> Data {
    var bytes = bytes
    for index in 11..<15 { bytes[index] ^= 0xff }
    return bytes
  }
}
