import Foundation
import Hummingbird

/// A refusal that says which field of the request's body is wrong (RFC 9457).
struct Problem: Error {
  var title: String
  /// The name of the field.
  var field: String
  /// The reason, for the reader.
  var detail: String
}

extension Problem: HTTPResponseError {
  var status: HTTPResponse.Status { .unprocessableContent }

  private struct Body: Encodable {
    struct Member: Encodable {
      var detail: String
      /// A JSON Pointer in a fragment.
      var pointer: String
    }

    var title: String
    var status: Int
    var detail: String
    var errors: [Member]
  }

  func response(from request: Request, context: some RequestContext) throws -> Response {
    let body = Body(
      title: title, status: status.code, detail: detail, errors: [Body.Member(detail: detail, pointer: "#/\(field)")])
    return Response(
      status: status, headers: [.contentType: "application/problem+json"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(body))))
  }
}
