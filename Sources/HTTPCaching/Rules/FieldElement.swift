package import HTTPTypes

/// One element of a list field, as bytes of its line. It is valid only during the call that
/// provides it.
package struct FieldElement {
  /// The bytes of the element, without surrounding white space; empty only where the caller keeps
  /// empty elements.
  package let bytes: UnsafeBufferPointer<UInt8>

  /// The bytes before the first `=`, or all of them.
  var name: UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(rebasing: bytes.prefix { $0 != UInt8(ascii: "=") })
  }

  /// The bytes after the first `=`, without the quotes of a quoted string; `nil` where there is no
  /// `=`. Escapes stay as they are, because no argument read here needs one.
  var argument: UnsafeBufferPointer<UInt8>? {
    guard let equals = bytes.firstIndex(of: UInt8(ascii: "=")) else { return nil }
    let argument = bytes[(equals + 1)...]
    guard argument.count >= 2, argument.first == UInt8(ascii: "\""), argument.last == UInt8(ascii: "\"") else {
      return UnsafeBufferPointer(rebasing: argument)
    }
    return UnsafeBufferPointer(rebasing: argument.dropFirst().dropLast())
  }

  /// Returns whether ``name`` is `name` in any case (RFC 9111 §5.2).
  ///
  /// - Parameter name: A name in lower case.
  package func isNamed(_ name: StaticString) -> Bool {
    let own = self.name
    guard own.count == name.utf8CodeUnitCount else { return false }
    return own.indices.allSatisfy { own[$0].asciiLowercased == name.utf8Start[$0] }
  }

  package var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension HTTPFields {
  /// Calls `body` with each element of each line of a field, in order (RFC 9110 §5.6.1).
  ///
  /// A comma inside a quoted string does not separate elements. A quoted string that is not closed
  /// ends with its line.
  ///
  /// - Parameter keepsEmpty: Pass `true` for a field that may not be a list, of which an empty
  ///   element is part of the value. Default: `false`, which skips it.
  package func forEachElement(
    of name: HTTPField.Name, keepsEmpty: Bool = false, _ body: (FieldElement) -> Void
  ) {
    for field in self where field.name == name {
      field.withUnsafeBytesOfValue { Self.forEachElement(of: $0, keepsEmpty: keepsEmpty, body) }
    }
  }

  private static func forEachElement(
    of line: UnsafeBufferPointer<UInt8>, keepsEmpty: Bool, _ body: (FieldElement) -> Void
  ) {
    var start = 0
    while start <= line.count {
      let bytes = nextElement(of: line, from: &start)
      if keepsEmpty || !bytes.isEmpty { body(FieldElement(bytes: bytes)) }
    }
  }

  /// Returns the element that begins at `start`, and moves `start` behind the comma after it, or
  /// beyond the end.
  ///
  /// A separate function, since the compiler makes the caller again for each `body`.
  @inline(never) private static func nextElement(
    of line: UnsafeBufferPointer<UInt8>, from start: inout Int
  ) -> UnsafeBufferPointer<UInt8> {
    var (index, isQuoted, isEscaped) = (start, false, false)
    while index < line.count {
      let byte = line[index]
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if isQuoted, byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if !isQuoted, byte == UInt8(ascii: ",") {
        break
      }
      index += 1
    }
    defer { start = index + 1 }
    return UnsafeBufferPointer(rebasing: line[start..<index].trimmingFieldWhitespace())
  }
}

extension Slice<UnsafeBufferPointer<UInt8>> {
  /// Returns the slice without spaces and tabs at its ends (RFC 9110 §5.6.3).
  func trimmingFieldWhitespace() -> Self {
    let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    var rest = drop(while: isSpace)
    while let last = rest.last, isSpace(last) { rest.removeLast() }
    return rest
  }
}

extension UInt8 {
  package var asciiLowercased: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }
}

extension HTTPField {
  /// The bytes of the value, each as the character with its number (ISO 8859-1). Two of these are
  /// equal exactly if the bytes are, which is not true of ``value``.
  var latin1: String { withUnsafeBytesOfValue { String($0.latin1) } }
}

extension Collection<UInt8> {
  package var latin1: String {
    // ASCII is the same in UTF-8, and this string is made in one piece.
    allSatisfy { $0 < 0x80 }
      ? String(decoding: self, as: UTF8.self) : String(String.UnicodeScalarView(map { Unicode.Scalar($0) }))
  }
}

extension HTTPFields {
  /// Returns what the subscript by name does. For a field with one line, it copies nothing.
  package func value(of name: HTTPField.Name) -> String? {
    guard let index = firstIndex(where: { $0.name == name }) else { return nil }
    guard !self[(index + 1)...].contains(where: { $0.name == name }) else { return self[name] }
    return self[index].value
  }

  /// Returns the value of a field with one line, as ``HTTPField/latin1``, or `nil` if there are no
  /// lines or several.
  package func singleLatin1(_ name: HTTPField.Name) -> String? {
    let lines = self[fields: name]
    return lines.count == 1 ? lines.first?.latin1 : nil
  }
}
