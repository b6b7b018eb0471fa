// The boxes that Swift puts keyed containers into, kept for the next container of the same key
// type.
//
// `KeyedDecodingContainer(_:)` allocates a box, and asks the runtime for three generic types and a
// conformance, which takes longer than to decode four members. So a session keeps the boxes that it
// has made. A box without other references is reused for another object: its container is a pointer
// to a place of the pool (`MemberPlace`), and the box itself is not changed.
//
// Invariants:
// 1. A place lives as long as its session. The container in a box is a raw pointer to it, and keeps
//    nothing alive.
// 2. A box is given out, and its memory written, only while the pool has the only reference to the
//    box, and only by the call that has the session. So no container changes while a model reads
//    from it.
// 3. At the end of a call, each box that was given out is checked. If a model still has one, the
//    session is over: it gives out no box again, and `KeptSessions` keeps it until no box is used.
// 4. Containers that are made when the session is over, or that have no room here, own the session
//    (`OwningContainer`).
//
// This relies on an undocumented property: `KeyedDecodingContainer` is a single reference, so its
// count shows whether a model has kept it. This is checked for each key type; if it does not hold,
// each container is a new one that owns the session.

import Synchronization

/// The object that a container reads.
struct MemberPlace {
  let core: CorePointer
  var object: TapeIndex
}

/// Reads a container from the memory of its box.
///
/// A generic function would ask the runtime for the container's type by the key type each time,
/// which takes a twentieth of the time of small objects. An object of a generic class knows it.
private final class BoxReader<Container> {
  @inline(never) func container(at box: UnsafeRawPointer) -> Container {
    box.assumingMemoryBound(to: Container.self).pointee
  }
}

/// The boxes of one session.
struct ContainerPool {
  private struct Entry {
    let place: UnsafeMutablePointer<MemberPlace>
    /// Of a `KeyedDecodingContainer`.
    let box: UnsafeMutablePointer<AnyObject?>
    /// The identity of the box; `nil` before it is created.
    var key: ObjectIdentifier?
    /// A `BoxReader` of the container's type, which is retained.
    var reader: UnsafeRawPointer?
    /// The call that has used it last.
    var call: UInt64 = 0
  }

  /// By key type; a few for each, since models nest.
  private let entries: UnsafeMutablePointer<Entry>
  private let places: UnsafeMutablePointer<MemberPlace>
  private let boxes: UnsafeMutablePointer<AnyObject?>
  /// The entries that this call has used and whose boxes a model may still have.
  private let used: UnsafeMutablePointer<UnsafeMutablePointer<Entry>>
  private var usedCount = 0
  private var call: UInt64 = 1
  /// Settles which box makes way for another.
  private var turn = 0
  static let rows = 32
  static let perRow = 8
  private static let capacity = rows * perRow

  init(_ core: CorePointer) {
    places = .allocate(capacity: Self.capacity)
    places.initialize(repeating: MemberPlace(core: core, object: 0), count: Self.capacity)
    entries = .allocate(capacity: Self.capacity)
    boxes = .allocate(capacity: Self.capacity)
    boxes.initialize(repeating: nil, count: Self.capacity)
    for number in 0..<Self.capacity {
      (entries + number).initialize(to: Entry(place: places + number, box: boxes + number))
    }
    used = .allocate(capacity: Self.capacity)
  }

  func deallocate() {
    for number in 0..<Self.capacity { Self.release(entries[number].reader) }
    entries.deallocate()
    boxes.deinitialize(count: Self.capacity)
    boxes.deallocate()
    places.deallocate()
    used.deallocate()
  }

  @inline(__always)
  mutating func container<Key: CodingKey>(
    keyedBy type: Key.Type, _ core: CorePointer, _ object: TapeIndex
  ) -> KeyedDecodingContainer<Key> {
    // The static type, which is the box's.
    let key = ObjectIdentifier(Key.self)
    var entry = row(of: key)
    let end = entry + Self.perRow
    while entry < end {
      if entry.pointee.key == key, isKnownUniquelyReferenced(&entry.pointee.box.pointee),
        let reader = entry.pointee.reader
      {
        if entry.pointee.call != call { note(entry) }
        entry.pointee.place.pointee.object = object
        let box = UnsafeRawPointer(entry.pointee.box)
        return Unmanaged<BoxReader<KeyedDecodingContainer<Key>>>.fromOpaque(reader).takeUnretainedValue().container(
          at: box)
      }
      entry += 1
    }
    return add(type, core, object)
  }

  @inline(__always) private func row(of key: ObjectIdentifier) -> UnsafeMutablePointer<Entry> {
    entries + key.hash(Self.rows) &* Self.perRow
  }

  /// An entry is noted once in each call, so that there is room.
  private mutating func note(_ entry: UnsafeMutablePointer<Entry>) {
    entry.pointee.call = call
    used[usedCount] = entry
    usedCount += 1
  }

  @inline(never) private mutating func add<Key: CodingKey>(
    _ type: Key.Type, _ core: CorePointer, _ object: TapeIndex
  ) -> KeyedDecodingContainer<Key> {
    let key = ObjectIdentifier(Key.self)
    guard MemoryLayout<KeyedDecodingContainer<Key>>.size == MemoryLayout<AnyObject>.size, let entry = room(for: key)
    else { return KeyedDecodingContainer(OwningContainer<Key>(core.session, object)) }
    let container = KeyedDecodingContainer(MemberContainer<Key>(place: entry.pointee.place))
    entry.pointee.key = key
    entry.pointee.box.pointee = unsafeBitCast(container, to: AnyObject.self)
    Self.release(entry.pointee.reader)
    entry.pointee.reader = UnsafeRawPointer(Unmanaged.passRetained(BoxReader<KeyedDecodingContainer<Key>>()).toOpaque())
    entry.pointee.place.pointee.object = object
    if entry.pointee.call != call { note(entry) }
    return container
  }

  private static func release(_ reader: UnsafeRawPointer?) {
    if let reader { Unmanaged<AnyObject>.fromOpaque(reader).release() }
  }

  /// Returns a free entry, else an entry whose box is no longer used, in turn.
  private mutating func room(for key: ObjectIdentifier) -> UnsafeMutablePointer<Entry>? {
    let row = row(of: key)
    for number in 0..<Self.perRow where row[number].key == nil { return row + number }
    turn &+= 1
    for number in 0..<Self.perRow {
      let entry = row + (number &+ turn) & (Self.perRow &- 1)
      if isKnownUniquelyReferenced(&entry.pointee.box.pointee) { return entry }
    }
    return nil
  }

  /// Checks the boxes that the call has used, up to the first that a model still has.
  ///
  /// A unique box stays unique, since only the pool could hand it out. So each box is skipped at
  /// most once, however often this is called.
  ///
  /// - Returns: `true` if no model has a box.
  mutating func isIdle() -> Bool {
    while usedCount > 0 {
      guard isKnownUniquelyReferenced(&used[usedCount - 1].pointee.box.pointee) else { return false }
      usedCount -= 1
    }
    // Another thread may have released the last reference: its reads happen before the next step.
    atomicMemoryFence(ordering: .acquiring)
    return true
  }

  /// Begins another call.
  mutating func begin() { call &+= 1 }
}
