import ArgumentParser
import HTTPTypes

/// An HTTP method as it is written on the command line, in either case.
enum MethodArgument {
  static func parse(_ text: String) throws -> HTTPRequest.Method {
    guard let method = HTTPRequest.Method(rawValue: text.uppercased()) else {
      throw ValidationError("it is no method (RFC 9110 §9.1); GET, POST, PUT, PATCH and DELETE are")
    }
    return method
  }
}

extension HTTPRequest.Method {
  /// Whether a request by it can be coalesced, stored and watched.
  var readsOnly: Bool { self == .get || self == .head }
}
