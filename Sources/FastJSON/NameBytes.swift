/// The bytes of a name, and what is compared first.
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

  /// Of the first and the last eight bytes: names of models differ there. Whoever makes names that
  /// do not costs scans of at most ``Tape/indexedFrom`` names; larger objects have an index with a
  /// seeded hash.
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

  var isASCII: Bool {
    var bits: UInt8 = 0
    for index in 0..<count { bits |= start[index] }
    return bits < 0x80
  }

  var string: String { String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self) }
}

@inline(never) private func equalBytes(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer, _ count: Int) -> Bool {
  UnsafeRawBufferPointer(start: a, count: count).elementsEqual(UnsafeRawBufferPointer(start: b, count: count))
}
