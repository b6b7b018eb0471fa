#if AsyncHTTPClient
  import AsyncHTTPClient
  import Foundation
  import HTTPTypes
  import NIOCore
  import NIOHTTP1
  import ReactorCore

  extension HTTPClientRequest {
    /// Creates the client's request, and reports each piece of the body as it is sent.
    ///
    /// - Throws: `ReactorError/invalidResource(_:)` for a request without an address. The client
    ///   also supports schemes for sockets of this machine, which are refused here.
    init(_ request: HTTPRequest, body: Data?, report: TransferReport) throws(ReactorError) {
      guard let scheme = request.scheme?.lowercased(), scheme == "http" || scheme == "https",
        let authority = request.authority, !authority.isEmpty, let path = request.path, path.hasPrefix("/"),
        let url = URL(string: "\(scheme)://\(authority)\(path)"), url.host()?.isEmpty == false,
        (0...65_535).contains(url.port ?? 0)
      else { throw .invalidResource("the request needs an http or https URL with a host and a path") }
      self.init(url: "\(scheme)://\(authority)\(path)")
      method = HTTPMethod(rawValue: request.method.rawValue)
      for field in request.headerFields { headers.add(name: field.name.rawName, value: field.value) }
      if let body, !body.isEmpty {
        self.body = .stream(BodyPieces(body: body, report: report), length: .known(Int64(body.count)))
      }
    }
  }

  extension HTTPClientResponse {
    /// Returns the status and the fields, in their order and with duplicates.
    ///
    /// - Throws: `TransportError/tooManyFields(limit:request:)`. Only later releases of SwiftNIO
    ///   limit the fields of HTTP/1.1, to 256.
    func converted() throws -> HTTPResponse {
      guard (0...999).contains(status.code) else { throw TransportError.invalidResponse("the status \(status.code)") }
      try FieldLimit.check(headers.count)
      var response = HTTPResponse(status: .init(code: Int(status.code), reasonPhrase: status.reasonPhrase))
      for field in headers {
        if let name = HTTPField.Name(field.name) {
          response.headerFields.append(HTTPField(name: name, value: field.value))
        }
      }
      return response
    }
  }

  extension HTTPResponse {
    /// Returns the response without the fields of the coded body, if a client of the caller decoded
    /// it.
    ///
    /// Such a client does not show whether it decodes. A body that is still coded has the first
    /// bytes of its coding (RFC 1952 §2.3.1, RFC 1950 §2.2).
    func decoded(byClientOf body: Data) -> HTTPResponse {
      let start = body.prefix(2).reduce(0) { $0 << 8 | Int($1) }
      let isDecoded =
        switch contentCodings {
        case ["gzip"]: start != 0x1F8B
        case ["deflate"]: start >> 8 & 0xF != 8 || !start.isMultiple(of: 31)
        default: false
        }
      return isDecoded ? decoded() : self
    }
  }
#endif
