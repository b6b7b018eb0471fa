import FastJSON
import Foundation
import FuzzSupport

/// The rows of the table *Differences from JSONDecoder* in FastJSON's documentation.
enum Differences {
  /// Compares two outcomes line by line; each line may be an error.
  static func areSame(_ theirs: Outcome, _ ours: Outcome, _ settings: Settings) -> Bool {
    let (left, right) = (theirs.lines, ours.lines)
    return left.count == right.count
      && zip(left, right).allSatisfy {
        $0 == $1 || isPathMissing($0, $1) || (settings.isISO8601 && isPathShort($0, $1))
      }
  }

  /// The row *a number that does not fit*: Foundation's error is not a `DecodingError` inside a
  /// model, and has no path outside.
  private static func isPathMissing(_ theirs: String, _ ours: String) -> Bool {
    theirs.hasSuffix("! \(Failure.foundationsOwn)") && ours.hasPrefix(theirs.dropLast(Failure.noPath.count))
  }

  /// The row *a date that is not ISO 8601*: Foundation's path leads to the model around it.
  private static func isPathShort(_ theirs: String, _ ours: String) -> Bool {
    theirs.contains("! dataCorrupted ") && ours.hasPrefix(theirs)
  }

  /// The row *several errors in a dictionary*: both are errors of it.
  static func areNeighbours(_ left: Failure, _ right: Failure) -> Bool {
    left.path == Failure.noPath || left.steps.dropLast() == right.steps.dropLast()
  }

  /// Two names that are one number: Foundation's order of keys says which of them a dictionary by
  /// numbers keeps.
  static func hasNamesOfOneNumber(_ text: [UInt8], _ grammar: Grammar) -> Bool {
    let names = Set(grammar.strings.map { Grammar.string(text[$0]) })
    let numbers = names.compactMap { Double($0) }
    return Set(numbers).count < numbers.count
  }

  // MARK: Invalid JSON

  static func isSyntax(_ outcome: Outcome) -> Bool {
    if case .failure(let failure) = outcome { failure.own?.syntaxFault != nil } else { false }
  }

  /// The row *invalid JSON that no model reads*: what is not JSON is refused, whatever the type.
  static func checkRefused(_ ours: Outcome, _ data: Data) {
    guard case .failure(let failure) = ours, let own = failure.own, own.syntaxFault != nil else {
      violated("\(String(decoding: data, as: UTF8.self).debugDescription) is no JSON, and read as \(ours)")
    }
    check(failure.kind == "dataCorrupted" && failure.path.isEmpty, "an error of a text: \(failure)")
    check((0...data.count).contains(own.byteOffset), "no place in the bytes: \(own)")
  }

  /// The row *UTF-32 with a byte order mark*: Foundation takes each mark of little-endian UTF-32
  /// for another.
  static func isUTF32OfTheTable(_ data: Data) -> Bool { data.starts(with: [0xFF, 0xFE, 0, 0]) }

  /// The row *underlying error*: the byte at which a value begins.
  static func checkPlace(_ ours: Outcome, _ data: Data, isUTF8: Bool) {
    guard isUTF8, case .failure(let failure) = ours, let own = failure.own else { return }
    guard (0..<data.count).contains(own.byteOffset) else { violated("no place in the bytes: \(own)") }
    let byte = data[data.startIndex + own.byteOffset]
    check("\"[{tfn-0123456789".utf8.contains(byte), "no value at \(own) of \(String(decoding: data, as: UTF8.self))")
  }

  // MARK: Values

  /// The text with others in place of the values that a row of the table is about; `nil` where it
  /// has none.
  static func withoutValuesOfTheTable(_ text: [UInt8], _ grammar: Grammar) -> [UInt8]? {
    var changes: [(place: Range<Int>, text: [UInt8])] = []
    for place in grammar.numbers {
      if let other = replacement(of: String(decoding: text[place], as: UTF8.self)) {
        changes.append((place, Array(other.utf8)))
      }
    }
    for place in grammar.strings where text[place].contains(UInt8(ascii: "\\")) {
      // The row *`"\u006ean"` with `convertFromString`*: Foundation does not look into strings with
      // an escape.
      let string = Grammar.string(text[place])
      if Settings.nonConforming.contains(string) { changes.append((place, Array("\"\(string)\"".utf8))) }
    }
    return replacing(changes, in: text)
  }

  /// The text without the members whose name was there before; `nil` where it has none.
  static func withoutRepeatedMembers(_ text: [UInt8]) -> [UInt8]? {
    guard let all = Grammar(text)?.repeated else { return nil }
    let outer = all.filter { one in !all.contains { $0 != one && $0.lowerBound < one.lowerBound && $0.overlaps(one) } }
    return replacing(outer.map { ($0, []) }, in: text)
  }

  private static func replacing(_ changes: [(place: Range<Int>, text: [UInt8])], in text: [UInt8]) -> [UInt8]? {
    var result = text
    for change in changes.sorted(by: { $0.place.lowerBound > $1.place.lowerBound }) {
      result.replaceSubrange(change.place, with: change.text)
    }
    return changes.isEmpty ? nil : result
  }

  private static func replacement(of number: String) -> String? {
    let parts = number.lowercased().split(separator: "e", maxSplits: 1)
    let isZero = !parts[0].contains { ("1"..."9").contains($0) }
    // The row *`0e1` as a `Double`*.
    if isZero { return parts.count == 2 ? "0" : nil }
    guard number.contains(where: { ".eE".contains($0) }), let double = Double(number) else { return nil }
    let (digits, exponent) = digits(parts)
    // The rows *`1.0000000000000001` as an integer* and *`1e-400` as an integer*: whole only
    // because a Double is rounded.
    if exponent < 0 { return double == double.rounded() ? "1.5" : nil }
    // The row *`-9223372036854775808.0` as an integer*: whole, but refused. Without the fraction it
    // is the same.
    guard double.magnitude >= 0x1p53, exponent <= 40 else { return nil }
    return (number.hasPrefix("-") ? "-" : "") + digits + String(repeating: "0", count: exponent)
  }

  /// A number as an integer without zeros at its end, and the power of ten that it is multiplied
  /// by.
  private static func digits(_ parts: [Substring]) -> (String, Int) {
    let halves = parts[0].split(separator: ".", omittingEmptySubsequences: false)
    let fraction = halves.count == 2 ? halves[1] : ""
    var digits = (halves[0] + fraction).drop { "-0".contains($0) }
    guard var exponent = parts.count == 2 ? Int(parts[1]) : 0, abs(exponent) < 1 << 40 else {
      return ("", parts[1].hasPrefix("-") ? .min : .max)
    }
    exponent -= fraction.count
    while digits.last == "0" {
      digits.removeLast()
      exponent += 1
    }
    return (String(digits), exponent)
  }
}
