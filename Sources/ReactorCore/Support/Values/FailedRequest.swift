package import Foundation
package import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The request that failed: its method, host and path, and never its query.
///
/// It travels in what the error carries: an associated value, the response's header fields, or the
/// `userInfo` of a `URLError`. The errors of a middleware have no place for it.
struct FailedRequest: Sendable {
  let text: String

  init(_ request: HTTPRequest) {
    let path = request.path?.prefix { $0 != "?" && $0 != "#" } ?? ""
    text = "\(request.method.rawValue) \(request.authority ?? "")\(path)"
  }

  /// Returns `error` with the request attached, unless it has one already, from a middleware that
  /// sent its own request.
  func attached(to error: any Error) -> any Error {
    switch error {
    case let error as ReactorError: attached(to: error)
    case let error as ParserError: attached(to: error)
    case let error as TransportError: error.naming(text)
    case let error as URLError where error.errorUserInfo[Self.key] == nil:
      URLError(error.code, userInfo: error.errorUserInfo.merging([Self.key: text]) { own, _ in own })
    default: error
    }
  }

  func attached(to error: ReactorError) -> ReactorError {
    switch error {
    case .server(var response, let body) where response.headerFields[Self.field] == nil:
      response.headerFields[Self.field] = text
      return .server(response, body: body)
    case .timedOut(nil): return .timedOut(request: text)
    case .network(let cause): return .network(attached(to: cause))
    case .parser(let cause): return .parser(attached(to: cause))
    default: return error
    }
  }

  /// Returns `error` with the request.
  ///
  /// - Parameter isUnsent: `true` for the error of an outage.
  func named(_ error: any Error, isUnsent: Bool) -> any Error {
    isUnsent ? inOutage(error) : attached(to: error)
  }

  /// Returns the error of an outage, with which an earlier request has failed, for a request that
  /// was therefore not sent. If the earlier one was for another resource, the text has both.
  private func inOutage(_ error: any Error) -> any Error {
    guard let error = error as? ReactorError, let earlier = Self.text(of: error), earlier != text else { return error }
    return FailedRequest(text: "\(text)\(Self.unsent)\(earlier) failed)").replacing(in: error)
  }

  /// No method, host or path contains a space.
  private static let unsent = " (not sent, since "

  /// The request in the words of a description, and without the words about an outage.
  static func requestOnly(_ text: String) -> String {
    text.range(of: unsent).map { String(text[..<$0.lowerBound]) } ?? text
  }

  private init(text: String) { self.text = text }

  /// Returns the error with this request in place of its own.
  private func replacing(in error: ReactorError) -> ReactorError {
    switch error {
    case .server(var response, let body):
      response.headerFields[Self.field] = text
      return .server(response, body: body)
    case .timedOut: return .timedOut(request: text)
    case .network(let cause as ReactorError): return .network(replacing(in: cause))
    case .network(let cause as TransportError): return .network(cause.naming(text, replacing: true))
    case .network(let cause as URLError):
      return .network(URLError(cause.code, userInfo: cause.errorUserInfo.merging([Self.key: text]) { $1 }))
    default: return error
    }
  }

  private func attached(to error: ParserError) -> ParserError {
    var error = error
    error.request = error.request ?? text
    return error
  }

  static func text(of error: ReactorError) -> String? {
    switch error {
    case .server(let response, _): response.headerFields[field]
    case .network(let error as ReactorError): text(of: error)
    case .network(let error as URLError): error.errorUserInfo[key] as? String
    case .network(let error as TransportError): error.request
    case .timedOut(let request): request
    case .parser(let error): error.request
    default: nil
    }
  }

  private static let key = "ReactorRequest"
  private static let field = HTTPField.Name.reactorRequest
}

extension HTTPField.Name {
  /// The name of a field in the response of ``ReactorError/server(_:body:)`` that no server sent:
  /// it holds the request.
  static let reactorRequest = HTTPField.Name("Reactor-Request") ?? .from
  /// The name of such a field for a body that was not saved with the status: it holds the size in
  /// bytes, or nothing if that is unknown.
  static let reactorBody = HTTPField.Name("Reactor-Unsaved-Body") ?? .from
}

extension ReactorError {
  /// Creates the error of a saved answer that was not a success.
  ///
  /// - Parameters:
  ///   - request: the request, with its full URL; `nil` if it is unknown.
  ///   - body: the body; `nil` if it was not saved.
  ///   - size: the size of a body that was not saved; `nil` if it is unknown.
  package init(
    savedStatus status: Int, of request: HTTPRequest?, contentType: String?, body: Data?, size: Int?
  ) {
    var response = HTTPResponse(status: HTTPResponse.Status(code: status))
    if let contentType, HTTPField.isValidValue(contentType) { response.headerFields[.contentType] = contentType }
    if body == nil { response.headerFields[.reactorBody] = size.map { "\($0)" } ?? "" }
    self = .server(response, body: body ?? Data())
    if let request { self = naming(request) }
  }

  /// Returns the error with the request in its text, unless it has one already.
  package func naming(_ request: HTTPRequest) -> ReactorError { FailedRequest(request).attached(to: self) }

  /// The size of a body in words.
  static func size(of body: Data, in response: HTTPResponse) -> String {
    // A server may send the field, too, with any value.
    guard body.isEmpty, let size = response.headerFields[.reactorBody] else { return " with \(body.count) bytes" }
    return Int(size).map { " with \($0) bytes, which were not saved" } ?? "; its body was not saved"
  }
}

extension HTTPResponse {
  /// Returns the announced size of the body in bytes (RFC 9110 §8.6); `nil` if no size is
  /// announced, or if `Content-Length` describes something else, as for a HEAD response or a body
  /// with a content coding.
  package func announcedLength(of method: HTTPRequest.Method) -> Int? {
    guard method != .head, status != .noContent, status != .notModified, !isCoded,
      headerFields[.transferEncoding] == nil
    else { return nil }
    return headerFields[.contentLength].flatMap { Int($0) }
  }

  /// A Boolean value that indicates whether `Content-Length` is malformed, which makes the response
  /// unusable (RFC 9112 §6.3). A list that repeats one number is valid.
  package var hasInvalidLength: Bool {
    guard headerFields[.transferEncoding] == nil, let field = headerFields[.contentLength] else { return false }
    let lengths = Set(field.filter { $0 != " " }.split(separator: ",", omittingEmptySubsequences: false))
    return lengths.count != 1 || lengths.contains { $0.isEmpty || !$0.utf8.allSatisfy { (48...57).contains($0) } }
  }

  /// A Boolean value that indicates whether the body has a content coding, so that it differs from
  /// the bytes on the wire.
  package var isCoded: Bool { contentCodings.contains { $0 != "identity" } }

  /// The content codings, in the order in which they were applied, in lower case (RFC 9110 §8.4).
  package var contentCodings: [String] {
    (headerFields[.contentEncoding] ?? "").lowercased().filter { $0 != " " && $0 != "\t" }.split(separator: ",").map(
      String.init)
  }
}
