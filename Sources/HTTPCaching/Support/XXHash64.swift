/// XXH64 with seed 0 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md). It is a checksum and does
/// not protect from forgery.
///
/// Every step is a bijection of its input, so one changed word of a lane always changes the hash.
package enum XXHash64 {
  private static let primes: (UInt64, UInt64, UInt64, UInt64, UInt64) = (
    0x9E37_79B1_85EB_CA87, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0x85EB_CA77_C2B2_AE63, 0x27D4_EB2F_1656_67C5
  )

  package static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    let (p1, p2, p3, p4, p5) = primes
    let end = bytes.count
    var at = 0
    var hash: UInt64
    if end >= 32 {
      var lanes = (p1 &+ p2, p2, UInt64(0), 0 &- p1)
      while at + 32 <= end {
        lanes.0 = round(lanes.0, word(bytes, at))
        lanes.1 = round(lanes.1, word(bytes, at + 8))
        lanes.2 = round(lanes.2, word(bytes, at + 16))
        lanes.3 = round(lanes.3, word(bytes, at + 24))
        at += 32
      }
      hash = rotate(lanes.0, 1) &+ rotate(lanes.1, 7) &+ rotate(lanes.2, 12) &+ rotate(lanes.3, 18)
      hash = (hash ^ round(0, lanes.0)) &* p1 &+ p4
      hash = (hash ^ round(0, lanes.1)) &* p1 &+ p4
      hash = (hash ^ round(0, lanes.2)) &* p1 &+ p4
      hash = (hash ^ round(0, lanes.3)) &* p1 &+ p4
    } else {
      hash = p5
    }
    hash = hash &+ UInt64(end)
    while at + 8 <= end {
      hash = rotate(hash ^ round(0, word(bytes, at)), 27) &* p1 &+ p4
      at += 8
    }
    if at + 4 <= end {
      let half = UInt64(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self)))
      hash = rotate(hash ^ (half &* p1), 23) &* p2 &+ p3
      at += 4
    }
    while at < end {
      hash = rotate(hash ^ (UInt64(bytes[at]) &* p5), 11) &* p1
      at += 1
    }
    hash = (hash ^ (hash >> 33)) &* p2
    hash = (hash ^ (hash >> 29)) &* p3
    return hash ^ (hash >> 32)
  }

  @inline(__always) private static func round(_ lane: UInt64, _ word: UInt64) -> UInt64 {
    rotate(lane &+ word &* primes.1, 31) &* primes.0
  }

  @inline(__always) private static func rotate(_ x: UInt64, _ n: UInt64) -> UInt64 { x << n | x >> (64 &- n) }

  @inline(__always) private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}
