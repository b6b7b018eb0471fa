import CReactorInspectorPage
import Foundation
import HTTPTypes

/// The page: one HTML file. A nonce of each response permits its style and script, and no others.
enum Page {
  static func response(path: String, token: String, isReadOnly: Bool) -> InspectorResponse {
    let nonce = Inspector.random()
    let html = source.replacingOccurrences(of: "{{nonce}}", with: nonce)
      .replacingOccurrences(of: "{{token}}", with: token)
      .replacingOccurrences(of: "{{read-only}}", with: isReadOnly ? "read-only" : "")
      .replacingOccurrences(of: "{{path}}", with: escaped(path))
    let policy = [
      "default-src 'none'", "style-src 'nonce-\(nonce)'", "script-src 'nonce-\(nonce)'", "connect-src 'self'",
      "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ]
    var fields: HTTPFields = [.contentType: "text/html; charset=utf-8"]
    if let name = HTTPField.Name("Content-Security-Policy") { fields[name] = policy.joined(separator: "; ") }
    return InspectorResponse(fields: fields, content: .whole(Data(html.utf8)))
  }

  private static var source: String {
    var count = 0
    let bytes = reactor_inspector_page(&count)
    return String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  /// Returns `text` escaped for an attribute in double quotes.
  private static func escaped(_ text: String) -> String {
    text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "\"", with: "&quot;")
      .replacingOccurrences(of: "<", with: "&lt;")
  }
}
