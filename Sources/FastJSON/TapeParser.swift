// Text to tape, in one pass. The whole text is checked by RFC 8259, read or not.
//
// The loop works on locals. It reads no bound: behind the text stand zeros, and no token goes on
// over a zero. It writes at most `TapeParser.room` words between two looks at the tape's end.

import Foundation

/// A text that is not JSON, or is more than this decoder takes.
package struct SyntaxFault: Error {
  package enum Kind: Sendable {
    case syntax, size, depth
    /// Half of a surrogate pair, which is JSON and no text.
    case surrogate
  }

  package var offset: Int
  /// *expected …*
  package var reason: String
  package var kind = Kind.syntax
}

struct TapeParser {
  var tape: Tape
  var text: UnsafeMutablePointer<UInt8>
  var words: UnsafeMutablePointer<Word>
  /// The byte that is read next.
  var p = 0
  /// The word that is written next.
  var w = 1
  private var limit: Int
  private var names: NameConversions?
  /// Names and positions of the members of open objects, alternating; they are appended to the tape
  /// when the object is closed.
  private var members: UnsafeMutablePointer<Word>
  private var memberCount = 0
  private var duplicateCount = 0
  /// If `true`, half of a surrogate pair makes its string unreadable, and not the whole text.
  let keepsHalfPairs: Bool
  /// The words of such strings.
  var halfPairs: [Int] = []

  /// Words that are written at most between two calls of `reserve`.
  private static let room = 16
  static let maximumDepth = 512

  /// - Parameter names: how names are converted; `nil`: not.
  init(_ tape: Tape, names: NameConversions?, keepsHalfPairs: Bool) {
    self.tape = tape
    self.names = names
    self.keepsHalfPairs = keepsHalfPairs
    text = tape.text
    words = tape.words
    limit = tape.wordCapacity - Self.room
    members = tape.members
  }

  /// Parses what stands in the tape's text.
  ///
  /// - Returns: the tape; its buffers may be others.
  static func parse(
    _ tape: inout Tape, names: inout NameConversions?, keepsHalfPairs: Bool = false
  ) throws(SyntaxFault) {
    var parser = TapeParser(tape, names: names.take(), keepsHalfPairs: keepsHalfPairs)
    defer {
      parser.tape.wordCount = parser.w
      parser.tape.duplicateCount = parser.duplicateCount
      tape = parser.tape
      names = parser.names
    }
    try parser.parseText()
    for index in parser.halfPairs { parser.words[index].makeUnreadable() }
  }

  func fault(_ reason: String, at offset: Int? = nil, _ kind: SyntaxFault.Kind = .syntax) -> SyntaxFault {
    let offset = offset ?? p
    guard offset < tape.textCount else {
      return SyntaxFault(offset: tape.textCount, reason: "\(reason), found the end of the text")
    }
    return SyntaxFault(offset: offset, reason: reason, kind: kind)
  }

  @inline(__always) private mutating func reserve() {
    if w > limit { grow(to: tape.wordCapacity * 2) }
  }

  @inline(never) private mutating func grow(to capacity: Int) {
    let larger = UnsafeMutablePointer<Word>.allocate(capacity: capacity)
    larger.update(from: words, count: w)
    words.deallocate()
    (words, tape.words, tape.wordCapacity) = (larger, larger, capacity)
    limit = capacity - Self.room
  }

  @inline(__always) private mutating func skipSpace() {
    // Most texts have no space, or one.
    if text[p] > 0x20 { return }
    while true {
      let byte = text[p]
      guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
      p &+= 1
    }
  }

  private mutating func parseText() throws(SyntaxFault) {
    /// The header of the innermost open container; 0 outside of all.
    var container = 0
    var isObject = false
    var count: UInt32 = 0
    var depth = 0

    values: while true {
      skipSpace()
      reserve()
      switch text[p] {
      case UInt8(ascii: "\""):
        try parseString()
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        guard depth < Self.maximumDepth else {
          throw fault("expected at most \(Self.maximumDepth) levels of nesting", .depth)
        }
        depth &+= 1
        let opensObject = text[p] == UInt8(ascii: "{")
        let header = w
        words[w] = Word(opensObject ? .object : .array, offset: p)
        // Until it is closed: the enclosing container, and that container's current count.
        words[w &+ 1] = Word(upper: count, lower: UInt32(truncatingIfNeeded: container))
        if opensObject {
          words[w &+ 2] = 0
          words[w &+ 3] = 0
          words[w &+ 4] = 0
          w &+= 5
        } else {
          w &+= 2
        }
        (container, isObject, count) = (header, opensObject, 0)
        p &+= 1
        skipSpace()
        if opensObject, text[p] != UInt8(ascii: "}") {
          try parseName(of: container, count)
          continue values
        }
        if !opensObject, text[p] != UInt8(ascii: "]") { continue values }
        // Empty: closed below, without the value that is counted there.
        count = .max
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        try parseNumber()
      case UInt8(ascii: "t"): try parseLiteral("true", .true)
      case UInt8(ascii: "f"): try parseLiteral("false", .false)
      case UInt8(ascii: "n"): try parseLiteral("null", .null)
      default: throw fault("expected a JSON value")
      }
      // Behind a value, or at the end of an empty container.
      while true {
        guard container != 0 else { break values }
        count &+= 1
        skipSpace()
        let byte = text[p]
        if byte == UInt8(ascii: ","), count != 0 {
          p &+= 1
          guard isObject else { continue values }
          skipSpace()
          try parseName(of: container, count)
          continue values
        }
        guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
          throw fault(isObject ? "expected , or } in an object" : "expected , or ] in an array")
        }
        p &+= 1
        let outer = words[container &+ 1]
        if isObject {
          closeObject(container, count, outer)
        } else {
          reserve()
          words[w] = outer
          w &+= 1
          words[container &+ 1] = Word(upper: count, lower: UInt32(truncatingIfNeeded: w))
        }
        container = Int(outer.lower)
        count = outer.upper
        isObject = container != 0 && words[container].is(.object)
        depth &-= 1
      }
    }
    skipSpace()
    guard p == tape.textCount else { throw fault("expected only white space after the value") }
  }

  /// A name and its colon, and their effect on the object.
  @inline(__always) private mutating func parseName(of object: Int, _ count: UInt32) throws(SyntaxFault) {
    guard text[p] == UInt8(ascii: "\"") else { throw fault("expected a name in quotes") }
    let start = p &+ 1
    var (length, isASCII) = try scanString()
    skipSpace()
    guard text[p] == UInt8(ascii: ":") else { throw fault("expected : after a name") }
    p &+= 1
    var offset = start
    var flags: Word = 0
    if names != nil, let converted = convertedName(at: start, length) {
      (offset, length, isASCII, flags) = (converted.offset, converted.count, converted.isASCII, Word.converted)
    }
    let name = NameBytes(UnsafePointer(text + offset), length)
    let bloom = words[object &+ 2]
    if !isASCII {
      // Half of a pair in a name, which no key can have, was noted for the value after it.
      guard halfPairs.last != w else { throw fault("expected a complete surrogate pair", at: start &- 1, .surrogate) }
      if !name.isNormalized { words[object] |= Word.anyNames }
    }
    if bloom & name.bloomBit != 0, count < Tape.indexedFrom, words[object] & Word.duplicates == 0 {
      if isThere(name, count: Int(count)) { words[object] |= Word.duplicates }
    }
    words[object &+ 2] = bloom | name.bloomBit
    if memberCount == tape.memberCapacity { growMembers() }
    members[2 &* memberCount] = Word(.name, offset: offset) | name.mark | flags
    members[2 &* memberCount &+ 1] = Word(
      upper: UInt32(truncatingIfNeeded: length), lower: UInt32(truncatingIfNeeded: w))
    memberCount &+= 1
  }

  @inline(never) private mutating func growMembers() {
    let larger = UnsafeMutablePointer<Word>.allocate(capacity: 4 * tape.memberCapacity)
    larger.update(from: members, count: 2 * memberCount)
    members.deallocate()
    (members, tape.members, tape.memberCapacity) = (larger, larger, 2 * tape.memberCapacity)
  }

  /// Returns whether a name is one of the last so many. Large objects are looked through when they
  /// are closed.
  @inline(never) private func isThere(_ name: NameBytes, count: Int) -> Bool {
    var view = tape
    view.text = text
    for number in (memberCount - count)..<memberCount {
      if view.isName(members + 2 * number, name, length: { members[2 * number + 1].upper }) { return true }
    }
    return false
  }

  @inline(__always) private mutating func closeObject(_ object: Int, _ count: UInt32, _ outer: Word) {
    let members = Int(count)
    let slots = members > Tape.indexedFrom ? Tape.slots(for: members) / 2 : 0
    let needed = 2 &* members &+ slots
    if w &+ needed > limit { grow(to: max(tape.wordCapacity * 2, w + needed + 2 * Self.room)) }
    memberCount &-= members
    var source = self.members + 2 &* memberCount
    for member in 0..<members {
      words[w &+ member] = source[0]
      words[w &+ members &+ member] = source[1]
      source += 2
    }
    words[object &+ 3] = Word(upper: UInt32(truncatingIfNeeded: w), lower: outer.lower)
    UnsafeMutableRawPointer(words + (object &+ 4)).storeBytes(of: outer.upper, toByteOffset: 4, as: UInt32.self)
    words[object &+ 1] = Word(upper: count, lower: UInt32(truncatingIfNeeded: w &+ needed))
    w &+= needed
    if slots != 0 {
      fillIndex(of: object, slots)
    } else if words[object] & (Word.anyNames | Word.duplicates) == Word.anyNames {
      findEqualNames(in: object, members)
    }
    if words[object] & Word.duplicates != 0 { duplicateCount += 1 }
  }

  @inline(never) private func fillIndex(of object: Int, _ slots: Int) {
    (words + (w - slots)).update(repeating: 0, count: slots)
    var view = tape
    view.words = words
    view.text = text
    let hasDuplicates = view.fillIndex(of: TapeIndex(truncatingIfNeeded: object))
    words[object] = hasDuplicates ? words[object] | Word.duplicates : words[object] & ~Word.duplicates
  }

  /// Finds names that are equal without having the same bytes.
  @inline(never) private func findEqualNames(in object: Int, _ count: Int) {
    var view = tape
    view.words = words
    view.text = text
    var seen = Set<String>(minimumCapacity: count)
    for member in 0..<count {
      guard seen.insert(view.name(of: member, in: TapeIndex(truncatingIfNeeded: object))).inserted else {
        words[object] |= Word.duplicates
        return
      }
    }
  }

  private mutating func convertedName(at start: Int, _ length: Int) -> NameConversions.Name? {
    guard var conversions = names.take() else { return nil }
    tape.text = text
    let name = conversions.converted(start, length, in: &tape)
    text = tape.text
    names = conversions
    return name
  }

  @inline(__always) private mutating func parseLiteral(_ literal: StaticString, _ tag: Tag) throws(SyntaxFault) {
    let count = literal.utf8CodeUnitCount
    for index in 1..<count where text[p &+ index] != literal.utf8Start[index] {
      p &+= index
      throw fault("expected \(literal)")
    }
    words[w] = Word(tag, offset: p)
    w &+= 1
    p &+= count
  }
}
