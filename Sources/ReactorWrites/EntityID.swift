import Foundation
import ReactorCore

/// The type and the id of an entity, in a form that is hashed and compared without user code: the
/// table of entities does both under its lock.
package struct EntityID: Hashable, Sendable {
  private enum Value: Hashable {
    case integer(Int)
    case text(String)
    case uuid(UUID)
    /// The JSON of an id of any other type.
    case json(String)
  }

  let type: ObjectIdentifier
  private let value: Value

  package init<E: Entity>(_ id: E.ID, of type: E.Type) {
    self.type = ObjectIdentifier(type)
    value =
      switch id as Any {
      case let id as Int: .integer(id)
      case let id as String: .text(id)
      case let id as UUID: .uuid(id)
      default: .json(Self.json(id))
      }
  }

  private static func json<ID: Encodable>(_ id: ID) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    guard let data = try? encoder.encode(id) else { return String(reflecting: id) }
    return String(decoding: data, as: UTF8.self)
  }
}

/// The place of a value in the order of requests and writes.
struct EntityStamp: Sendable {
  /// The number of the request or the write, which was drawn when it began; zero for a value that
  /// was loaded.
  var number: Generation
  /// The number of the last change that the value has. It is another than ``number`` for the answer
  /// to a write: drafts that were accepted until it arrived are not applied to it again.
  var ended: Generation
  /// The latest number when a loaded value arrived.
  var arrival: Generation = 0
  /// The time of the request or the write.
  var askedAt: Date

  /// Compares values by the numbers of their requests. A loaded value has none: it is older than a
  /// request or a write that began after it arrived, and is compared by its date otherwise.
  func isNewer(than other: EntityStamp) -> Bool {
    switch (number, other.number) {
    case (0, 0): askedAt > other.askedAt
    case (0, let theirs): arrival >= theirs && askedAt > other.askedAt
    case (_, 0): !other.isNewer(than: self)
    case (let own, let theirs): (own, ended) > (theirs, other.ended)
    }
  }

  /// Returns a stamp that no value with an earlier number beats by its date. Without this, a record
  /// that has lost to a write would be newer than it once it is loaded again, if the clock was set
  /// back between them.
  func after(_ other: EntityStamp?) -> EntityStamp {
    guard let other, number > other.number, other.number > 0 else { return self }
    var stamp = self
    stamp.askedAt = max(askedAt, other.askedAt)
    return stamp
  }
}

/// The beginning of a write, which decides where the entities of its answer belong.
package struct WriteStart: Sendable {
  let number: Generation
  let date: Date
  /// ``EntityTable/epoch`` when the app requested the write.
  let epoch: Int
}

extension CachedModel {
  /// The place of the members' values. A date in the future is from a clock that was set back
  /// since, and is older than any date in the past.
  func entityStamp(at now: Date) -> EntityStamp {
    guard let arrival = arrivedAfter else {
      return EntityStamp(number: generation, ended: generation, askedAt: askedAt)
    }
    return EntityStamp(number: 0, ended: 0, arrival: arrival, askedAt: askedAt > now ? .distantPast : askedAt)
  }
}
