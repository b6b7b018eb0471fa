public import Foundation

/// A parsing failure: the reason, the place in the body, and what was expected.
public struct ParserError: Error, Sendable, Hashable {
  /// The kind of failure.
  public enum Reason: String, Sendable, Hashable {
    /// The body is empty.
    case empty
    /// The bytes are not JSON (RFC 8259).
    case notJSON
    /// The JSON is nested deeper than ``JSONValue/maximumDepth``.
    case tooDeep
    /// An object has no member of the expected name.
    case missing
    /// A value has the wrong type.
    case wrongType
    /// A value has the right type but is invalid: a number that does not fit, or a string that is
    /// not a date.
    case unacceptable
    /// The model's type can be neither parsed nor encoded.
    case unsupported
  }

  /// A place in the body.
  public struct Position: Sendable, Hashable, CustomStringConvertible {
    /// The number of bytes before it.
    public var offset: Int
    /// The line, counted from 1.
    public var line: Int
    /// The column in bytes, counted from 1.
    public var column: Int

    /// Creates a position, for your own parser.
    ///
    /// ```swift
    /// throw ParserError(.wrongType, codingPath: "articles[3].title", expected: "a string")
    /// ```
    public init(offset: Int, line: Int, column: Int) {
      self.offset = offset
      self.line = line
      self.column = column
    }

    /// The position in words: `line 3, column 7 (byte 42)`.
    public var description: String { "line \(line), column \(column) (byte \(offset))" }
  }

  /// The kind of failure.
  public var reason: Reason
  /// The path from the root of the body, such as `data.articles[3].title`; empty for the root
  /// itself.
  public var codingPath: String
  /// The expectation, in words.
  public var expected: String
  /// The place in the body; `nil` if unknown.
  public var position: Position?
  /// The body from ``position`` on, at most 80 bytes.
  public var excerpt: String?
  /// The request whose response was parsed, in the form of ``ReactorError/request``; `nil` if the
  /// bytes came from elsewhere. Not part of `description`.
  public internal(set) var request: String?

  /// Creates an error, for a custom parser to throw.
  public init(
    _ reason: Reason, codingPath: String = "", expected: String, position: Position? = nil, excerpt: String? = nil
  ) {
    self.reason = reason
    self.codingPath = codingPath
    self.expected = expected
    self.position = position
    self.excerpt = excerpt
  }
}

extension ParserError {
  /// The error without the excerpt, and without the words of a model's own check, which may quote
  /// the body.
  package var withoutBody: ParserError {
    var error = self
    error.excerpt = nil
    if reason == .unacceptable { error.expected = "expected a value that the model accepts" }
    return error
  }
}

extension ParserError {
  /// The error of a body that is no JSON because a web page was sent instead. Its text has no part
  /// of the page.
  var ofWebPage: ParserError {
    guard reason == .notJSON else { return self }
    var error = self
    error.expected += ", and the server sent a web page (text/html), perhaps of a sign-in or of a captive portal"
    (error.position, error.excerpt) = (nil, nil)
    return error
  }
}

extension ParserError: CustomStringConvertible, LocalizedError {
  /// The expectation with the path, the position and the excerpt, as far as they are known.
  public var description: String {
    var text = "\(expected)"
    if !codingPath.isEmpty { text += " at \(codingPath)" }
    if let position { text += ", \(position)" }
    if let excerpt { text += ": \(excerpt)" }
    return text
  }
  /// The same text as `description`.
  public var errorDescription: String? { description }
}
