// Arrays and dictionaries, decoded in loops without containers and existentials, and with memory of
// the right size from the start.

extension Array: FastCollection where Element: Decodable {
  /// If a model throws in the middle, the elements made before it must be released.
  static func decode(_ core: CorePointer, _ value: Position) throws -> [Element] {
    let index = value.index
    guard core.word(index).is(.array) else { throw core.mismatch([Any].self, index, Place(value)) }
    switch core.pointee.kinds.kind(of: Element.self, isOver: core.pointee.isOver) {
    case .plain:
      return try elements(core, index) {
        $0.initialize(to: try Element(from: TapeDecoder(session: core.session, position: $1)))
      }
    // The element is an array of these, by ``KindTable``.
    case .doubles:
      return try elements(core, index) { place, value in
        UnsafeMutableRawPointer(place).assumingMemoryBound(to: [Double].self).initialize(to: try core.doubles(value))
      }
    case .integers:
      return try elements(core, index) { place, value in
        UnsafeMutableRawPointer(place).assumingMemoryBound(to: [Int].self).initialize(to: try core.integers(value))
      }
    case .strings:
      return try elements(core, index) { place, value in
        UnsafeMutableRawPointer(place).assumingMemoryBound(to: [String].self).initialize(to: try core.strings(value))
      }
    case let kind:
      return try elements(core, index) { $0.initialize(to: try core.special(kind, Element.self, $1)) }
    }
  }

  @inline(__always)
  private static func elements(
    _ core: CorePointer, _ index: TapeIndex, _ make: (UnsafeMutablePointer<Element>, Position) throws -> Void
  ) throws -> [Element] {
    let count = core.pointee.tape.count(of: index)
    // The standard library would write to what all empty arrays share.
    guard count > 0 else { return [] }
    return try [Element](unsafeUninitializedCapacity: count) { buffer, initialized in
      guard let start = buffer.baseAddress else { return }
      var next = index + 2
      while initialized < count {
        let element = UInt32(truncatingIfNeeded: initialized)
        try make(start + initialized, Position(index: next, container: index, element: element))
        initialized += 1
        next = core.pointee.tape.end(of: next)
      }
    }
  }
}

extension CorePointer {
  func strings(_ value: Position) throws -> [String] { try scalars(value) { try string($0, $1()) } }
  func integers(_ value: Position) throws -> [Int] { try scalars(value) { try integer($0, as: Int.self, $1()) } }
  func doubles(_ value: Position) throws -> [Double] { try scalars(value) { try double($0, $1()) } }

  @inline(__always)
  private func scalars<Scalar>(
    _ value: Position, _ read: (TapeIndex, () -> Place) throws -> Scalar
  ) throws -> [Scalar] {
    let index = value.index
    guard word(index).is(.array) else { throw mismatch([Any].self, index, Place(value)) }
    let count = pointee.tape.count(of: index)
    var values: [Scalar] = []
    // The initializer that writes to uninitialized memory would ask the runtime for the type of the
    // array's memory, which takes longer than to read two numbers.
    values.reserveCapacity(count)
    var next = index + 2
    for element in 0..<count {
      let value = try read(next) {
        Place(Position(index: next, container: index, element: UInt32(truncatingIfNeeded: element)))
      }
      values.append(value)
      next = pointee.tape.end(of: next)
    }
    return values
  }
}

extension Dictionary: FastCollection where Key == String, Value: Decodable {
  /// Names as written in the text, whatever the key strategy; of equal ones the first.
  static func decode(_ core: CorePointer, _ value: Position) throws -> [String: Value] {
    let index = value.index
    guard core.word(index).is(.object) else { throw core.mismatch([String: Any].self, index, Place(value)) }
    let tape = core.pointee.tape
    var values = [String: Value](minimumCapacity: tape.count(of: index))
    let isUnique = tape[index] & Word.duplicates == 0
    for member in 0..<tape.count(of: index) {
      let name = tape.name(of: member, in: index, isOriginal: true)
      if !isUnique, values[name] != nil { continue }
      let member = Position(index: tape.value(of: member, in: index), container: index)
      values[name] = try core.decodeNamed(Value.self, member)
    }
    return values
  }
}
