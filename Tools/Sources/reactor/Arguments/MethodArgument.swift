import ArgumentParser
import HTTPTypes

/// An HTTP method of the command line, in any case.
enum MethodArgument {
  static func parse(_ text: String) throws -> HTTPRequest.Method {
    guard let method = HTTPRequest.Method(rawValue: text.uppercased()) else {
      throw ValidationError(
        "the name is not an HTTP method (RFC 9110 §9.1); use GET, QUERY, POST, PUT, PATCH or DELETE")
    }
    return method
  }
}

extension HTTPRequest.Method {
  /// A Boolean value that indicates whether responses to the method can be shared, stored and
  /// watched: the methods for which `Resource.isReadOnly` is true by default.
  var readsOnly: Bool { self == .get || self == .head || self == .query }

  /// A Boolean value that indicates whether a request changes nothing on the server (RFC 9110
  /// §9.2.1). Even so, responses to OPTIONS and TRACE are not stored (§9.3.7, §9.3.8).
  var isSafe: Bool { readsOnly || self == .options || self == .trace }
}
