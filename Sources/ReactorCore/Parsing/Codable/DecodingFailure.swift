import FastJSON
import Foundation

/// What an error that a decoder or a model threw says, as ``ParserError`` says it.
struct DecodingFailure {
  var reason: ParserError.Reason
  /// From the value that was decoded.
  var path: JSONPath
  var expected: String
  /// A Boolean value that indicates whether the kind of what was found belongs in the message.
  var namesFound = false
  /// The offset of the value, where it is known.
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

  /// FastJSON's sentences begin with *Expected*.
  private static func text(_ context: DecodingError.Context) -> String {
    let text = context.debugDescription
    guard context.underlyingError is FastJSONError else { return text }
    return text.prefix(1).lowercased() + text.dropFirst().prefix(text.count - (text.hasSuffix(".") ? 2 : 1))
  }

  /// The error where the bytes cannot be searched.
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
