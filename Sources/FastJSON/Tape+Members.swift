// The members of an object, and how one is found by its name.

import Foundation
import Synchronization

extension Tape {
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

  /// Returns the value of the first member with this name; 0 if the object has no such member.
  ///
  /// Members are mostly read in the order of the text, so the member behind the last one is tried
  /// first.
  @inline(__always) func find(_ name: NameBytes, in object: TapeIndex) -> TapeIndex {
    if words[Int(object)] & Word.duplicates != 0 { return findFirst(name, in: object) }
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

  /// The first member whose name is equal as strings are, where none has the same bytes.
  @inline(__always) private func missing(_ name: NameBytes, in object: TapeIndex) -> TapeIndex {
    words[Int(object)] & Word.anyNames == 0 && name.isASCII ? 0 : findEqual(name, in: object)
  }

  /// A key that is not ASCII may still equal a plain name: KELVIN SIGN is K.
  @inline(never) private func findEqual(_ name: NameBytes, in object: TapeIndex) -> TapeIndex {
    if words[Int(object)] & Word.anyNames != 0 { return findString(name, in: object) }
    if name.isNormalized { return 0 }
    // All names are in form C, so that the key is found by its bytes in that form.
    let composed = Array(name.string.precomposedStringWithCanonicalMapping.utf8) + [0]
    return composed.withUnsafeBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return 0 }
      let other = NameBytes(start, buffer.count - 1)
      return other.isNormalized ? find(other, in: object) : 0
    }
  }

  @inline(never) private func findString(_ name: NameBytes, in object: TapeIndex) -> TapeIndex {
    if count(of: object) > Tape.indexedFrom { return findIndexed(name, in: object) }
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

  /// Of equal names the first, though another may have the same bytes as the key.
  @inline(never) private func findFirst(_ name: NameBytes, in object: TapeIndex) -> TapeIndex {
    guard words[Int(object)] & Word.anyNames == 0 else { return findString(name, in: object) }
    let count = count(of: object)
    if count > Tape.indexedFrom { return findIndexed(name, in: object) }
    let names = names(of: object)
    for member in 0..<count where isName(names + member, name, length: { names[count + member].upper }) {
      return names[count + member].lower
    }
    return missing(name, in: object)
  }

  // MARK: Hints

  /// The first half of the object's fifth word, which is written while others read. The second half
  /// is only read, by itself.
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

  /// A seeded hash, so that an attacker cannot make names that collide. It hashes the string if
  /// equal names may have different bytes.
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
    let isPlain = flags & Word.anyNames == 0
    let member = find(bytes, in: object, index(of: object), isPlain: isPlain).member
    guard member != 0 else { return isPlain ? missing(name, in: object) : 0 }
    if flags & Word.duplicates == 0 { setHint(UInt32(truncatingIfNeeded: member), of: object) }
    return value(of: member - 1, in: object)
  }
}
