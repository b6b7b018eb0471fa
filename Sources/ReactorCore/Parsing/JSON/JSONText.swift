/// Makes strings of string tokens.
enum JSONText {
  /// The string that `token` means; `nil` where it has an escaped surrogate without its other half.
  static func string(_ token: JSONToken, in bytes: UnsafeRawBufferPointer) -> String? {
    let content = UnsafeRawBufferPointer(rebasing: bytes[(token.start + 1)..<(token.end - 1)])
    guard token.isComplex else { return String(decoding: content, as: UTF8.self) }
    return unescape(content, replacingLoneSurrogates: false)
  }

  /// The string that `token` means, with U+FFFD for each surrogate without its other half: for names, paths and messages.
  static func lossyString(_ token: JSONToken, in bytes: UnsafeRawBufferPointer) -> String {
    let content = UnsafeRawBufferPointer(rebasing: bytes[(token.start + 1)..<(token.end - 1)])
    guard token.isComplex else { return String(decoding: content, as: UTF8.self) }
    return unescape(content, replacingLoneSurrogates: true) ?? ""
  }

  /// Returns whether the string that `token` means equals `name`, as Swift compares strings.
  static func equals(_ token: JSONToken, _ name: String, in bytes: UnsafeRawBufferPointer) -> Bool {
    guard token.isASCII, !token.isComplex else { return lossyString(token, in: bytes) == name }
    let content = bytes[(token.start + 1)..<(token.end - 1)]
    return content.elementsEqual(name.utf8)
      || (!name.utf8.allSatisfy { $0 < 0x80 } && lossyString(token, in: bytes) == name)
  }

  static func hexadecimal(_ byte: UInt8) -> UInt16? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
  }

  /// `content` has passed the scanner, so each backslash is followed by what JSON allows.
  private static func unescape(_ content: UnsafeRawBufferPointer, replacingLoneSurrogates: Bool) -> String? {
    var text: [UInt8] = []
    text.reserveCapacity(content.count)
    var index = 0
    while index < content.count {
      guard content[index] == UInt8(ascii: "\\") else {
        text.append(content[index])
        index += 1
        continue
      }
      guard content[index + 1] == UInt8(ascii: "u") else {
        text.append(plain(content[index + 1]))
        index += 2
        continue
      }
      let (scalar, length) = scalar(in: content, at: index)
      guard let scalar = scalar ?? (replacingLoneSurrogates ? "\u{FFFD}" : nil) else { return nil }
      text.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
      index += length
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func plain(_ escaped: UInt8) -> UInt8 {
    switch escaped {
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0C
    case UInt8(ascii: "n"): 0x0A
    case UInt8(ascii: "r"): 0x0D
    case UInt8(ascii: "t"): 0x09
    default: escaped
    }
  }

  /// The scalar of one `\u` escape, or of a pair of them, and the bytes it takes; `nil` for a lone surrogate.
  private static func scalar(in content: UnsafeRawBufferPointer, at index: Int) -> (Unicode.Scalar?, Int) {
    let high = unit(in: content, at: index)
    guard 0xD800...0xDBFF ~= high else { return (Unicode.Scalar(high), 6) }
    guard index + 12 <= content.count, content[index + 6] == UInt8(ascii: "\\"), content[index + 7] == UInt8(ascii: "u")
    else { return (nil, 6) }
    let low = unit(in: content, at: index + 6)
    guard 0xDC00...0xDFFF ~= low else { return (nil, 6) }
    return (Unicode.Scalar(0x10000 + (UInt32(high) - 0xD800) << 10 + UInt32(low) - 0xDC00), 12)
  }

  private static func unit(in content: UnsafeRawBufferPointer, at index: Int) -> UInt16 {
    content[(index + 2)..<(index + 6)].reduce(0) { $0 << 4 | (hexadecimal($1) ?? 0) }
  }
}
