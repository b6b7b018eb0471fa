import Foundation
import HTTPTypes

/// A response made of a stored record (RFC 9111 §4): with `Age`, and where the request says so 304, or a part of the body.
enum StoredAnswer {
  /// - Parameter age: in seconds.
  static func make(_ record: Record, for request: HTTPRequest, age: Double) -> (HTTPResponse, Data) {
    var response = HTTPResponse(status: record.head.status, headerFields: record.head.fields)
    response.headerFields[.age] = String(Int64(min(max(0, age), Double(DeltaSeconds.greatest))))
    if Precondition.isNotModified(request.headerFields, record.head) { return (notModified(response), Data()) }
    guard request.method == .get, record.head.status == .ok, let range = ByteRange(request.headerFields),
      Precondition.allowsRange(request.headerFields, record.head)
    else { return (response, request.method == .head ? Data() : record.body) }
    return part(range, of: record.body, response)
  }

  /// RFC 9110 §15.4.5: what describes the body is left out.
  private static func notModified(_ response: HTTPResponse) -> HTTPResponse {
    var response = response
    response.status = .notModified
    for name in [.contentLength, .contentEncoding, .contentType, .contentRange] as [HTTPField.Name] {
      response.headerFields[name] = nil
    }
    return response
  }

  /// RFC 9110 §15.3.7 and §15.5.17.
  private static func part(_ range: ByteRange, of body: Data, _ whole: HTTPResponse) -> (HTTPResponse, Data) {
    var response = whole
    guard let bytes = range.resolved(count: body.count) else {
      response.status = .rangeNotSatisfiable
      response.headerFields[.contentRange] = "bytes */\(body.count)"
      response.headerFields[.contentLength] = "0"
      return (response, Data())
    }
    let part = body[body.startIndex + bytes.lowerBound..<body.startIndex + bytes.upperBound]
    response.status = .partialContent
    response.headerFields[.contentRange] = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(body.count)"
    response.headerFields[.contentLength] = String(part.count)
    return (response, Data(part))
  }
}
