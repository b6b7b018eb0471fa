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
      self.init(.unacceptable, JSONPath(context.codingPath), context.debugDescription)
    case let fault as JSONFault:
      self.init(fault.reason, fault.path, fault.expected)
      offset = fault.offset
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

/// What is known of a value that JSONDecoder could not hold. Its own error for that has no coding path, and is not public; it
/// holds the number's text, or an offset.
struct DecoderHint {
  private var number: String?
  private var offset: Int?

  /// - Parameter start: the offset of the first byte that the decoder was given.
  init(_ error: any Error, start: Int) {
    guard !(error is DecodingError), !(error is ParserError), "\(type(of: error))" == "JSONError" else { return }
    for (label, value) in Self.leaves(of: error, depth: 3) {
      if label == "parsed" { number = value as? String }
      if label == "index", let index = value as? Int { offset = start + index }
    }
  }

  /// The only value in `range` that the hint fits.
  func value(in range: Range<Int>, of bytes: UnsafeRawBufferPointer) -> (path: JSONPath, token: JSONToken)? {
    guard number != nil || offset != nil else { return nil }
    var finder = JSONPathFinder(limit: 2) { token, bytes in
      if token.kind == .number, let number { return bytes[token.start..<token.end].elementsEqual(number.utf8) }
      if token.kind == .string, let offset { return token.start..<token.end ~= offset }
      return false
    }
    var scanner = JSONScanner(bytes, range: range)
    try? scanner.scan(&finder)
    return finder.found.count == 1 ? finder.found.first : nil
  }

  private static func leaves(of value: Any, depth: Int) -> [(String?, Any)] {
    guard depth > 0 else { return [] }
    return Mirror(reflecting: value).children.flatMap {
      [($0.label, $0.value)] + leaves(of: $0.value, depth: depth - 1)
    }
  }
}
