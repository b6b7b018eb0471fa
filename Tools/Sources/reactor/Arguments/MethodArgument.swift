import ArgumentParser
import HTTPTypes

/// An HTTP method of the command line, in any case.
enum MethodArgument {
  static func parse(_ text: String) throws -> HTTPRequest.Method {
    guard let method = HTTPRequest.Method(rawValue: text.uppercased()) else {
      throw ValidationError("the name is not an HTTP method (RFC 9110 §9.1); use GET, POST, PUT, PATCH or DELETE")
    }
    return method
  }
}

extension HTTPRequest.Method {
  /// A Boolean value that indicates whether requests with the method can be coalesced, stored and
  /// watched.
  var readsOnly: Bool { self == .get || self == .head }
}
