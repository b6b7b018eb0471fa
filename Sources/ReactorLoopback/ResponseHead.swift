package import Foundation
import HTTPTypes

/// The head of an HTTP/1.1 response.
package enum ResponseHead {
  /// Returns the bytes of the status line and the header fields, with the empty line.
  package static func bytes(_ code: Int, _ fields: [(String, String)]) -> Data {
    let reason = (100...599).contains(code) ? HTTPResponse.Status(integerLiteral: code).reasonPhrase : ""
    let lines = ["HTTP/1.1 \(code) \(reason)"] + fields.map { "\($0.0): \($0.1)" }
    return Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
  }
}
