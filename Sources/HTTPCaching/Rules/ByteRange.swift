import HTTPTypes

/// One range of a body, as `Range` asks for it (RFC 9110 §14.1.2).
enum ByteRange: Hashable, Sendable {
  /// From a first to a last byte, both counted from zero.
  case bytes(Int, through: Int?)
  /// The last so many bytes.
  case suffix(Int)

  /// `nil` where the field is missing, has another unit, several ranges or none: then all of it is the answer (§14.2).
  init?(_ fields: HTTPFields) {
    var ranges: [String] = []
    fields.forEachElement(of: .range) { ranges.append($0.text) }
    guard ranges.count == 1, let text = ranges.first, text.lowercased().hasPrefix("bytes=") else { return nil }
    let range = text.dropFirst("bytes=".count)
    guard let dash = range.firstIndex(of: "-") else { return nil }
    let (first, last) = (range[..<dash], range[range.index(after: dash)...])
    guard let end = Self.number(last) else { return nil }
    if first.isEmpty {
      guard let end else { return nil }
      self = .suffix(end)
    } else {
      guard let start = Self.number(first).flatMap(\.self), start <= end ?? .max else { return nil }
      self = .bytes(start, through: end)
    }
  }

  /// Which bytes of a body of so many are meant; `nil` where there are none (§15.5.17).
  func resolved(count: Int) -> Range<Int>? {
    switch self {
    case .bytes(let first, let last):
      guard first < count else { return nil }
      let end = min(last ?? count - 1, count - 1)
      return first..<end + 1
    case .suffix(let length):
      return length > 0 && count > 0 ? max(0, count - length)..<count : nil
    }
  }

  /// No digits are no number; what overflows is the greatest; what has other than digits is no range.
  private static func number(_ text: Substring) -> Int?? {
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    return .some(text.isEmpty ? nil : Int(text) ?? .max - 1)
  }
}
