import Foundation

/// Counts lines and columns, and quotes; fast where the offsets ascend, since it counts on from the last one.
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

  /// At most 80 bytes from `offset` on, as text in which nothing is invisible; `nil` at the end.
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
  /// The error with the place `offset` in `data`.
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
