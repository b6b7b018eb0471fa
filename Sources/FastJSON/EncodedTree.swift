// What one call has encoded: the bytes of scalars and of names in one buffer, in the order in which
// they came, and lists of what belongs to which array or object. So a model may fill its containers
// in any order, and each value costs the same. `EncodedText.swift` writes the text at the end.

import Foundation

/// Memory that grows, for elements that need no release. Its owner frees it.
struct Growing<Element> {
  private(set) var start: UnsafeMutablePointer<Element>
  private(set) var count = 0
  private(set) var capacity = 0

  init() { start = .allocate(capacity: 0) }

  func deallocate() { start.deallocate() }

  /// Makes room for so many more elements.
  @inline(__always) mutating func reserve(_ more: Int) { if capacity &- count < more { grow(more) } }

  @inline(never) private mutating func grow(_ more: Int) {
    capacity = max(count + more, capacity * 2, 64)
    let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity)
    larger.moveInitialize(from: start, count: count)
    start.deallocate()
    start = larger
  }

  @inline(__always) mutating func append(_ element: Element) {
    reserve(1)
    (start + count).initialize(to: element)
    count &+= 1
  }

  /// Keeps the first elements only.
  @inline(__always) mutating func cut(to count: Int) { self.count = count }

  /// Counts elements that were written behind the last one, within the reserved room.
  @inline(__always) mutating func advance(by more: Int) { count &+= more }

  @inline(__always) subscript(index: Int) -> Element {
    get { start[index] }
    nonmutating _modify { yield &start[index] }
  }
}

/// A value: a range of the buffer, or a node.
struct EncodedValue {
  var start: UInt32
  /// `UInt32.max` for a node.
  var count: UInt32

  @inline(__always) init(from start: Int, to end: Int) {
    self.start = UInt32(truncatingIfNeeded: start)
    count = UInt32(truncatingIfNeeded: end &- start)
  }

  @inline(__always) init(node: Int) { (start, count) = (UInt32(truncatingIfNeeded: node), .max) }

  static let none = EncodedValue(from: 0, to: 0)

  @inline(__always) var node: Int? { count == .max ? Int(start) : nil }
}

/// An element of an array, or a member of an object.
struct EncodedMember {
  /// The name with its quotes, in the buffer; a colon is behind it. Empty in an array.
  var name: EncodedValue
  var value: EncodedValue
  /// The member behind it, plus 1; 0: it is the last.
  var next: UInt32 = 0
}

/// The place of a value that a model encodes by an `Encoder`, or by a nested container.
struct EncodedNode {
  enum Kind { case empty, scalar, array, object }

  var kind = Kind.empty
  /// The program has an encoder of this place.
  var isShared = false
  /// Two members may have the same name.
  var mayRepeat = false
  /// A name has an escape or a character beyond ASCII, so bytes do not settle which names are equal
  /// and which comes first.
  var hasSpecialName = false
  /// Arrays and objects around it.
  let depth: Int32
  /// Keys of its path: so many frames, and then those of a nested container.
  let level: Int32
  let nested: Int32
  var count: Int32 = 0
  /// Numbers of members, plus 1; 0 without a member.
  var first: UInt32 = 0
  var last: UInt32 = 0
  /// Of a scalar.
  var value = EncodedValue(from: 0, to: 0)
  /// A bit for each name, by its hash: names with different bits differ.
  var nameBits: UInt64 = 0
}

/// A value that is being encoded by a key, of whose path that key is a part.
struct EncodingFrame {
  /// Lies on the stack of the call that encodes the value; `nil`: an element, with a number.
  let keyAddress: UnsafeRawPointer?
  let keyType: any CodingKey.Type
  let index: Int
  /// The nested container of the value; -1 for none.
  let nested: Int32

  var key: any CodingKey { keyAddress.map { Self.key(at: $0, keyType) } ?? PathKey(index: index) }

  private static func key<Key: CodingKey>(at address: UnsafeRawPointer, _ type: Key.Type) -> any CodingKey {
    address.assumingMemoryBound(to: type).pointee
  }
}

/// A member to be written, with the first bytes of its name.
struct OrderedMember {
  var prefix: UInt64
  var member: UInt32
}

struct EncodedTree {
  struct NestedKey {
    let outer: Int32
    let key: any CodingKey
  }

  var strategies = EncodingStrategies.standard
  private(set) var isPretty = false
  private(set) var sortsNames = false
  private(set) var escapesSlashes = true
  private(set) var convertsNames = false
  var bytes = Growing<UInt8>()
  var nodes = Growing<EncodedNode>()
  var members = Growing<EncodedMember>()
  var frames = Growing<EncodingFrame>()
  var order = Growing<OrderedMember>()
  var output = Growing<UInt8>()
  let kinds = KindTable<EncodingKind>()
  var nestedKeys: [NestedKey] = []
  /// By member, where bytes do not settle which names are equal.
  var specialNames: [UInt32: String] = [:]
  var nameIndexes: [Int: NameIndex] = [:]
  var snakeCase: [String: String] = [:]
  /// Calls of `encode(to:)` inside of each other.
  var calls = 0
  /// The reason why there is no text, although the model may have caught its errors.
  var fault: String?

  /// As many arrays and objects may be around a scalar; `JSONEncoder` allows one less than the 512
  /// that the decoder reads.
  static let maximumDepth: Int32 = 511
  /// A container takes up to four calls: those of an Optional and of a wrapper around it, too.
  static let maximumCalls = 4 * 512
  static let maximumSize = 1 << 30

  mutating func begin(_ strategies: EncodingStrategies) {
    let formatting = strategies.options.formatting
    self.strategies = strategies
    isPretty = formatting.contains(.prettyPrinted)
    sortsNames = formatting.contains(.sortedKeys)
    escapesSlashes = !formatting.contains(.withoutEscapingSlashes)
    convertsNames = if case .useDefaultKeys = strategies.options.keys { false } else { true }
    nodes.append(EncodedNode(depth: 0, level: 0, nested: -1))
  }

  /// Forgets a call, and releases the program's objects.
  mutating func clear() {
    strategies = .standard
    bytes.cut(to: 0)
    nodes.cut(to: 0)
    members.cut(to: 0)
    frames.cut(to: 0)
    order.cut(to: 0)
    output.cut(to: 0)
    if !nestedKeys.isEmpty { nestedKeys = [] }
    if !specialNames.isEmpty { specialNames = [:] }
    if !nameIndexes.isEmpty { nameIndexes = [:] }
    if snakeCase.count > 256 { snakeCase = [:] }
    (calls, fault) = (0, nil)
  }

  func deallocate() {
    bytes.deallocate()
    nodes.deallocate()
    members.deallocate()
    frames.deallocate()
    order.deallocate()
    output.deallocate()
    kinds.deallocate()
  }

  /// Bytes of all buffers.
  var size: Int {
    bytes.capacity + output.capacity + nodes.capacity * MemoryLayout<EncodedNode>.stride
      + members.capacity * MemoryLayout<EncodedMember>.stride
  }

  // MARK: Building

  /// Adds a place for a value in an array or an object.
  @inline(__always) mutating func addNode(in container: Int, nested: Int32 = -1, level: Int) -> Int {
    nodes.append(
      EncodedNode(
        depth: nodes.start[container].depth &+ 1, level: Int32(truncatingIfNeeded: level), nested: nested))
    return nodes.count &- 1
  }

  /// Makes an array or an object of a place.
  ///
  /// - Returns: `false` if it is something else already, which is a fault of the model.
  mutating func open(_ node: Int, as kind: EncodedNode.Kind) -> Bool {
    let found = nodes[node].kind
    if found == kind { return true }
    if found == .scalar, kind == .array, reopenArray(node) { return true }
    guard found == .empty else {
      fault = "A value was encoded in two ways: as \(found), and as \(kind)."
      return false
    }
    if nodes[node].depth >= Self.maximumDepth { fault = Self.depthFault }
    nodes[node].kind = kind
    return true
  }

  /// Goes on with an array of scalars that was written at once: its text becomes the first member.
  private mutating func reopenArray(_ node: Int) -> Bool {
    let text = nodes[node].value
    guard bytes[Int(text.start)] == UInt8(ascii: "[") else { return false }
    nodes[node].kind = .array
    let (start, end) = (Int(text.start) + 1, Int(text.start) + Int(text.count) - 1)
    if start < end { link(.none, EncodedValue(from: start, to: end), in: node) }
    return true
  }

  static let depthFault = "The value has more than \(maximumDepth) levels of nesting."

  /// - Parameter name: empty in an array.
  @inline(__always) mutating func link(_ name: EncodedValue, _ value: EncodedValue, in node: Int) {
    members.append(EncodedMember(name: name, value: value))
    if bytes.count > Self.maximumSize { tooLarge() }
    let number = UInt32(truncatingIfNeeded: members.count)
    let place = nodes.start + node
    if place.pointee.last == 0 {
      place.pointee.first = number
    } else {
      members.start[Int(place.pointee.last &- 1)].next = number
    }
    place.pointee.last = number
    place.pointee.count &+= 1
  }

  @inline(never) private mutating func tooLarge() {
    fault = "The text is larger than 1 GiB."
    bytes.cut(to: 0)
  }

  /// The value of a place that is complete: its bytes, if it is a scalar.
  @inline(__always) mutating func settle(_ node: Int) -> EncodedValue {
    guard nodes[node].kind == .scalar else {
      fillEmpty(node)
      return EncodedValue(node: node)
    }
    // A model may have kept an encoder of the place.
    if !nodes[node].isShared { nodes.cut(to: node) }
    return nodes.start[node].value
  }

  /// A model that encodes nothing is an empty object.
  @inline(__always) mutating func fillEmpty(_ node: Int) {
    if nodes[node].kind == .empty { nodes.start[node].kind = .object }
  }

  /// Writes a name, its quotes and a colon; the caller links it at once.
  ///
  /// - Returns: its bytes without the colon, and `false` if no other member has this name.
  @inline(__always) mutating func writeName(_ name: String, in node: Int) -> (range: EncodedValue, mayRepeat: Bool) {
    let start = bytes.count
    let isSpecial = bytes.write(name, escapesSlashes: escapesSlashes)
    let range = EncodedValue(from: start, to: bytes.count)
    bytes.append(UInt8(ascii: ":"))
    let place = nodes.start + node
    let mixed = (prefix(of: range) &+ UInt64(range.count)) &* 0x9E37_79B9_7F4A_7C15
    let bit: UInt64 = 1 << (mixed >> 58)
    let isSeen = place.pointee.nameBits & bit != 0
    if isSeen { place.pointee.mayRepeat = true }
    place.pointee.nameBits |= bit
    if isSpecial {
      place.pointee.hasSpecialName = true
      specialNames[UInt32(truncatingIfNeeded: members.count)] = name
    }
    return (range, isSeen || place.pointee.hasSpecialName)
  }

  /// The first eight bytes of a name, or all and zeros, as a number in the order of the names.
  @inline(__always) func prefix(of name: EncodedValue) -> UInt64 {
    let start = bytes.start + (Int(name.start) &+ 1)
    let word = UnsafeRawPointer(start).loadUnaligned(as: UInt64.self).bigEndian
    return name.count >= 10 ? word : word & ~(.max >> UInt64((name.count &- 2) &* 8))
  }
}

// MARK: Nested containers

extension EncodedTree {
  /// The members of an object by their names, up to one of them.
  struct NameIndex {
    var last: UInt32 = 0
    var members: [String: Int] = [:]
  }

  /// Adds a place for a nested container or the encoder of a superclass.
  mutating func addNested(_ key: any CodingKey, in container: Int) -> Int {
    let outer = nodes[container]
    nestedKeys.append(NestedKey(outer: outer.nested, key: key))
    return addNode(in: container, nested: Int32(nestedKeys.count - 1), level: Int(outer.level))
  }

  /// Returns the place of a member: with `mayReuse` the present one, unless it is a scalar.
  mutating func nested(_ key: any CodingKey, named name: String, in container: Int, mayReuse: Bool) -> Int {
    let written = writeName(name, in: container)
    if mayReuse, written.mayRepeat, let member = member(named: name, in: container) {
      specialNames[UInt32(truncatingIfNeeded: members.count)] = nil
      if let node = members[member].value.node { return node }
      // An array that was written at once can be continued; opening another scalar is a fault.
      let node = addNested(key, in: container)
      (nodes.start[node].kind, nodes.start[node].value) = (.scalar, members[member].value)
      members.start[member].value = EncodedValue(node: node)
      return node
    }
    let node = addNested(key, in: container)
    link(written.range, EncodedValue(node: node), in: container)
    return node
  }

  private mutating func member(named name: String, in node: Int) -> Int? {
    var index = nameIndexes.removeValue(forKey: node) ?? NameIndex()
    var next = index.last == 0 ? nodes[node].first : members[Int(index.last - 1)].next
    while next != 0 {
      index.members[self.name(of: Int(next - 1))] = Int(next - 1)
      index.last = next
      next = members[Int(next - 1)].next
    }
    defer { nameIndexes[node] = index }
    return index.members[name]
  }

  // MARK: Snake case

  mutating func snakeCased(_ name: String) -> String {
    // Names that are equal as text may differ in their bytes.
    guard name.utf8.allSatisfy({ $0 < 0x80 }) else { return Self.snakeCase(name) }
    if let known = snakeCase[name] { return known }
    let converted = Self.snakeCase(name)
    snakeCase[name] = converted
    return converted
  }

  /// As `JSONEncoder.KeyEncodingStrategy.convertToSnakeCase`: a capital begins a word, and of
  /// several capitals the last begins one, if a small letter is behind it. The first letter begins
  /// none.
  private static func snakeCase(_ name: String) -> String {
    var words: [Substring.UnicodeScalarView] = []
    let letters = name.unicodeScalars
    guard let second = name.indices.dropFirst().first else { return name.lowercased() }
    var (start, next) = (letters.startIndex, second)
    while let capital = letters[next...].firstIndex(where: isCapital) {
      words.append(letters[start..<capital])
      start = capital
      guard let small = letters[capital...].firstIndex(where: isSmall) else { break }
      let before = name.index(before: small)
      if before > capital {
        words.append(letters[capital..<before])
        start = before
      }
      next = letters.index(after: small)
    }
    words.append(letters[start...])
    return words.map { String(Substring($0)).lowercased() }.joined(separator: "_")
  }

  private static func isCapital(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .uppercaseLetter || scalar.properties.generalCategory == .titlecaseLetter
  }

  private static func isSmall(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .lowercaseLetter
  }
}
