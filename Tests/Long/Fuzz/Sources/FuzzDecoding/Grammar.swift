import Foundation

/// JSON by RFC 8259, as nothing but a grammar: none of it is shared with the decoders.
struct Grammar {
  /// A number, by its place in the text.
  private(set) var numbers: [Range<Int>] = []
  /// A string or a name, with its quotes.
  private(set) var strings: [Range<Int>] = []
  /// A member whose name an earlier one of the object has, with the comma before it.
  private(set) var repeated: [Range<Int>] = []
  private(set) var depth = 0
  private let text: [UInt8]
  private var place = 0

  /// - Returns: `nil` where the text is not JSON, or nests deeper than 512 levels.
  init?(_ text: [UInt8]) {
    self.text = text
    guard value(1) else { return nil }
    space()
    guard place == text.count else { return nil }
  }

  private var next: UInt8? { place < text.count ? text[place] : nil }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    place += 1
    return true
  }

  private mutating func take(_ literal: String) -> Bool {
    guard text[place...].starts(with: literal.utf8) else { return false }
    place += literal.utf8.count
    return true
  }

  private mutating func space() {
    while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { place += 1 }
  }

  private mutating func value(_ level: Int) -> Bool {
    space()
    switch next {
    case UInt8(ascii: "["): return container(level, "[", "]") { $0.value(level + 1) }
    case UInt8(ascii: "{"):
      var members: Set<String> = []
      return container(level, "{", "}") { $0.member(level, &members) }
    case UInt8(ascii: "\""): return string()
    case UInt8(ascii: "t"): return take("true")
    case UInt8(ascii: "f"): return take("false")
    case UInt8(ascii: "n"): return take("null")
    default: return number()
    }
  }

  private mutating func container(
    _ level: Int, _ open: Unicode.Scalar, _ close: Unicode.Scalar, _ item: (inout Self) -> Bool
  ) -> Bool {
    guard level <= 512, take(open) else { return false }
    depth = max(depth, level)
    space()
    if take(close) { return true }
    repeat {
      guard item(&self) else { return false }
      space()
    } while take(",")
    return take(close)
  }

  private mutating func member(_ level: Int, _ members: inout Set<String>) -> Bool {
    let comma = place - 1
    space()
    guard string(), let name = strings.last.map({ Self.string(text[$0]) }) else { return false }
    space()
    guard take(":") else { return false }
    guard value(level + 1) else { return false }
    if !members.insert(name).inserted { repeated.append(comma..<place) }
    return true
  }

  /// The value of a string that is valid.
  static func string(_ token: ArraySlice<UInt8>) -> String {
    guard token.contains(UInt8(ascii: "\\")) else {
      return String(decoding: token.dropFirst().dropLast(), as: UTF8.self)
    }
    return (try? JSONDecoder().decode(String.self, from: Data(token))) ?? ""
  }

  // MARK: Numbers

  private mutating func digits() -> Bool {
    let start = place
    while let byte = next, byte >= 0x30, byte <= 0x39 { place += 1 }
    return place > start
  }

  private mutating func number() -> Bool {
    let start = place
    _ = take("-")
    if !take("0") { guard digits() else { return false } }
    if take(".") { guard digits() else { return false } }
    if take("e") || take("E") {
      if !take("+") { _ = take("-") }
      guard digits() else { return false }
    }
    numbers.append(start..<place)
    return true
  }

  // MARK: Strings

  private mutating func string() -> Bool {
    guard take("\"") else { return false }
    let start = place
    while let byte = next, byte != UInt8(ascii: "\"") {
      guard byte >= 0x20 else { return false }
      if byte == UInt8(ascii: "\\") {
        guard escape() else { return false }
      } else {
        place += 1
      }
    }
    guard take("\"") else { return false }
    strings.append((start - 1)..<place)
    return String(validating: text[start..<(place - 1)], as: UTF8.self) != nil
  }

  private mutating func escape() -> Bool {
    place += 1
    guard take("u") else {
      guard let byte = next, "\"\\/bfnrt".utf8.contains(byte) else { return false }
      place += 1
      return true
    }
    guard let unit = hex() else { return false }
    if unit & 0xFC00 == 0xDC00 { return false }
    guard unit & 0xFC00 == 0xD800 else { return true }
    guard take("\\u"), let low = hex() else { return false }
    return low & 0xFC00 == 0xDC00
  }

  private mutating func hex() -> UInt16? {
    guard place + 4 <= text.count else { return nil }
    let digits = text[place..<(place + 4)]
    guard digits.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }) else { return nil }
    place += 4
    return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
  }
}
