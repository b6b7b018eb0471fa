import Foundation

/// Finds members that stand twice in one object, by the hashes of their names.
struct JSONDuplicates: JSONVisitor {
  static let limit = 16

  private struct Member {
    var hash: UInt64
    var token: JSONToken
  }

  /// The offsets of names that stand again, in the order in which their objects end.
  private(set) var offsets: [Int] = []

  private var members: [Member] = []
  /// For each open object, how many members there were before it.
  private var starts: [Int] = []
  /// Not known to who sends the text, who could else choose names of one hash.
  private let seed = UInt64.random(in: .min ... .max)

  @inline(__always)
  mutating func visit(_ token: JSONToken, in bytes: UnsafeRawBufferPointer) {
    switch token.kind {
    case .key: members.append(Member(hash: hash(token, in: bytes), token: token))
    case .beginObject: starts.append(members.count)
    case .endObject: endObject(in: bytes)
    default: break
    }
  }

  @inline(__always)
  private mutating func endObject(in bytes: UnsafeRawBufferPointer) {
    guard let start = starts.popLast() else { return }
    let isLarge = members.count - start > 16
    if isLarge { members[start...].sort { $0.hash < $1.hash } }
    for index in start..<members.count {
      // Sorted, equal names are neighbours; a name that stands a million times costs no more than a million others.
      for other in (isLarge ? max(start, index - 1) : start)..<index where members[other].hash == members[index].hash {
        report(members[other], members[index], in: bytes)
      }
    }
    members.removeSubrange(start...)
  }

  @inline(never)
  private mutating func report(_ first: Member, _ second: Member, in bytes: UnsafeRawBufferPointer) {
    let offset = max(first.token.start, second.token.start)
    guard offsets.count < Self.limit, !offsets.contains(offset) else { return }
    guard JSONText.equals(first.token, JSONText.lossyString(second.token, in: bytes), in: bytes) else { return }
    offsets.append(offset)
  }

  @inline(__always)
  private func hash(_ token: JSONToken, in bytes: UnsafeRawBufferPointer) -> UInt64 {
    guard token.isASCII, !token.isComplex else { return hashOfText(token, in: bytes) }
    return hash(UnsafeRawBufferPointer(rebasing: bytes[(token.start + 1)..<(token.end - 1)]))
  }

  /// Names that Swift takes for equal have one normal form, so one hash.
  @inline(never)
  private func hashOfText(_ token: JSONToken, in bytes: UnsafeRawBufferPointer) -> UInt64 {
    let text = JSONText.lossyString(token, in: bytes).precomposedStringWithCanonicalMapping
    return Array(text.utf8).withUnsafeBytes { hash($0) }
  }

  @inline(__always)
  private func hash(_ name: UnsafeRawBufferPointer) -> UInt64 {
    var state = seed ^ UInt64(truncatingIfNeeded: name.count)
    var index = 0
    while index &+ 8 <= name.count {
      state = mix(state, name.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      index &+= 8
    }
    var rest: UInt64 = 0
    while index < name.count {
      rest = rest << 8 | UInt64(name[index])
      index &+= 1
    }
    return mix(state, rest)
  }

  @inline(__always)
  private func mix(_ state: UInt64, _ word: UInt64) -> UInt64 {
    let product = (state ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
    return product.high ^ product.low
  }
}
