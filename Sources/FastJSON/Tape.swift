// The layout of the tape, and how it is read.
//
// Parsing turns a text into one buffer of 64-bit words: the tape. Each value is one or more words,
// in the order of the text; a value is named by the index of its first word. Index 0 is a null
// that belongs to no text.
//
//   scalar   [tag | – | offset]
//   number   [tag | flags | exponent | offset] [significand]
//   string   [tag | flags | length | offset]                  and [length] where it is long
//   array    [tag | – | offset] [count | end] elements…
//   object   [tag | flags | offset] [count | end] [Bloom bits] [names | –] [hint]
//            and then values… names… places… index…
//   name     [tag | flags | hash | length | offset]
//   place    [length of the name | index of the value]
//
// `offset` is where the value stands in the text; of a string, behind its quote. Escapes are
// replaced in the text itself, which is never longer for it. `end` is the index behind the value's
// last word.
//
// Invariants that make the unchecked reads sound: every index that is handed out was written by the
// parser and lies below the tape's end; every offset and length of a string lies in the text's
// buffer, and its bytes are valid UTF-8; behind the text stand `Tape.padding` zeros. Nothing but a
// hint is written after parsing; hints are written atomically, and a wrong one costs time only.

import Synchronization

/// The kind of a value, in the upper four bits of its word.
enum Tag: UInt64 {
  case null, `false`, `true`, number, string, array, object, name
  /// A string with half of a surrogate pair in it.
  case unreadable
}

typealias Word = UInt64
/// A value's place on the tape.
typealias TapeIndex = UInt32

extension Word {
  init(_ tag: Tag, offset: Int) { self = tag.rawValue << 60 | UInt64(truncatingIfNeeded: offset) & 0xFFFF_FFFF }

  @inline(__always) var tag: UInt64 { self >> 60 }
  @inline(__always) func `is`(_ tag: Tag) -> Bool { self >> 60 == tag.rawValue }
  /// The place in the text.
  @inline(__always) var offset: Int { Int(self & 0xFFFF_FFFF) }

  // Strings.
  static let longString: Word = 1 << 59
  @inline(__always) var stringLength: Int { Int(self >> 32 & 0x3FF_FFFF) }
  static let maximumStringLength = 0x3FF_FFFF
  /// Makes a string one that cannot be read.
  mutating func makeUnreadable() { self = self & ~(0xF << 60) | Tag.unreadable.rawValue << 60 }

  // Numbers.
  static let negative: Word = 1 << 59
  /// Has a fraction or an exponent.
  static let decimal: Word = 1 << 58
  /// The significand has lost digits, or the exponent is out of range: the text decides.
  static let inexact: Word = 1 << 57
  @inline(__always) var exponent: Int { Int(Int16(truncatingIfNeeded: self >> 32)) }

  // Objects.
  /// A name is not plain ASCII, so equal names may have other bytes.
  static let anyNames: Word = 1 << 59
  /// Some name stands there twice.
  static let duplicates: Word = 1 << 58

  // Names.
  /// Stands behind the text, since it was converted; eight bytes before it is where the original
  /// stands.
  static let converted: Word = 1 << 58
  @inline(__always) var nameLength: Int { Int(self >> 32 & 0xFFFF) }
  static let maximumNameLength = 0xFFFF
  /// The length and ten bits of the hash.
  static let nameMask: Word = 0x03FF_FFFF << 32

  // Second words of containers.
  @inline(__always) var upper: UInt32 { UInt32(truncatingIfNeeded: self >> 32) }
  @inline(__always) var lower: UInt32 { UInt32(truncatingIfNeeded: self) }
  @inline(__always) init(upper: UInt32, lower: UInt32) { self = UInt64(upper) << 32 | UInt64(lower) }
}

/// A text and its tape: two buffers, and how values are found in them.
struct Tape {
  var text: UnsafeMutablePointer<UInt8>
  var textCapacity: Int
  /// Bytes of the text, without what stands behind it.
  var textCount = 0
  /// Bytes of a mark before the text, which is not part of it.
  var markCount = 0
  var words: UnsafeMutablePointer<Word>
  var wordCapacity: Int
  /// The parser's memory for the names of open objects, two words for each.
  var members: UnsafeMutablePointer<Word>
  var memberCapacity = 64
  /// Words that are used.
  var wordCount = 1
  /// Objects in which some name stands twice.
  var duplicateCount = 0
  /// The first value: what the text is, or what a path leads to.
  var root: TapeIndex = 1

  /// Zeros behind the text.
  static let padding = 32
  /// Objects with more members have an index.
  static let indexedFrom = 32

  init() {
    textCapacity = 1 << 10
    wordCapacity = 1 << 8
    text = .allocate(capacity: textCapacity)
    words = .allocate(capacity: wordCapacity)
    members = .allocate(capacity: 2 * memberCapacity)
    words[0] = Word(.null, offset: 0)
  }

  func deallocate() {
    text.deallocate()
    words.deallocate()
    members.deallocate()
  }

  /// Gives back what the tape and so many bytes of text do not need.
  mutating func trim(toText usedText: Int) {
    members.deallocate()
    (members, memberCapacity) = (.allocate(capacity: 2), 1)
    guard size > 2 * (usedText + wordCount * MemoryLayout<Word>.size) else { return }
    text = Self.copy(text, usedText)
    words = Self.copy(words, wordCount)
    (textCapacity, wordCapacity) = (usedText, wordCount)
  }

  private static func copy<Element: BitwiseCopyable>(
    _ source: UnsafeMutablePointer<Element>, _ count: Int
  ) -> UnsafeMutablePointer<Element> {
    let copy = UnsafeMutablePointer<Element>.allocate(capacity: count)
    copy.update(from: source, count: count)
    source.deallocate()
    return copy
  }

  /// Bytes that the buffers take.
  var size: Int { textCapacity + (wordCapacity + 2 * memberCapacity) * MemoryLayout<Word>.size }
}

extension Tape {
  @inline(__always) subscript(index: TapeIndex) -> Word { words[Int(index)] }

  /// The index behind a value.
  @inline(__always) func end(of index: TapeIndex) -> TapeIndex {
    let word = words[Int(index)]
    switch word.tag {
    case Tag.number.rawValue: return index &+ 2
    case Tag.string.rawValue, Tag.unreadable.rawValue: return index &+ (word & Word.longString != 0 ? 2 : 1)
    case Tag.array.rawValue, Tag.object.rawValue: return words[Int(index) &+ 1].lower
    default: return index &+ 1
    }
  }

  /// Elements of an array, or members of an object.
  @inline(__always) func count(of container: TapeIndex) -> Int { Int(words[Int(container) &+ 1].upper) }

  /// The bytes of a string.
  @inline(__always) func bytes(ofString index: TapeIndex) -> UnsafeBufferPointer<UInt8> {
    let word = words[Int(index)]
    let count = word & Word.longString == 0 ? word.stringLength : Int(words[Int(index) &+ 1])
    return UnsafeBufferPointer(start: text + word.offset, count: count)
  }

  @inline(__always) func string(at index: TapeIndex) -> String {
    let bytes = bytes(ofString: index)
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      // Valid UTF-8, as the parser has seen.
      return String(copying: UTF8Span(unchecked: bytes.span))
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  // MARK: Objects

  /// The names of an object, in order; behind them, as many places.
  @inline(__always) func names(of object: TapeIndex) -> UnsafeMutablePointer<Word> {
    words + Int(words[Int(object) &+ 3].upper)
  }

  /// The value of a member.
  @inline(__always) func value(of member: Int, in object: TapeIndex) -> TapeIndex {
    (names(of: object) + count(of: object))[member].lower
  }

  /// The bytes of a name; `isOriginal`: as they stand in the text, before their conversion.
  func bytes(ofName member: Int, in object: TapeIndex, isOriginal: Bool = false) -> UnsafeBufferPointer<UInt8> {
    let names = names(of: object)
    return bytes(ofName: names[member], length: names[count(of: object) + member].upper, isOriginal: isOriginal)
  }

  fileprivate func bytes(ofName word: Word, length: UInt32, isOriginal: Bool = false) -> UnsafeBufferPointer<UInt8> {
    if isOriginal, word & Word.converted != 0 {
      let original = UnsafeRawPointer(text + word.offset - 8).loadUnaligned(as: Word.self)
      return UnsafeBufferPointer(start: text + Int(original.lower), count: Int(original.upper))
    }
    return UnsafeBufferPointer(start: text + word.offset, count: Int(length))
  }

  func name(of member: Int, in object: TapeIndex, isOriginal: Bool = false) -> String {
    String(decoding: bytes(ofName: member, in: object, isOriginal: isOriginal), as: UTF8.self)
  }

  /// Returns whether the name at `word` has these bytes.
  @inline(__always) func isName(_ word: UnsafeMutablePointer<Word>, _ name: NameBytes, length: () -> UInt32) -> Bool {
    guard word.pointee & Word.nameMask == name.mark else { return false }
    if name.count >= Word.maximumNameLength, Int(length()) != name.count { return false }
    return name.hasBytes(at: text + word.pointee.offset)
  }

  /// The value of the first member with this name; 0 where there is none.
  ///
  /// Members are mostly asked for in the order in which they stand, so the one behind the last is
  /// tried first.
  @inline(__always) func find(_ name: NameBytes, in object: TapeIndex) -> TapeIndex {
    let header = words[Int(object)]
    if header & (Word.anyNames | Word.duplicates) != 0 { return findAnyhow(name, in: object) }
    let count = count(of: object)
    let names = names(of: object)
    let hint = Int(hint(of: object))
    if hint < count, isName(names + hint, name, length: { names[count + hint].upper }) {
      setHint(UInt32(truncatingIfNeeded: hint &+ 1), of: object)
      return names[count &+ hint].lower
    }
    guard words[Int(object) &+ 2] & name.bloomBit != 0 else { return missing(name, in: object) }
    return search(name, in: object, hint)
  }

  /// A key that is not ASCII may be equal to a plain name all the same: KELVIN SIGN is K.
  @inline(__always) private func missing(_ name: NameBytes, in object: TapeIndex) -> TapeIndex {
    name.isASCII ? 0 : findEqual(name, in: object)
  }

  /// The first member whose name is equal as strings are.
  @inline(never) private func findEqual(_ name: NameBytes, in object: TapeIndex) -> TapeIndex {
    let string = name.string
    for member in 0..<count(of: object) where self.name(of: member, in: object) == string {
      return value(of: member, in: object)
    }
    return 0
  }

  @inline(never) private func search(_ name: NameBytes, in object: TapeIndex, _ hint: Int) -> TapeIndex {
    let count = count(of: object)
    if count > Tape.indexedFrom { return findIndexed(name, in: object) }
    let names = names(of: object)
    var member = hint < count ? hint : 0
    for _ in 0..<count {
      if isName(names + member, name, length: { names[count + member].upper }) {
        setHint(UInt32(truncatingIfNeeded: member &+ 1), of: object)
        return names[count &+ member].lower
      }
      member &+= 1
      if member == count { member = 0 }
    }
    return missing(name, in: object)
  }

  /// Names that occur twice, or that may be equal without having the same bytes: the first that is
  /// equal, as strings are.
  @inline(never) private func findAnyhow(_ name: NameBytes, in object: TapeIndex) -> TapeIndex {
    let count = count(of: object)
    if count > Tape.indexedFrom { return findIndexed(name, in: object) }
    guard words[Int(object)] & Word.anyNames == 0 else { return findEqual(name, in: object) }
    let names = names(of: object)
    for member in 0..<count where isName(names + member, name, length: { names[count + member].upper }) {
      return names[count + member].lower
    }
    return missing(name, in: object)
  }

  // MARK: Hints

  /// A word of its own, since it is written while others read: the first half of the object's
  /// fifth.
  @inline(__always) private func hintAddress(of object: TapeIndex) -> UnsafeMutablePointer<Atomic<UInt32>> {
    UnsafeMutableRawPointer(words + (Int(object) &+ 4)).assumingMemoryBound(to: Atomic<UInt32>.self)
  }

  @inline(__always) private func hint(of object: TapeIndex) -> UInt32 {
    hintAddress(of: object).pointee.load(ordering: .relaxed)
  }

  @inline(__always) private func setHint(_ hint: UInt32, of object: TapeIndex) {
    hintAddress(of: object).pointee.store(hint, ordering: .relaxed)
  }
}

// MARK: Indexes of large objects

extension Tape {
  /// Slots of an index: a power of two, at least twice as many as members.
  static func slots(for count: Int) -> Int { 1 << (Int.bitWidth - (count * 2 - 1).leadingZeroBitCount) }

  /// Behind the places.
  private func index(of object: TapeIndex) -> UnsafeMutablePointer<Word> { names(of: object) + 2 * count(of: object) }

  /// The member of a slot, from 1; 0: it is free.
  @inline(__always) private func slot(_ number: Int, _ index: UnsafeMutablePointer<Word>) -> Int {
    Int(number & 1 == 0 ? index[number / 2].lower : index[number / 2].upper)
  }

  private func setSlot(_ number: Int, _ index: UnsafeMutablePointer<Word>, to member: Int) {
    let (word, member) = (index[number / 2], UInt32(truncatingIfNeeded: member))
    index[number / 2] =
      number & 1 == 0 ? Word(upper: word.upper, lower: member) : Word(upper: member, lower: word.lower)
  }

  /// Seeded, so that nobody can make names that collide. Of the string where equal names may have
  /// other bytes.
  private func seededHash(_ bytes: UnsafeBufferPointer<UInt8>, asString: Bool) -> Int {
    var hasher = Hasher()
    if asString {
      hasher.combine(String(decoding: bytes, as: UTF8.self))
    } else {
      hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
    }
    return hasher.finalize()
  }

  /// Fills the index of `object`, whose words are zero.
  ///
  /// - Returns: whether some name occurs twice.
  func fillIndex(of object: TapeIndex) -> Bool {
    let isPlain = words[Int(object)] & Word.anyNames == 0
    let index = index(of: object)
    var hasDuplicates = false
    for member in 0..<count(of: object) {
      let (number, other) = find(bytes(ofName: member, in: object), in: object, index, isPlain: isPlain)
      if other == 0 { setSlot(number, index, to: member + 1) } else { hasDuplicates = true }
    }
    return hasDuplicates
  }

  /// The slot of a name, and its member from 1; 0 where the slot is free.
  private func find(
    _ bytes: UnsafeBufferPointer<UInt8>, in object: TapeIndex, _ index: UnsafeMutablePointer<Word>, isPlain: Bool
  ) -> (slot: Int, member: Int) {
    let mask = Tape.slots(for: count(of: object)) - 1
    var number = seededHash(bytes, asString: !isPlain) & mask
    while true {
      let member = slot(number, index)
      if member == 0 || isSame(bytes, self.bytes(ofName: member - 1, in: object), isPlain: isPlain) {
        return (number, member)
      }
      number = (number + 1) & mask
    }
  }

  private func isSame(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>, isPlain: Bool) -> Bool {
    if isPlain { return a.count == b.count && a.elementsEqual(b) }
    return String(decoding: a, as: UTF8.self) == String(decoding: b, as: UTF8.self)
  }

  private func findIndexed(_ name: NameBytes, in object: TapeIndex) -> TapeIndex {
    let flags = words[Int(object)] & (Word.anyNames | Word.duplicates)
    let bytes = UnsafeBufferPointer(start: name.start, count: name.count)
    let member = find(bytes, in: object, index(of: object), isPlain: flags & Word.anyNames == 0).member
    guard member != 0 else { return flags & Word.anyNames == 0 ? missing(name, in: object) : 0 }
    if flags == 0 { setHint(UInt32(truncatingIfNeeded: member), of: object) }
    return value(of: member - 1, in: object)
  }
}
