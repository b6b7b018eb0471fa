#if AsyncHTTPClient
  import Foundation
  import HTTPTypes
  import ReactorCore

  /// The decoder of one response's body, for the codings gzip and deflate in any order.
  ///
  /// It sees a body as its bytes arrive. A response without a body, such as a 304, is complete
  /// whatever its `Content-Encoding` says.
  struct BodyDecoder {
    /// One for each coding, in the order in which they are removed.
    private let inflaters: [Inflater]
    private let isDelimited: Bool

    /// Creates a decoder for the codings of a response. A list with another coding is left as it
    /// is.
    init(of response: HTTPResponse) {
      let codings = [response.contentCodings, response.transferCodings]
      inflaters = codings.filter(\.areDecoded).joined().reversed().map { Inflater(allowsRaw: $0 == "deflate") }
      isDelimited = response.headerFields.contains(.contentLength) || response.headerFields.contains(.transferEncoding)
    }

    /// Returns the next bytes of the body.
    ///
    /// - Parameter limit: The largest number of bytes to return.
    /// - Throws: `TransportError/invalidResponse(_:request:)` for bytes that are not in their
    ///   coding; ``Inflater/Overflow`` beyond the limit.
    func decode(_ piece: Data, limit: Int) throws -> Data {
      try inflaters.reduce(piece) { try $1.inflate($0, limit: limit) }
    }

    /// Checks that the body is whole.
    ///
    /// - Throws: `TransportError/connectionFailed(_:request:)` for a body that ends early and whose
    ///   end only the connection marks; `TransportError/invalidResponse(_:request:)` for another
    ///   body that ends early.
    func finish() throws(TransportError) {
      guard inflaters.contains(where: \.isIncomplete) else { return }
      throw isDelimited
        ? .invalidResponse("the compressed body ends too early")
        : .connectionFailed("the connection was lost in the middle of the body")
    }
  }

  extension HTTPResponse {
    /// The transfer codings, except `chunked`, in lower case (RFC 9112 §7).
    fileprivate var transferCodings: [String] {
      (headerFields[.transferEncoding] ?? "").lowercased().filter { $0 != " " && $0 != "\t" }.split(separator: ",").map(
        String.init
      ).filter { $0 != "chunked" }
    }

    /// Returns the response without the fields of the coded body, if ``BodyDecoder`` decodes it.
    func decoded() -> HTTPResponse {
      var response = self
      if contentCodings.areDecoded {
        response.headerFields[.contentEncoding] = nil
        response.headerFields[.contentLength] = nil
      }
      return response
    }
  }

  extension [String] {
    /// A Boolean value that indicates whether these codings are decoded. `x-gzip` is another name
    /// of gzip (RFC 9110 §8.4.1.3).
    fileprivate var areDecoded: Bool { !isEmpty && allSatisfy { ["gzip", "x-gzip", "deflate"].contains($0) } }
  }
#endif
