import HTTPTypes

extension HTTPField {
  /// The value's bytes, each as the character of its number (ISO 8859-1): two values are equal as these where they are equal as bytes,
  /// which they need not be as ``value``.
  var latin1: String { withUnsafeBytesOfValue { String($0.latin1) } }
}

extension Collection<UInt8> {
  var latin1: String {
    // ASCII is the same in UTF-8, which is made in one piece.
    allSatisfy { $0 < 0x80 }
      ? String(decoding: self, as: UTF8.self) : String(String.UnicodeScalarView(map { Unicode.Scalar($0) }))
  }
}

extension HTTPFields {
  /// The one line of a field, as ``HTTPField/latin1``; `nil` where there is none, or several.
  func singleLatin1(_ name: HTTPField.Name) -> String? {
    let lines = self[fields: name]
    return lines.count == 1 ? lines.first?.latin1 : nil
  }
}
