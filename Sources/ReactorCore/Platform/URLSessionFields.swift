import Foundation
import HTTPTypes
import HTTPTypesFoundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLRequest {
  /// - Throws: ``ReactorError/invalidResource(_:)`` for what `URLSession` cannot send.
  init(_ request: HTTPRequest, body: Data?) throws(ReactorError) {
    guard let scheme = request.scheme?.lowercased(), scheme == "http" || scheme == "https", request.url?.host != nil,
      var made = URLRequest(httpRequest: request)
    else {
      throw .invalidResource("the request needs http or https, a host and a path")
    }
    if let body, !body.isEmpty {
      if request.method == .get {
        throw .invalidResource("URLSession sends no body with GET; use POST or QUERY, or the query")
      }
      made.httpBody = body
    }
    #if canImport(FoundationNetworking)
      // Linux writes a field's text as UTF-8, where Apple platforms write it as Latin-1.
      for name in Set(request.headerFields.map(\.name)) {
        made.setValue(request.headerFields[name], forHTTPHeaderField: name.rawName)
      }
    #endif
    self = made
  }
}

extension HTTPURLResponse {
  /// Status and fields, in the order of their names; `nil` for what is no status, and for more fields than ``FieldLimit``.
  var received: HTTPResponse? {
    guard allHeaderFields.count <= FieldLimit.count else { return nil }
    #if canImport(FoundationNetworking)
      guard (0...999).contains(statusCode) else { return nil }
      var response = HTTPResponse(status: .init(code: statusCode))
      for case (let name as String, let value as String) in allHeaderFields {
        if let name = HTTPField.Name(name) { response.headerFields.append(HTTPField(name: name, value: value)) }
      }
    #else
      guard var response = httpResponse else { return nil }
    #endif
    response.headerFields = HTTPFields(response.headerFields.sorted { $0.name.rawName < $1.name.rawName })
    return response
  }
}
