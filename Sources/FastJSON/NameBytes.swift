/// The bytes of a name, and the part that is compared first.
struct NameBytes {
  let start: UnsafePointer<UInt8>
  let count: Int
  /// Length and hash, as they stand in the word of a name.
  let mark: Word
  /// One of 64 bits.
  let bloomBit: Word

  @inline(__always) init(_ start: UnsafePointer<UInt8>, _ count: Int) {
    self.start = start
    self.count = count
    let hash = Self.hash(UnsafeRawPointer(start), count)
    mark = (hash >> 54) << 48 | UInt64(truncatingIfNeeded: min(count, Word.maximumNameLength)) << 32
    bloomBit = 1 << (hash >> 48 & 63)
  }

  /// A hash of the first and the last eight bytes, where the names of models differ. Names that do
  /// not differ there cost scans of at most ``Tape/indexedFrom`` names; larger objects have an
  /// index with a seeded hash.
  @inline(__always) private static func hash(_ bytes: UnsafeRawPointer, _ count: Int) -> UInt64 {
    var (first, last): (UInt64, UInt64) = (0, 0)
    if count >= 8 {
      first = bytes.loadUnaligned(as: UInt64.self)
      last = bytes.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
    } else if count >= 4 {
      first = UInt64(bytes.loadUnaligned(as: UInt32.self))
      last = UInt64(bytes.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self))
    } else if count > 0 {
      first = UInt64(bytes.load(as: UInt8.self)) | UInt64(bytes.load(fromByteOffset: count / 2, as: UInt8.self)) << 8
      last = UInt64(bytes.load(fromByteOffset: count - 1, as: UInt8.self))
    }
    let mixed = (first ^ (last << 29 | last >> 35) ^ UInt64(truncatingIfNeeded: count)) &* 0x9E37_79B9_7F4A_7C15
    return (mixed ^ mixed >> 32) &* 0xD6E8_FEB8_6659_FD93
  }

  @inline(__always) func hasBytes(at other: UnsafePointer<UInt8>) -> Bool {
    let (a, b) = (UnsafeRawPointer(start), UnsafeRawPointer(other))
    if count >= 8 {
      guard a.loadUnaligned(as: UInt64.self) == b.loadUnaligned(as: UInt64.self) else { return false }
      if count > 16 { return equalBytes(a + 8, b + 8, count - 8) }
      return a.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
        == b.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
    }
    if count >= 4 {
      return a.loadUnaligned(as: UInt32.self) == b.loadUnaligned(as: UInt32.self)
        && a.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self)
          == b.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self)
    }
    var index = 0
    while index < count {
      if start[index] != other[index] { return false }
      index += 1
    }
    return true
  }

  @inline(__always) var isASCII: Bool {
    var (bits, index): (UInt64, Int) = (0, 0)
    while index &+ 8 <= count {
      bits |= UnsafeRawPointer(start).loadUnaligned(fromByteOffset: index, as: UInt64.self)
      index &+= 8
    }
    while index < count {
      bits |= UInt64(start[index])
      index &+= 1
    }
    return bits & 0x8080_8080_8080_8080 == 0
  }

  /// A Boolean value that indicates whether the name is surely in Unicode's form C. Two such names
  /// are equal as strings if and only if their bytes are equal.
  ///
  /// It is where each scalar is neither composed nor reordered with what stands before it, nor ever
  /// written as another: `NFC_Quick_Check` is Yes and the combining class 0, which Unicode does not
  /// change any more. Of the blocks where that holds, the most used ones are listed.
  var isNormalized: Bool {
    var index = 0
    while index < count {
      let byte = start[index]
      switch byte {
      case ..<0x80: index += 1
      // To U+02FF: Latin.
      case 0xC2...0xCB: index += 2
      // U+0388 to U+0482, U+048A to U+052F: Greek and Cyrillic.
      case 0xCE...0xD4:
        let scalar = UInt32(byte & 0x1F) << 6 | UInt32(start[index + 1] & 0x3F)
        guard scalar >= 0x388, scalar <= 0x52F, scalar <= 0x482 || scalar >= 0x48A else { return false }
        index += 2
      // Kana, Han and Hangul, but for sound marks and jamo.
      case 0xE3...0xED:
        let low = UInt32(start[index + 1] & 0x3F) << 6 | UInt32(start[index + 2] & 0x3F)
        switch UInt32(byte & 0x0F) << 12 | low {
        case 0x3041...0x3096, 0x309B...0x30FF, 0x4E00...0x9FFF, 0xAC00...0xD7A3: index += 3
        default: return false
        }
      default: return false
      }
    }
    return true
  }

  var string: String { String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self) }
}

@inline(never) private func equalBytes(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer, _ count: Int) -> Bool {
  UnsafeRawBufferPointer(start: a, count: count).elementsEqual(UnsafeRawBufferPointer(start: b, count: count))
}
