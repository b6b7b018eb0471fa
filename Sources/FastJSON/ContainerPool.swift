// The boxes that Swift puts keyed containers into, kept for the next container of the same key
// type.
//
// `KeyedDecodingContainer(_:)` allocates a box, and asks the runtime for three generic types and a
// conformance, which takes longer than to decode four members. So a session keeps the containers
// that it has made. One that nobody else refers to is given out again, for another object: where it
// reads is in memory of our own (`ContainerPlace`), and nothing of the box is touched.
//
// This rests on one thing that is not documented: that `KeyedDecodingContainer` is one reference,
// so that its count tells whether somebody else has it. It is checked for each key type; where it
// does not hold, each container is a new one.

/// The object that a container reads.
struct ContainerPlace {
  var core: UnsafeMutablePointer<Session.Core>
  var object: TapeIndex
}

/// Keeps the session alive, as long as somebody has the container.
final class ContainerOwner {
  let place: UnsafeMutablePointer<ContainerPlace>
  /// `nil` while the container waits for its next use; nobody has it then.
  private var keeper: Session?

  init(_ session: Session, _ object: TapeIndex) {
    place = .allocate(capacity: 1)
    place.initialize(to: ContainerPlace(core: session.core, object: object))
    keeper = session
  }

  deinit { place.deallocate() }

  var session: Session {
    guard let keeper else { preconditionFailure("a container that nobody has is read") }
    return keeper
  }

  func use(_ session: Session) { keeper = session }
  func rest() { keeper = nil }
}

/// The containers of one session that wait for their next use, or are in use.
struct ContainerPool {
  private struct Entry {
    var key: ObjectIdentifier?
    /// The box of a `KeyedDecodingContainer`.
    var box: AnyObject?
    var owner: ContainerOwner?
    var isResting = false
  }

  /// By key type; a few for each, since models nest.
  private let entries: UnsafeMutablePointer<Entry>
  /// The entries that do not rest.
  private let active: UnsafeMutablePointer<UnsafeMutablePointer<Entry>>
  private var activeCount = 0
  private static let rows = 32
  private static let perRow = 8

  init() {
    entries = .allocate(capacity: Self.rows * Self.perRow)
    entries.initialize(repeating: Entry(), count: Self.rows * Self.perRow)
    active = .allocate(capacity: Self.rows * Self.perRow)
  }

  func deallocate() {
    entries.deinitialize(count: Self.rows * Self.perRow)
    entries.deallocate()
    active.deallocate()
  }

  @inline(__always)
  mutating func container<Key: CodingKey>(
    keyedBy type: Key.Type, _ session: Session, _ object: TapeIndex
  ) -> KeyedDecodingContainer<Key> {
    // The static type, which is the box's.
    let key = ObjectIdentifier(Key.self)
    var entry = entries + ((Int(bitPattern: key) >> 4) & (Self.rows &- 1)) &* Self.perRow
    let end = entry + Self.perRow
    while entry < end {
      if entry.pointee.key == key, isKnownUniquelyReferenced(&entry.pointee.box), let owner = entry.pointee.owner {
        if entry.pointee.isResting {
          owner.use(session)
          activate(entry)
        }
        owner.place.pointee.object = object
        return unsafeBitCast(entry.pointee.box, to: KeyedDecodingContainer<Key>.self)
      }
      if entry.pointee.key == nil { return add(type, session, object, to: entry) }
      entry += 1
    }
    return KeyedDecodingContainer(MemberContainer<Key>(ContainerOwner(session, object)))
  }

  private mutating func activate(_ entry: UnsafeMutablePointer<Entry>) {
    entry.pointee.isResting = false
    active[activeCount] = entry
    activeCount += 1
  }

  @inline(never) private mutating func add<Key: CodingKey>(
    _ type: Key.Type, _ session: Session, _ object: TapeIndex, to entry: UnsafeMutablePointer<Entry>
  ) -> KeyedDecodingContainer<Key> {
    let owner = ContainerOwner(session, object)
    let container = KeyedDecodingContainer(MemberContainer<Key>(owner))
    if MemoryLayout<KeyedDecodingContainer<Key>>.size == MemoryLayout<AnyObject>.size {
      entry.pointee = Entry(
        key: ObjectIdentifier(Key.self), box: unsafeBitCast(container, to: AnyObject.self), owner: owner)
      activate(entry)
    }
    return container
  }

  /// Lets go of the session, which the containers that wait would keep, and of the containers that
  /// a model has kept.
  mutating func rest() {
    for number in 0..<activeCount {
      let entry = active[number]
      if isKnownUniquelyReferenced(&entry.pointee.box) {
        entry.pointee.owner?.rest()
        entry.pointee.isResting = true
      } else {
        entry.pointee = Entry()
      }
    }
    activeCount = 0
  }
}
