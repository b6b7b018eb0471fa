import Foundation

/// The names of `snake_case` in `camelCase`, each converted once.
///
/// A converted name stands behind the text, after eight bytes that say where the original stands.
struct NameConversions {
  struct Name {
    var offset: Int
    var count: Int
    var isASCII: Bool
  }

  /// A name as first seen, and its conversion.
  private struct Slot {
    var start = 0
    var count = -1
    var name: Name?
  }

  /// The last names seen, by the hash of the original.
  private var slots = [Slot](repeating: Slot(), count: 128)
  /// The converted names by the original; `nil` for an unchanged name.
  private var known: [String: Name?] = [:]
  /// Behind the last of them.
  private(set) var end = 0

  /// Begins with another text.
  mutating func reset(behind end: Int) {
    clear()
    self.end = end
  }

  mutating func clear() {
    for index in slots.indices { slots[index].count = -1 }
    known.removeAll(keepingCapacity: known.count < 256)
  }

  /// The converted form of a name in the text; `nil`: it stays as it is.
  mutating func converted(_ start: Int, _ count: Int, in tape: inout Tape) -> Name? {
    let bytes = NameBytes(UnsafePointer(tape.text + start), count)
    let slot = Int(truncatingIfNeeded: bytes.mark >> 48) & 127
    if slots[slot].count == count, bytes.hasBytes(at: UnsafePointer(tape.text + slots[slot].start)) {
      return slots[slot].name
    }
    let name = convertedAnew(start, count, in: &tape)
    slots[slot] = Slot(start: start, count: count, name: name)
    return name
  }

  private mutating func convertedAnew(_ start: Int, _ count: Int, in tape: inout Tape) -> Name? {
    let bytes = UnsafeBufferPointer(start: UnsafePointer(tape.text + start), count: count)
    guard bytes.contains(UInt8(ascii: "_")) else { return nil }
    let original = String(decoding: bytes, as: UTF8.self)
    if let name = known[original] { return name }
    let converted = Self.camelCase(original)
    guard converted != original else {
      known[original] = .some(nil)
      return nil
    }
    let utf8 = Array(converted.utf8)
    let needed = end + 8 + utf8.count + Tape.padding
    if needed > tape.textCapacity { Self.growText(of: &tape, to: needed * 2, used: end) }
    UnsafeMutableRawPointer(tape.text + end).storeBytes(
      of: Word(upper: UInt32(truncatingIfNeeded: count), lower: UInt32(truncatingIfNeeded: start)), as: Word.self)
    let name = Name(offset: end + 8, count: utf8.count, isASCII: utf8.allSatisfy { $0 < 0x80 })
    for (index, byte) in utf8.enumerated() { tape.text[name.offset + index] = byte }
    end = name.offset + utf8.count
    known[original] = name
    return name
  }

  private static func growText(of tape: inout Tape, to capacity: Int, used: Int) {
    let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    larger.update(from: tape.text, count: used)
    (larger + used).update(repeating: 0, count: capacity - used)
    tape.text.deallocate()
    (tape.text, tape.textCapacity) = (larger, capacity)
  }

  /// As `JSONDecoder.KeyDecodingStrategy.convertFromSnakeCase` documents: underscores at both ends
  /// stay, the words between them are joined, each but the first with a capital letter. A name of
  /// one word stays as it is.
  static func camelCase(_ name: String) -> String {
    guard let first = name.firstIndex(where: { $0 != "_" }), let last = name.lastIndex(where: { $0 != "_" }) else {
      return name
    }
    let words = name[first...last].split(separator: "_")
    guard words.count > 1 else { return name }
    let joined = words[0].lowercased() + words.dropFirst().map(\.capitalized).joined()
    return name[..<first] + joined + name[name.index(after: last)...]
  }
}

/// The names of an object as a program's own strategy converts them.
final class ConvertedNames {
  private var values: [String: TapeIndex] = [:]
  private(set) var names: [String] = []

  init() {}

  init(_ core: CorePointer, _ object: TapeIndex, _ convert: ([any CodingKey]) -> any CodingKey) {
    let tape = core.pointee.tape
    let path = core.path(of: object)
    for member in 0..<tape.count(of: object) {
      let name = convert(path + [PathKey(stringValue: tape.name(of: member, in: object))]).stringValue
      // The first of equal names.
      if values[name] == nil {
        values[name] = tape.value(of: member, in: object)
        names.append(name)
      }
    }
  }

  func find(_ name: String) -> TapeIndex { values[name] ?? 0 }
}
