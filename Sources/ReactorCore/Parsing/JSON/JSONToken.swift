/// What the scanner has read: a piece of the text, by its place.
struct JSONToken {
  enum Kind: UInt8 {
    case beginObject, endObject, beginArray, endArray, key, string, number, bool, null
  }

  let kind: Kind
  /// The offset of its first byte; of a string, the quote.
  let start: Int
  /// The offset after its last byte.
  let end: Int
  /// Of a string: whether it has a backslash. Of a number: whether it has a fraction or an exponent.
  let isComplex: Bool
  /// Of a string: whether all its bytes are ASCII.
  let isASCII: Bool

  init(_ kind: Kind, start: Int, end: Int, isComplex: Bool = false, isASCII: Bool = true) {
    self.kind = kind
    self.start = start
    self.end = end
    self.isComplex = isComplex
    self.isASCII = isASCII
  }

  /// A Boolean value that indicates whether a value begins here.
  var beginsValue: Bool { kind != .key && kind != .endObject && kind != .endArray }
}

/// Is told every token, in order.
protocol JSONVisitor {
  /// Ends the scan early, without judging the rest.
  var isFinished: Bool { get }
  mutating func visit(_ token: JSONToken, in bytes: UnsafeRawBufferPointer)
}

extension JSONVisitor {
  var isFinished: Bool { false }
}

/// Why a text is no JSON, or a value in it cannot be held, before its position is counted.
struct JSONFault: Error {
  var reason: ParserError.Reason
  /// To the value that cannot be held, from the one that was read.
  var path = JSONPath()
  var expected: String
  var offset: Int
}
