import FastJSON
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
      body = try encoder.map { try FastJSONEncoder.encoding(as: $0)(json) } ?? Self.sortedKeys.encode(json)
    } catch {
      throw .invalidResource("the body, a \(type(of: json)), cannot be encoded as JSON: \(Redaction.describe(error))")
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

  /// Creates a request whose body is an HTML form: names and values in
  /// `application/x-www-form-urlencoded`.
  ///
  /// ```swift
  /// let search = Resource("contacts", method: .query, form: ["name": text])
  /// ```
  ///
  /// The request has `Content-Type: application/x-www-form-urlencoded`, unless `headers` sets
  /// another.
  ///
  /// - Parameter form: The fields, in order. A space becomes `+`, and each byte that is neither an
  ///   ASCII letter, a digit nor one of `*-._` is percent-encoded (WHATWG URL, section 5.2).
  public init(
    _ path: Path, method: HTTPRequest.Method, query: KeyValuePairs<String, String> = [:],
    headers: HTTPFields = [:], form: KeyValuePairs<String, String>
  ) {
    let text = form.map { "\(Self.formEncoded($0.key))=\(Self.formEncoded($0.value))" }.joined(separator: "&")
    self.init(path, method: method, query: query, headers: headers, body: Data(text.utf8))
    if headers[.contentType] == nil { self.headers[.contentType] = "application/x-www-form-urlencoded" }
  }

  private static func formEncoded(_ text: String) -> String {
    var encoded = ""
    for byte in text.utf8 {
      let scalar = Unicode.Scalar(byte)
      switch scalar {
      case " ": encoded += "+"
      case "a"..."z", "A"..."Z", "0"..."9", "*", "-", ".", "_": encoded.unicodeScalars.append(scalar)
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        encoded += "%\(digits.count == 1 ? "0" : "")\(digits)"
      }
    }
    return encoded
  }

  /// A Boolean value that indicates whether the body is too large to be part of a key. The response
  /// is then not stored.
  var isTooLargeForKey: Bool { method == .query && body?.count ?? 0 > HTTPCache.largestQueryBody }

  private static let sortedKeys = {
    let encoder = FastJSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }()
}

extension Resource {
  /// Creates an upload of a form.
  ///
  /// ```swift
  /// let upload = Resource("photos", form: [.file("photo", at: file, contentType: "image/jpeg")])
  /// ```
  ///
  /// The `Content-Type` of the request is that of the form, whatever `headers` says.
  public init(
    _ path: Path, method: HTTPRequest.Method = .post, query: KeyValuePairs<String, String> = [:],
    headers: HTTPFields = [:], form: MultipartForm
  ) {
    self.init(path, method: method, query: query, headers: headers)
    self.form = form
  }

  /// Creates an upload of a form, with a path from a `String`, used as written.
  ///
  /// A literal path is a ``Path``, in which interpolated values are percent-encoded.
  @_disfavoredOverload public init(
    _ path: some StringProtocol, method: HTTPRequest.Method = .post, query: KeyValuePairs<String, String> = [:],
    headers: HTTPFields = [:], form: MultipartForm
  ) {
    self.init(Path(text: String(path)), method: method, query: query, headers: headers, form: form)
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
