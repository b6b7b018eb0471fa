import Foundation
package import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The request that an error is about: its method, host and path, and never its query.
///
/// An error's cases have no place for it, so it is attached to what they carry: the response's
/// fields, the `userInfo` of a `URLError`, the ``ParserError``.
struct FailedRequest: Sendable {
  let text: String

  init(_ request: HTTPRequest) {
    let path = request.path?.prefix { $0 != "?" && $0 != "#" } ?? ""
    text = "\(request.method.rawValue) \(request.authority ?? "")\(path)"
  }

  /// `error` with the request, unless it has one, as that of a request which a middleware sent.
  func attached(to error: any Error) -> any Error {
    switch error {
    case let error as ReactorError: attached(to: error)
    case let error as ParserError: attached(to: error)
    case let error as URLError where error.errorUserInfo[Self.key] == nil:
      URLError(error.code, userInfo: error.errorUserInfo.merging([Self.key: text]) { own, _ in own })
    default: error
    }
  }

  private func attached(to error: ReactorError) -> ReactorError {
    switch error {
    case .server(var response, let body) where response.headerFields[Self.field] == nil:
      response.headerFields[Self.field] = text
      return .server(response, body: body)
    case .network(let cause): return .network(attached(to: cause))
    case .parser(let cause): return .parser(attached(to: cause))
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
    case .parser(let error): error.request
    default: nil
    }
  }

  private static let key = "ReactorRequest"
  private static let field = HTTPField.Name.reactorRequest
}

extension HTTPField.Name {
  /// The name of the field that ``ReactorError/server(_:body:)`` has and no server sent.
  static let reactorRequest = HTTPField.Name("Reactor-Request") ?? .from
}

extension HTTPResponse {
  /// The size of the body to come over the wire (RFC 9110 §8.6); `nil` where none is announced, or it is that of something else.
  package func announcedLength(of method: HTTPRequest.Method) -> Int? {
    guard method != .head, status != .noContent, status != .notModified, !isCoded,
      headerFields[.transferEncoding] == nil
    else { return nil }
    return headerFields[.contentLength].flatMap { Int($0) }
  }

  /// A Boolean value that indicates whether the announced length is none, which makes the response
  /// unusable (RFC 9112 §6.3). The same number several times is one.
  package var hasInvalidLength: Bool {
    guard headerFields[.transferEncoding] == nil, let field = headerFields[.contentLength] else { return false }
    let lengths = Set(field.filter { $0 != " " }.split(separator: ",", omittingEmptySubsequences: false))
    return lengths.count != 1 || lengths.contains { $0.isEmpty || !$0.utf8.allSatisfy { (48...57).contains($0) } }
  }

  /// A Boolean value that indicates whether the body is not what went over the wire.
  package var isCoded: Bool { contentCodings.contains { $0 != "identity" } }

  /// In the order in which they were applied, in lower case (RFC 9110 §8.4).
  package var contentCodings: [String] {
    (headerFields[.contentEncoding] ?? "").lowercased().filter { $0 != " " && $0 != "\t" }.split(separator: ",").map(
      String.init)
  }
}
