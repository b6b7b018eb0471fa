#if AsyncHTTPClient
  import Foundation
  import HTTPTypes
  import ReactorCore
  import Testing

  @testable import ReactorAsyncHTTPClient

  @Suite struct `The decoder of a body` {
    private func decoder(_ coding: String?, transfer: String? = nil, length: Int? = nil) -> BodyDecoder {
      var fields: HTTPFields = [:]
      fields[.contentEncoding] = coding
      fields[.transferEncoding] = transfer
      fields[.contentLength] = length.map { "\($0)" }
      return BodyDecoder(of: HTTPResponse(status: .ok, headerFields: fields))
    }

    private func text(
      _ decoder: BodyDecoder, _ base64: String, piece: Int = .max, limit: Int = 1_000
    ) throws -> String? {
      var (bytes, decoded) = (try #require(Data(base64Encoded: base64)), Data())
      while !bytes.isEmpty {
        decoded += try decoder.decode(bytes.prefix(piece), limit: limit - decoded.count)
        bytes = bytes.dropFirst(piece)
      }
      try decoder.finish()
      return String(data: decoded, encoding: .utf8)
    }

    @Test(
      arguments: [
        ("gzip", nil, Coded.gzip), ("x-gzip", nil, Coded.gzip), ("GZIP", nil, Coded.gzip), ("gzip", nil, Coded.members),
        ("deflate", nil, Coded.zlib), ("deflate", nil, Coded.raw), ("deflate", nil, Coded.gzip),
        ("gzip, gzip", nil, Coded.twice), ("gzip, deflate", nil, Coded.zlibOfGzip),
        ("gzip", "gzip, chunked", Coded.twice), (nil, "gzip, chunked", Coded.gzip), (nil, "x-gzip", Coded.gzip),
      ] as [(String?, String?, String)])
    func `reads each coding, however its bytes are divided`(_ coding: String?, _ transfer: String?, _ body: String)
      throws
    {
      for piece in [1, 2, 3, 11, .max] {
        #expect(try text(decoder(coding, transfer: transfer), body, piece: piece) == "hello")
      }
    }

    @Test(arguments: [nil, "identity", "utf-8", "aws-chunked", "br", "gzip, br", ""])
    func `the decoder of a body leaves bytes of another coding as they are`(_ coding: String?) throws {
      #expect(try text(decoder(coding), Data("hello".utf8).base64EncodedString()) == "hello")
    }

    @Test(arguments: ["gzip", "deflate", "x-gzip", "gzip, gzip"]) func `needs no body`(_ coding: String) throws {
      #expect(try text(decoder(coding, length: 0), "") == "")
    }

    @Test(arguments: ["gzip", "deflate"], ["hello hello", "\u{1F}", "h"])
    func `the decoder of a body refuses bytes that are in no coding`(_ coding: String, _ body: String) throws {
      #expect {
        try text(decoder(coding, length: 9), Data(body.utf8).base64EncodedString())
      } throws: {
        isInvalid($0)
      }
    }

    @Test(arguments: [("gzip", Coded.gzip), ("deflate", Coded.zlib), ("deflate", Coded.raw), ("gzip", Coded.members)])
    func `refuses a body that is cut, or has more bytes`(_ coding: String, _ body: String) throws {
      let bytes = try #require(Data(base64Encoded: body))
      // The first member of two is whole.
      for count in 1..<bytes.count where count != 23 || body != Coded.members {
        let start = bytes.prefix(count).base64EncodedString()
        #expect { try text(decoder(coding, length: count), start) } throws: { isInvalid($0) }
        // Without a length, only the connection marks the end.
        #expect { try text(decoder(coding), start) } throws: { error in
          if case TransportError.connectionFailed = error { true } else { isInvalid(error) }
        }
      }
      #expect { try text(decoder(coding), (bytes + [0]).base64EncodedString()) } throws: { _ in true }
      #expect { try text(decoder(coding), (bytes + Data("more".utf8)).base64EncodedString()) } throws: { isInvalid($0) }
    }

    @Test func `the decoder of a body ends at the limit`() throws {
      #expect(try text(decoder("gzip"), Coded.gzip, limit: 5) == "hello")
      #expect(throws: Inflater.Overflow.self) { try text(decoder("gzip"), Coded.gzip, limit: 4) }
      #expect(throws: Inflater.Overflow.self) { try text(decoder("gzip"), Coded.members, limit: 4) }
    }

    @Test func `the decoder of a body removes the fields of what it decodes, also without a body`() throws {
      var response = HTTPResponse(status: .notModified)
      response.headerFields = [.contentEncoding: "gzip", .contentLength: "20", .eTag: "\"1\""]
      #expect(response.decoded().headerFields == [.eTag: "\"1\""])
      response.headerFields[.contentEncoding] = "br"
      #expect(response.decoded() == response)
    }
  }

  /// `hello` in several codings, in base64.
  enum Coded {
    static let gzip = "H4sIAAAAAAACA8tIzcnJBwCGphA2BQAAAA=="
    /// Two members, of `hel` and of `lo`.
    static let members = "H4sIAAAAAAACA8tIzQEAG/EL5QMAAAAfiwgAAAAAAAIDy8kHAJ1KnFUCAAAA"
    static let zlib = "eJzLSM3JyQcABiwCFQ=="
    static let raw = "y0jNyckHAA=="
    static let twice = "H4sIAAAAAAACA5Pv5mAAASbm0x5nT55kZ2hbJmDGChQAAKdvtEUZAAAA"
    static let zlibOfGzip = "eJyT7+ZgAAEm5tMeZ0+eZGdoWyZgxgoUAABIAQWo"
    /// A note with the id 1.
    static let note = "H4sIAAAAAAACA6tWykxRsjLUUSpJrShRslJKVKoFAP2hHwoTAAAA"
    static let brotli = "CwKAaGVsbG8D"

    static func bytes(_ base64: String) -> Data { Data(base64Encoded: base64) ?? Data() }
  }

  func isInvalid(_ error: any Error) -> Bool {
    if case TransportError.invalidResponse = error { true } else { false }
  }
#endif
