import Foundation
import HTTPTypes

/// The response to a request.
struct InspectorResponse: Sendable {
  var status: HTTPResponse.Status = .ok
  var fields: HTTPFields = [:]
  let content: InspectorBody.Content

  static func text(_ status: HTTPResponse.Status, _ text: String, _ fields: HTTPFields = [:]) -> InspectorResponse {
    var fields = fields
    if !text.isEmpty { fields[.contentType] = "text/plain; charset=utf-8" }
    return InspectorResponse(status: status, fields: fields, content: .whole(Data(text.utf8)))
  }

  static func json(_ value: some Encodable) -> InspectorResponse {
    guard let data = try? JSONEncoder().encode(value) else {
      return .text(.internalServerError, "the answer could not be encoded as JSON")
    }
    return InspectorResponse(fields: [.contentType: "application/json"], content: .whole(data))
  }

  static func live(_ feed: LiveFeed) -> InspectorResponse {
    InspectorResponse(fields: [.contentType: "text/event-stream"], content: .live(feed))
  }

  /// The response with the header fields that every response has, and its body.
  var message: (response: HTTPResponse, body: InspectorBody) {
    var fields = fields
    fields[.cacheControl] = "no-store"
    fields[.xContentTypeOptions] = "nosniff"
    for (name, value) in [
      ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"), ("Referrer-Policy", "no-referrer"),
      ("Cross-Origin-Resource-Policy", "same-origin"),
    ] {
      guard let name = HTTPField.Name(name), fields[name] == nil else { continue }
      fields[name] = value
    }
    return (HTTPResponse(status: status, headerFields: fields), InspectorBody(content))
  }
}
