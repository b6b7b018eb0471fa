import Foundation
import HTTPTypes

extension ReactorError {
  /// The problem that a server describes in a response of type `application/problem+json`
  /// (RFC 9457).
  ///
  /// ```swift
  /// catch {
  ///   if let balance = try error.problem?.member("balance", as: Int.self) { … }
  /// }
  /// ```
  ///
  /// A standard member of a wrong type counts as missing, and the rest stands (RFC 9457 §3.1). The
  /// texts are the server's: show them as plain text, and do not log them.
  public struct ProblemDetails: Sendable, Hashable {
    /// The type of the problem: a URI reference, as the server wrote it. `about:blank` if there is
    /// none, which says no more than the status.
    public let type: String
    /// The summary of the type, the same for all problems of it.
    public let title: String?
    /// The status as the server meant it. The status of the response counts.
    public let status: Int?
    /// The explanation of this problem.
    public let detail: String?
    /// A URI reference of this problem, as the server wrote it.
    public let instance: String?
    private let members: [String: JSONValue]

    init(_ members: [String: JSONValue]) {
      self.members = members
      type = members["type"]?.text ?? "about:blank"
      title = members["title"]?.text
      if case .integer(let number)? = members["status"] { status = Int(exactly: number) } else { status = nil }
      detail = members["detail"]?.text
      instance = members["instance"]?.text
    }

    /// Returns a member by its name, such as an extension of the problem's type (RFC 9457 §3.2).
    ///
    /// ```swift
    /// let balance = try error.problem?.member("balance", as: Int.self)
    /// ```
    ///
    /// - Returns: `nil` if there is no such member.
    /// - Throws: A `DecodingError` if the member is not a `Value`.
    public func member<Value: Decodable>(_ name: String, as type: Value.Type = Value.self) throws -> Value? {
      guard let member = members[name] else { return nil }
      return try JSONDecoder().decode(Value.self, from: member.data())
    }
  }

  /// A server's message about one field of a form; see ``ReactorError/fieldErrors``.
  public struct FieldError: Sendable, Hashable {
    /// The path of the field in the body that was sent: names and indices, joined by dots, such as
    /// `items.0.title`.
    public let path: String
    /// The message, in the server's words.
    public let message: String
  }

  /// The problem that the server describes (RFC 9457).
  ///
  /// ```swift
  /// do {
  ///   try await layer.send(order)
  /// } catch {
  ///   show(error.problem?.detail ?? error.localizedDescription)
  /// }
  /// ```
  ///
  /// `nil` for another error, another media type, a body that is no JSON object, and one over
  /// 64 KiB. It is parsed at each call.
  public var problem: ProblemDetails? {
    guard case .server(let response, _) = self, response.headerFields[.contentType].map(Self.isProblem) == true
    else { return nil }
    return errorBody.map { ProblemDetails($0.members) }
  }

  /// The server's message for the user, from JSON of any media type: the `detail` or `title` of a
  /// problem, or the `message`, `error_description` or `error` of other APIs.
  ///
  /// ```swift
  /// catch { show(error.serverMessage ?? "That did not work.") }
  /// ```
  ///
  /// `nil` if there is none, and if the body is over 64 KiB. The text is the server's, and no part
  /// of `description`: show it as plain text, and do not log it.
  public var serverMessage: String? { errorBody?.message }

  /// The server's messages about fields of the body that was sent; at most 100.
  ///
  /// ```swift
  /// catch { form.show(error.fieldErrors) }
  /// ```
  ///
  /// They are read from the five shapes that most frameworks have: `errors` as a list of `detail`
  /// and `pointer` (RFC 9457), as an object of lists (ASP.NET, Laravel), or as a list of `field`
  /// and
  /// `message` (Spring), and `detail` as a list of `loc` and `msg` (FastAPI).
  public var fieldErrors: [FieldError] { errorBody?.fieldErrors ?? [] }

  private static func isProblem(_ contentType: String) -> Bool {
    contentType.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased() == "application/problem+json"
  }

  private var errorBody: ErrorBody? {
    switch self {
    case .server(_, let body): ErrorBody(body)
    case .network(let error as ReactorError): error.errorBody
    default: nil
    }
  }
}

/// The JSON object with which a server explains an error, in one of the shapes of frameworks.
struct ErrorBody {
  let members: [String: JSONValue]

  private static let (largest, fieldLimit) = (65_536, 100)

  /// Returns `nil` for a body that is no JSON object, or too large.
  init?(_ body: Data) {
    guard !body.isEmpty, body.count <= Self.largest, case .object(let members)? = try? JSONValue(parsing: body)
    else { return nil }
    self.members = members
  }

  var message: String? {
    for name in ["detail", "message", "error_description", "title"] {
      if let text = members[name]?.text, !text.isEmpty { return text }
    }
    guard let error = members["error"] else { return nil }
    return error.text ?? error["message"]?.text
  }

  var fieldErrors: [ReactorError.FieldError] {
    var found: [ReactorError.FieldError] = []
    switch members["errors"] {
    case .object(let fields)?:
      for name in fields.keys.sorted() {
        for text in fields[name]?.texts ?? [] { found.append(.init(path: Self.path(ofKey: name), message: text)) }
      }
    case .array(let errors)?: found = errors.compactMap(Self.fieldError)
    default: if case .array(let errors)? = members["detail"] { found = errors.compactMap(Self.fieldError) }
    }
    return Array(found.prefix(Self.fieldLimit))
  }

  /// Reads one element of a list.
  private static func fieldError(_ error: JSONValue) -> ReactorError.FieldError? {
    let texts = ["detail", "message", "msg", "defaultMessage", "title"]
    guard let message = texts.lazy.compactMap({ error[$0]?.text }).first else { return nil }
    if case .array(let location)? = error["loc"] {
      // The first one names the part of the request, which may be its query or a header field.
      guard location.first?.text == "body" else { return nil }
      return .init(path: location.dropFirst().compactMap(\.name).joined(separator: "."), message: message)
    }
    if let pointer = error["pointer"]?.text ?? error["source.pointer"]?.text {
      return .init(path: path(ofPointer: pointer), message: message)
    }
    return error["field"]?.text.map { .init(path: path(ofKey: $0), message: message) }
  }

  /// Returns the path of a JSON Pointer (RFC 6901), which may be the fragment of a URI.
  private static func path(ofPointer pointer: String) -> String {
    let isFragment = pointer.hasPrefix("#")
    let text = isFragment ? String(pointer.dropFirst()).removingPercentEncoding ?? pointer : pointer
    return text.split(separator: "/").map {
      $0.replacingOccurrences(of: "~1", with: "/").replacingOccurrences(of: "~0", with: "~")
    }.joined(separator: ".")
  }

  /// Returns the path of a name as ASP.NET and Spring write it: `$.items[0].title`.
  private static func path(ofKey key: String) -> String {
    let rest = key.hasPrefix("$.") ? key.dropFirst(2) : key[...]
    return rest.split { ".[]".contains($0) }.joined(separator: ".")
  }
}

extension JSONValue {
  fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }

  /// A string, or the strings of a list.
  fileprivate var texts: [String] {
    switch self {
    case .string(let text): [text]
    case .array(let elements): elements.compactMap(\.text)
    default: []
    }
  }

  /// A part of a path.
  fileprivate var name: String? {
    switch self {
    case .string(let text): text
    case .integer(let index): "\(index)"
    default: nil
    }
  }
}
