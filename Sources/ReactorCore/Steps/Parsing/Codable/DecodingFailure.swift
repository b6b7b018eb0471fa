import FastJSON
import Foundation

/// The parts of a ``ParserError``, taken from an error that a decoder or a model threw.
struct DecodingFailure {
  var reason: ParserError.Reason
  /// The path from the value that was decoded.
  var path: JSONPath
  var expected: String
  /// A Boolean value that indicates whether the message should name the kind of the value found.
  var namesFound = false
  /// The byte offset of the value; `nil` if the decoder did not report it.
  var offset: Int?

  init(_ error: any Error) {
    switch error {
    case DecodingError.keyNotFound(let key, let context):
      let name = JSONPath(context.codingPath + [key])
      self.init(.missing, name, "expected a member \(key.stringValue)")
    case DecodingError.typeMismatch(let type, let context):
      self.init(.wrongType, JSONPath(context.codingPath), "expected \(Self.name(type))")
      namesFound = true
    case DecodingError.valueNotFound(let type, let context):
      self.init(.wrongType, JSONPath(context.codingPath), "expected \(Self.name(type))")
      namesFound = true
    case DecodingError.dataCorrupted(let context):
      self.init(.unacceptable, JSONPath(context.codingPath), Self.text(context))
      offset = (context.underlyingError as? FastJSONError)?.byteOffset
    case let error as ParserError:
      self.init(error.reason, JSONPath(text: error.codingPath), error.expected)
    default:
      self.init(.unacceptable, JSONPath(), Redaction.describe(error))
    }
  }

  private init(_ reason: ParserError.Reason, _ path: JSONPath, _ expected: String) {
    self.reason = reason
    self.path = path
    self.expected = expected
  }

  /// Returns the description of a failure. A sentence of FastJSON, *Expected a string.*, becomes
  /// *expected a string*.
  private static func text(_ context: DecodingError.Context) -> String {
    let text = context.debugDescription
    guard context.underlyingError is FastJSONError else { return text }
    return text.prefix(1).lowercased() + text.dropFirst().prefix(text.count - (text.hasSuffix(".") ? 2 : 1))
  }

  /// The failure as an error without a position.
  var error: ParserError { ParserError(reason, codingPath: path.text, expected: expected) }

  private static func name(_ type: any Any.Type) -> String {
    switch type {
    case is String.Type: "a string"
    case is Bool.Type: "a Boolean"
    case is any FixedWidthInteger.Type: "an integer (\(type))"
    case is any BinaryFloatingPoint.Type: "a number (\(type))"
    case is [String: Any].Type, is [String: any Sendable].Type: "an object"
    case is [Any].Type: "an array"
    default: "\(type)"
    }
  }
}
