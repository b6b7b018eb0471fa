// The layout of the tape, and how it is read.
//
// Parsing turns a text into one buffer of 64-bit words: the tape. Each value is one or more words,
// in the order of the text; a value is named by the index of its first word. Index 0 is a null
// that belongs to no text.
//
//   scalar   [tag | – | offset]
//   number   [tag | flags | exponent | offset] [significand]
//   string   [tag | flags | length | offset]                  and [length] where it is long
//   array    [tag | – | offset] [count | end] elements… [number | container]
//   object   [tag | flags | offset] [count | end] [Bloom bits] [names | container] [hint, number]
//            and then values… names… places… index…
//   name     [tag | flags | hash | length | offset]
//   place    [length of the name | index of the value]
//
// `offset` is where the value stands in the text; of a string, behind its quote. Escapes are
// replaced in the text itself, which is never longer for it. `end` is the index behind the value's
// last word. `container` is the array or object around an array or object, 0 around the outermost,
// and `number` says which of its values this is: so paths are found without a search.
//
// Invariants that make the unchecked reads sound: every index that is handed out was written by the
// parser and lies below the tape's end; every offset and length of a string lies in the text's
// buffer, and its bytes are valid UTF-8; behind the text stand `Tape.padding` zeros. Nothing but a
// hint is written after parsing; hints are written atomically, and a wrong one costs time only.

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
  /// Marks a string as unreadable.
  mutating func makeUnreadable() { self = self & ~(0xF << 60) | Tag.unreadable.rawValue << 60 }

  // Numbers.
  static let negative: Word = 1 << 59
  /// Has a fraction or an exponent.
  static let decimal: Word = 1 << 58
  /// The significand has lost digits, or the exponent is out of range: the text decides.
  static let inexact: Word = 1 << 57
  @inline(__always) var exponent: Int { Int(Int16(truncatingIfNeeded: self >> 32)) }

  // Objects.
  /// A name may be equal to one of other bytes, since it is not ``NameBytes/isNormalized``.
  static let anyNames: Word = 1 << 59
  /// Two names are equal, as strings are.
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
  /// The objects in which two names are equal.
  var duplicateCount = 0
  /// Words that are used.
  var wordCount = 1
  /// The first value: the text's value, or the value at a path.
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

  /// Frees the memory that the tape and so many bytes of text do not need.
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

  /// The position of an array or an object.
  func position(of container: TapeIndex) -> Position {
    if words[Int(container)].is(.object) {
      let number = UnsafeRawPointer(words + Int(container) + 4).load(fromByteOffset: 4, as: UInt32.self)
      return Position(index: container, container: words[Int(container) + 3].lower, element: number)
    }
    let last = words[Int(end(of: container)) - 1]
    return Position(index: container, container: last.lower, element: last.upper)
  }

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
}
