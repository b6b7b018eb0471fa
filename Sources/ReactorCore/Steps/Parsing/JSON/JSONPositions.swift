import Foundation

/// Finds the line and the column of an offset. Each search resumes at the previous offset, so
/// ascending offsets cost one pass over the text.
struct JSONPositions {
  private var offset = 0
  private var line = 1
  private var lineStart = 0

  mutating func position(of target: Int, in bytes: UnsafeRawBufferPointer) -> ParserError.Position {
    if target < offset { self = JSONPositions() }
    while offset < target {
      if bytes[offset] == UInt8(ascii: "\n") {
        line += 1
        lineStart = offset + 1
      }
      offset += 1
    }
    return ParserError.Position(offset: target, line: line, column: target - lineStart + 1)
  }

  /// Returns at most 80 bytes of text from `offset` on, with invisible characters escaped; `nil` at
  /// the end of the text.
  static func excerpt(from offset: Int, in bytes: UnsafeRawBufferPointer) -> String? {
    guard offset < bytes.count else { return nil }
    var text = ""
    for scalar in String(decoding: bytes[offset..<min(offset + 80, bytes.count)], as: UTF8.self).unicodeScalars {
      let visible = visible(scalar)
      guard text.utf8.count + visible.utf8.count <= 80 else { break }
      text += visible
    }
    return text
  }

  private static func visible(_ scalar: Unicode.Scalar) -> String {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
      switch scalar {
      case "\n": "\\n"
      case "\r": "\\r"
      case "\t": "\\t"
      default: "\\u{\(String(scalar.value, radix: 16))}"
      }
    default: String(scalar)
    }
  }
}

extension ParserError {
  /// Returns the error with the position `offset` in `data`, and the excerpt there.
  func at(_ offset: Int, in data: Data) -> ParserError {
    var positions = JSONPositions()
    return at(offset, in: data, &positions)
  }

  func at(_ offset: Int, in data: Data, _ positions: inout JSONPositions) -> ParserError {
    var error = self
    data.withUnsafeBytes { bytes in
      error.position = positions.position(of: offset, in: bytes)
      error.excerpt = JSONPositions.excerpt(from: offset, in: bytes)
    }
    return error
  }
}
