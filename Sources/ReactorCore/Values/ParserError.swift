public import Foundation

/// Why bytes could not be made a model: what was wrong, where, and what was expected.
public struct ParserError: Error, Sendable, Hashable {
  public enum Reason: String, Sendable, Hashable {
    /// There are no bytes.
    case empty
    /// The bytes are no JSON (RFC 8259).
    case notJSON
    /// Nested deeper than ``JSONValue/maximumDepth``.
    case tooDeep
    /// A member is missing.
    case missing
    /// A value has another type than was expected.
    case wrongType
    /// A value has the right type and is not acceptable: a number that does not fit, a string that is no date.
    case unacceptable
    /// The model can be neither parsed nor encoded.
    case unsupported
  }

  /// A place in the bytes.
  public struct Position: Sendable, Hashable, CustomStringConvertible {
    /// Bytes before it.
    public var offset: Int
    /// Counted from 1.
    public var line: Int
    /// In bytes, counted from 1.
    public var column: Int

    public init(offset: Int, line: Int, column: Int) {
      self.offset = offset
      self.line = line
      self.column = column
    }

    public var description: String { "line \(line), column \(column) (byte \(offset))" }
  }

  public var reason: Reason
  /// From the root of the body: `data.articles[3].title`; empty for the root itself.
  public var codingPath: String
  /// What was expected, in words.
  public var expected: String
  /// Where in the bytes; `nil` where it was not found.
  public var position: Position?
  /// At most 80 bytes from ``position`` on.
  public var excerpt: String?
  /// The request whose response it was, as ``ReactorError/request`` names it; `nil` where the bytes
  /// came from elsewhere. Not part of `description`.
  public internal(set) var request: String?

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

extension ParserError: CustomStringConvertible, LocalizedError {
  public var description: String {
    var text = "\(expected)"
    if !codingPath.isEmpty { text += " at \(codingPath)" }
    if let position { text += ", \(position)" }
    if let excerpt { text += ": \(excerpt)" }
    return text
  }
  public var errorDescription: String? { description }
}
