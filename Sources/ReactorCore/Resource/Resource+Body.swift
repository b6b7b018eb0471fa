public import Foundation
public import HTTPTypes

extension Resource {
  /// A request whose body is `json`, encoded, with `Content-Type: application/json` unless `headers` has one.
  ///
  /// ```swift
  /// let resource = try Resource("articles", method: .post, json: draft)
  /// ```
  ///
  /// - Parameter encoder: by default one that sorts the keys, so that equal values make equal bodies and equal keys.
  /// - Throws: ``ReactorError/invalidResource(_:)`` where the value cannot be encoded.
  public init(
    _ path: Path, method: HTTPRequest.Method, query: KeyValuePairs<String, String> = [:],
    headers: HTTPFields = [:], json: some Encodable, encoder: JSONEncoder? = nil
  ) throws(ReactorError) {
    let body: Data
    do {
      body = try (encoder ?? Self.sortedKeys()).encode(json)
    } catch {
      throw .invalidResource("the body, a \(type(of: json)), cannot be encoded as JSON: \(Self.reason(error))")
    }
    self.init(path, method: method, query: query, headers: headers, body: body)
    if headers[.contentType] == nil { self.headers[.contentType] = "application/json" }
  }

  /// The same with a path that the program has as a string, taken as it is written.
  @_disfavoredOverload public init(
    _ path: some StringProtocol, method: HTTPRequest.Method, query: KeyValuePairs<String, String> = [:],
    headers: HTTPFields = [:], json: some Encodable, encoder: JSONEncoder? = nil
  ) throws(ReactorError) {
    try self.init(
      Path(text: String(path)), method: method, query: query, headers: headers, json: json, encoder: encoder)
  }

  private static func sortedKeys() -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }

  /// Where the encoding failed, without the value, which may be a secret.
  private static func reason(_ error: any Error) -> String {
    guard case EncodingError.invalidValue(_, let context)? = error as? EncodingError else {
      return Redaction.describe(error)
    }
    let path = context.codingPath.map(\.stringValue).joined(separator: ".")
    return "\(context.debugDescription)\(path.isEmpty ? "" : " (at \(path))")"
  }
}

extension Resource {
  /// The same resource with a file's bytes as its body.
  ///
  /// The file is mapped into memory where its file system allows that, and read where not. It must stay as it is until the fetch has
  /// ended: a mapped file that becomes shorter ends the process. `AsyncHTTPClientTransport` copies it piece by piece as it goes
  /// out; ``URLSessionTransport`` hands it to the platform, which on Linux makes a copy of it.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` where the file cannot be read.
  public func body(contentsOf file: URL) throws(ReactorError) -> Resource {
    var resource = self
    do {
      resource.body = try Data(contentsOf: file, options: .mappedIfSafe)
    } catch {
      throw .invalidResource("the body's file \(file.lastPathComponent) cannot be read: \(error.localizedDescription)")
    }
    return resource
  }
}
