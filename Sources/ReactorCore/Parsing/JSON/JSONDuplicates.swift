import Foundation

/// Finds members that stand twice in one object, by the hashes of their names.
struct JSONDuplicates: JSONVisitor {
  static let limit = 16

  /// The offsets of names that stand again, in the order in which their objects end.
  private(set) var offsets: [Int] = []

  private struct Member {
    var hash: UInt64
    var name: JSONToken
  }

  /// Of the open objects.
  private var members: [Member] = []
  /// For each open object, how many names there were before it, and what its own have set in ``seen``.
  private var outer: [(start: Int, seen: UInt64)] = []
  /// A bit for each name of the innermost object; where a name finds its own set, another may be the same.
  private var seen: UInt64 = 0
  private var start = 0
  /// Not known to who sends the text, who could else choose names of one hash.
  private let seed = UInt64.random(in: .min ... .max)

  @inline(__always)
  mutating func visit(_ token: JSONToken, in bytes: UnsafeRawBufferPointer) {
    switch token.kind {
    case .key:
      let hash = hash(token, in: bytes)
      members.append(Member(hash: hash, name: token))
      seen |= 1 << (hash & 63)
    case .beginObject:
      outer.append((start, seen))
      start = members.count
      seen = 0
    case .endObject: endObject(in: bytes)
    default: break
    }
  }

  @inline(__always)
  private mutating func endObject(in bytes: UnsafeRawBufferPointer) {
    guard let (start, seen) = outer.popLast() else { return }
    // Each set a bit of its own: they differ.
    if self.seen.nonzeroBitCount < members.count - self.start { compare(in: bytes) }
    members.removeLast(members.count - self.start)
    (self.start, self.seen) = (start, seen)
  }

  @inline(never)
  private mutating func compare(in bytes: UnsafeRawBufferPointer) {
    let isLarge = members.count - start > 16
    if isLarge { members[start...].sort { $0.hash < $1.hash } }
    for index in start..<members.count {
      // Sorted, equal names are neighbours; a name that stands a million times costs no more than a million others.
      for other in (isLarge ? max(start, index - 1) : start)..<index where members[other].hash == members[index].hash {
        report(members[other].name, members[index].name, in: bytes)
      }
    }
  }

  @inline(never)
  private mutating func report(_ first: JSONToken, _ second: JSONToken, in bytes: UnsafeRawBufferPointer) {
    let offset = max(first.start, second.start)
    guard offsets.count < Self.limit, !offsets.contains(offset) else { return }
    guard JSONText.equals(first, JSONText.lossyString(second, in: bytes), in: bytes) else { return }
    offsets.append(offset)
  }

  @inline(__always)
  private func hash(_ token: JSONToken, in bytes: UnsafeRawBufferPointer) -> UInt64 {
    guard token.isASCII, !token.isComplex else { return hashOfText(token, in: bytes) }
    return hash(bytes, (token.start &+ 1)..<(token.end &- 1))
  }

  /// Names that Swift takes for equal have one normal form, so one hash.
  @inline(never)
  private func hashOfText(_ token: JSONToken, in bytes: UnsafeRawBufferPointer) -> UInt64 {
    let text = JSONText.lossyString(token, in: bytes).precomposedStringWithCanonicalMapping
    return Array(text.utf8).withUnsafeBytes { hash($0, 0..<$0.count) }
  }

  /// Eight bytes at a time, also the last ones, unless the text ends with them.
  @inline(__always)
  private func hash(_ bytes: UnsafeRawBufferPointer, _ name: Range<Int>) -> UInt64 {
    var state = seed ^ UInt64(truncatingIfNeeded: name.count)
    var index = name.lowerBound
    while index &+ 8 <= name.upperBound {
      state = mix(state, UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)))
      index &+= 8
    }
    let rest = name.upperBound &- index
    guard index &+ 8 > bytes.count else {
      let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      return mix(state, word & ~(UInt64.max << UInt64(rest &* 8)))
    }
    var word: UInt64 = 0
    for place in 0..<rest { word |= UInt64(bytes[index &+ place]) << UInt64(place &* 8) }
    return mix(state, word)
  }

  @inline(__always)
  private func mix(_ state: UInt64, _ word: UInt64) -> UInt64 {
    let product = (state ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
    return product.high ^ product.low
  }
}
