// Arrays and dictionaries, in loops of their own: no container, no existential, and memory of the
// right size from the start.

extension Array: FastCollection where Element: Decodable {
  /// A model that throws in the middle leaves what was made before it to be released.
  static func decode(_ core: CorePointer, _ index: TapeIndex) throws -> [Element] {
    guard core.word(index).is(.array) else { throw core.mismatch([Any].self, index, Place(index)) }
    switch core.pointee.kinds.kind(of: Element.self, isOver: core.pointee.isOver) {
    case .plain:
      return try elements(core, index) {
        $0.initialize(to: try Element(from: TapeDecoder(session: core.session, index: $1)))
      }
    // The element is an array of these, by ``KindTable``.
    case .doubles:
      return try elements(core, index) { place, index in
        UnsafeMutableRawPointer(place).assumingMemoryBound(to: [Double].self).initialize(to: try core.doubles(index))
      }
    case .integers:
      return try elements(core, index) { place, index in
        UnsafeMutableRawPointer(place).assumingMemoryBound(to: [Int].self).initialize(to: try core.integers(index))
      }
    case .strings:
      return try elements(core, index) { place, index in
        UnsafeMutableRawPointer(place).assumingMemoryBound(to: [String].self).initialize(to: try core.strings(index))
      }
    case let kind:
      return try elements(core, index) { $0.initialize(to: try core.special(kind, Element.self, $1)) }
    }
  }

  @inline(__always)
  private static func elements(
    _ core: CorePointer, _ index: TapeIndex, _ make: (UnsafeMutablePointer<Element>, TapeIndex) throws -> Void
  ) throws -> [Element] {
    let count = core.pointee.tape.count(of: index)
    // The standard library would write to what all empty arrays share.
    guard count > 0 else { return [] }
    let isFramed = !core.pointee.isOver && core.pointee.frames.push(index, element: 0)
    defer { if isFramed { core.pointee.frames.pop() } }
    return try [Element](unsafeUninitializedCapacity: count) { buffer, initialized in
      guard let start = buffer.baseAddress else { return }
      var next = index + 2
      while initialized < count {
        if isFramed { core.pointee.frames.advance(to: next, element: initialized) }
        try make(start + initialized, next)
        initialized += 1
        next = core.pointee.tape.end(of: next)
      }
    }
  }
}

extension CorePointer {
  func strings(_ index: TapeIndex) throws -> [String] { try scalars(index) { try string($0, $1()) } }
  func integers(_ index: TapeIndex) throws -> [Int] { try scalars(index) { try integer($0, as: Int.self, $1()) } }
  func doubles(_ index: TapeIndex) throws -> [Double] { try scalars(index) { try double($0, $1()) } }

  @inline(__always)
  private func scalars<Scalar>(
    _ index: TapeIndex, _ read: (TapeIndex, () -> Place) throws -> Scalar
  ) throws -> [Scalar] {
    guard word(index).is(.array) else { throw mismatch([Any].self, index, Place(index)) }
    let count = pointee.tape.count(of: index)
    guard count > 0 else { return [] }
    return try [Scalar](unsafeUninitializedCapacity: count) { buffer, initialized in
      var next = index + 2
      while initialized < count {
        let element = initialized
        buffer.initializeElement(at: element, to: try read(next) { Place(index, PathKey(index: element)) })
        initialized += 1
        next = pointee.tape.end(of: next)
      }
    }
  }
}

extension Dictionary: FastCollection where Key == String, Value: Decodable {
  /// Names as they stand in the text, whatever the strategy of keys; of equal ones the first.
  static func decode(_ core: CorePointer, _ index: TapeIndex) throws -> [String: Value] {
    guard core.word(index).is(.object) else {
      throw core.mismatch([String: Any].self, index, Place(index))
    }
    let tape = core.pointee.tape
    var values = [String: Value](minimumCapacity: tape.count(of: index))
    let isUnique = tape[index] & Word.duplicates == 0
    for member in 0..<tape.count(of: index) {
      let name = tape.name(of: member, in: index, isOriginal: true)
      let value = tape.value(of: member, in: index)
      if !isUnique, values[name] != nil { continue }
      values[name] = try core.decode(Value.self, value, PathKey(stringValue: name))
    }
    return values
  }
}
