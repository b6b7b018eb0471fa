import Foundation
import HTTPCaching
import ReactorCore
import Synchronization

/// The entities of one model, as a request or a write has brought them. It holds their places in
/// the table: when the last model that holds an id is released, the table forgets the id.
final class EntityMembers: Sendable {
  /// The places in the table, each once.
  let handles: [Int]
  /// The values in the model, in the order of the places.
  let values: [AnyModel]
  let table: EntityTable
  /// The wall clock's time when the model arrived.
  let arrivedAt: Date
  private let known = Mutex<EntityStamp?>(nil)

  init(_ handles: [Int], _ values: [AnyModel], in table: EntityTable, arrivedAt: Date) {
    self.handles = handles
    self.values = values
    self.table = table
    self.arrivedAt = arrivedAt
  }

  deinit { table.release(handles) }

  /// The place of the values in the order of requests; `nil` before the model is in memory.
  var stamp: EntityStamp? { known.withLock(\.self) }

  /// Sets the stamp of the values, once. A 304 confirms the model, but not newer values of its
  /// members from other resources.
  func begin(_ stamp: EntityStamp) -> EntityStamp {
    known.withLock { known in
      let first = known ?? stamp
      known = first
      return first
    }
  }
}

/// The interest of a key's streams in the members of its copies. Only keys with streams are
/// notified of an entity's newer value; others compare a number when they are read.
final class EntityWatch: Sendable {
  let members: [EntityMembers]
  /// The type of all entities, for a key whose drafts may insert any; `nil` for only the members.
  let type: ObjectIdentifier?
  private let key: RecordKey
  private let table: EntityTable

  init(_ members: [EntityMembers], _ type: ObjectIdentifier?, key: RecordKey, in table: EntityTable) {
    self.members = members
    self.type = type
    self.key = key
    self.table = table
    table.watch(members, type, by: key, 1)
  }

  deinit { table.watch(members, type, by: key, -1) }

  func isOf(_ others: [EntityMembers], _ type: ObjectIdentifier?) -> Bool {
    self.type == type && members.elementsEqual(others) { $0 === $1 }
  }
}

/// The entities of a model, and what is shown of it.
final class ModelEntities: PresentedCopy {
  let members: EntityMembers
  private let drafted: DraftedModel

  init(_ model: AnyModel, _ members: EntityMembers, _ access: EntityAccess) {
    self.members = members
    drafted = DraftedModel(model, members, access)
  }

  var shown: any PresentedValue { drafted }

  /// Records the entities of a copy that was put into memory. A response that must not be stored
  /// changes no other copy.
  func note(_ copy: CachedModel) -> PresentationNews {
    let stamp = members.begin(copy.entityStamp(at: members.arrivedAt))
    return copy.mustNotBeStored ? PresentationNews() : members.table.note(members, stamp)
  }
}

extension CachedModel {
  /// The entities of the model; `nil` if its type has none.
  var entities: ModelEntities? { presented as? ModelEntities }
}
