// The positions of values, and the keys of the members that are being decoded: the parts of paths.

/// A value, and where it stands.
struct Position {
  let index: TapeIndex
  /// The array or object around it; 0: it is the whole text.
  let container: TapeIndex
  /// Its number there, if that is an array.
  var element: UInt32 = 0
}

/// The place of a value that cannot be decoded, of which a path is made if need be.
struct Place {
  let position: Position
  /// The last key of the path, if the model has requested the value by it.
  let key: (any CodingKey)?

  @inline(__always) init(_ position: Position) { (self.position, key) = (position, nil) }

  /// A member, or an element that is not there.
  init(_ container: TapeIndex, _ key: any CodingKey) {
    (position, self.key) = (Position(index: 0, container: container), key)
  }
}

/// The members that are being decoded, each inside the one before, with the keys that the models
/// used. There is room for as many as a text may nest. A deeper one, as when a model decodes an
/// enclosing value again, is left out, and its path has the name of the text.
struct Frames {
  struct Frame {
    fileprivate var value: TapeIndex
    /// Lies on the stack of the call that decodes the member, which pops the frame; `nil`: the name
    /// as it stands in the text.
    fileprivate var keyAddress: UnsafeRawPointer?
    fileprivate var keyType: any CodingKey.Type

    var key: (any CodingKey)? { keyAddress.map { Self.key(at: $0, keyType) } }

    private static func key<Key: CodingKey>(at address: UnsafeRawPointer, _ type: Key.Type) -> any CodingKey {
      address.assumingMemoryBound(to: type).pointee
    }
  }

  private let frames: UnsafeMutablePointer<Frame>
  private let capacity: Int
  private(set) var count = 0

  init(capacity: Int) {
    frames = .allocate(capacity: capacity)
    self.capacity = capacity
  }

  func deallocate() { frames.deallocate() }

  /// - Returns: whether there was room, so that it is to be popped.
  @inline(__always) mutating func push<Key: CodingKey>(_ value: TapeIndex, _ key: UnsafePointer<Key>) -> Bool {
    push(Frame(value: value, keyAddress: key, keyType: Key.self))
  }

  /// Pushes a member whose key is its name in the text, before conversion.
  @inline(__always) mutating func pushName(_ value: TapeIndex) -> Bool {
    push(Frame(value: value, keyAddress: nil, keyType: PathKey.self))
  }

  @inline(__always) private mutating func push(_ frame: Frame) -> Bool {
    guard count < capacity else { return false }
    (frames + count).initialize(to: frame)
    count &+= 1
    return true
  }

  @inline(__always) mutating func pop() { count &-= 1 }

  /// The frame of a value among the frames below `level`, which is lowered to it. Call it for
  /// values from the inside to the outside.
  func frame(of value: TapeIndex, below level: inout Int) -> Frame? {
    while level > 0, frames[level - 1].value >= value {
      level -= 1
      if frames[level].value == value { return frames[level] }
    }
    return nil
  }
}

/// An element of a path that no key of the model stands for.
struct PathKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(index: Int) {
    stringValue = "Index \(index)"
    intValue = index
  }

  init(stringValue: String) {
    self.stringValue = stringValue
    intValue = nil
  }

  init?(intValue: Int) {
    stringValue = "\(intValue)"
    self.intValue = intValue
  }
}

extension CorePointer {
  @inline(never) func path(_ place: Place) -> [any CodingKey] {
    guard let key = place.key else { return path(of: place.position) }
    return path(of: place.position.container) + [key]
  }

  /// The path of an array or an object.
  func path(of container: TapeIndex) -> [any CodingKey] { path(of: pointee.tape.position(of: container)) }

  /// The path of a value, from the inside to the outside, in as many steps as it has keys: with the
  /// model's own keys where members are being decoded, else with names of the text.
  @inline(never) func path(of position: Position) -> [any CodingKey] {
    var level = pointee.isOver ? 0 : pointee.frames.count
    let keys = pointee.tape.positions(around: position).map { position -> any CodingKey in
      let frame = pointee.frames.frame(of: position.index, below: &level)
      return frame?.key ?? key(of: position, isOriginal: frame != nil)
    }
    return keys.reversed()
  }

  /// Returns the key of a value that no model has read by its own key.
  ///
  /// - Parameter isOriginal: `true` for the name in the text, before any conversion.
  private func key(of position: Position, isOriginal: Bool) -> PathKey {
    let (tape, container) = (pointee.tape, position.container)
    guard tape[container].is(.object) else { return PathKey(index: Int(position.element)) }
    if !isOriginal, let names = pointee.converted[container],
      let name = names.names.first(where: { names.find($0) == position.index })
    {
      return PathKey(stringValue: name)
    }
    let member = tape.member(at: position.index, in: container)
    return PathKey(stringValue: tape.name(of: member, in: container, isOriginal: isOriginal))
  }
}

extension Tape {
  /// A value and all around it, but for the root, which has no key.
  func positions(around position: Position) -> [Position] {
    var positions: [Position] = []
    var position = position
    while position.container != 0, position.index != root {
      positions.append(position)
      position = self.position(of: position.container)
    }
    return positions
  }

  /// The number of a member whose value is at `index`. Places are in the order of the text.
  fileprivate func member(at index: TapeIndex, in object: TapeIndex) -> Int {
    var (low, high) = (0, count(of: object) - 1)
    while low < high {
      let middle = (low + high) / 2
      if value(of: middle, in: object) < index { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
