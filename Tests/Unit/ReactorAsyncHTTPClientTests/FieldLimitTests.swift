#if AsyncHTTPClient
  import AsyncHTTPClient
  import HTTPTypes
  import NIOHTTP1
  import ReactorCore
  import Testing

  @testable import ReactorAsyncHTTPClient

  @Suite struct `The header fields of a response` {
    private func response(_ count: Int) throws -> HTTPResponse {
      let headers = HTTPHeaders((0..<count).map { ("a\($0)", "") })
      return try HTTPClientResponse(status: .ok, headers: headers).converted()
    }

    /// As an older SwiftNIO hands them on, which does not count.
    @Test(arguments: [4_097, 65_534, 65_535, 70_000])
    func `the header fields of a response are an error, and not the end of the process, beyond a limit`(count: Int) {
      #expect(throws: TransportError.tooManyFields(limit: 4_096)) { try response(count) }
    }

    @Test(arguments: [0, 1, 4_096]) func `the header fields of a response are all there within it`(count: Int) throws {
      #expect(try response(count).headerFields.count == count)
    }
  }
#endif
