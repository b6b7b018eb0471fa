public import Foundation
public import HTTPTypes

extension Resource {
  /// Creates a request whose body is JSON.
  ///
  /// ```swift
  /// let resource = try Resource("articles", method: .post, json: draft)
  /// ```
  ///
  /// The request has `Content-Type: application/json`, unless `headers` sets another.
  ///
  /// - Parameter encoder: The encoder. The default sorts the keys, so that equal values have equal
  ///   bodies and equal record keys.
  /// - Throws: ``ReactorError/invalidResource(_:)`` if the value cannot be encoded.
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

  /// Creates a request whose body is JSON, with a path from a `String`, used as written.
  ///
  /// A literal path is a ``Path``, in which interpolated values are percent-encoded.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` if the value cannot be encoded.
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

  /// Returns the reason and the place of the failure, without the value, which may be a secret.
  private static func reason(_ error: any Error) -> String {
    guard case EncodingError.invalidValue(_, let context)? = error as? EncodingError else {
      return Redaction.describe(error)
    }
    let path = context.codingPath.map(\.stringValue).joined(separator: ".")
    return "\(context.debugDescription)\(path.isEmpty ? "" : " (at \(path))")"
  }
}

extension Resource {
  /// Returns the resource with the bytes of a file as its body.
  ///
  /// ```swift
  /// let upload = try Resource("photos", method: .post).body(contentsOf: file)
  /// ```
  ///
  /// The file is mapped into memory if its file system allows that, and read otherwise. Do not
  /// change it until the fetch has ended: truncating a mapped file ends the process.
  ///
  /// `AsyncHTTPClientTransport` copies the body piece by piece while it is sent.
  /// ``URLSessionTransport`` passes it to the platform, which copies all of it on Linux.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` if the file cannot be read.
  public func body(contentsOf file: URL) throws(ReactorError) -> Resource {
    var resource = self
    do {
      resource.body = try Data(contentsOf: file, options: .mappedIfSafe)
    } catch {
      throw .invalidResource(
        "the file \(file.lastPathComponent) for the body cannot be read: \(error.localizedDescription)")
    }
    return resource
  }
}
