import Foundation

/// Values and removals of entities that the program, or the answer to a write, reports.
extension LayerContext {
  /// Makes `value` the newest value of its entity, or of each that it holds. A value without
  /// entities changes nothing.
  package func note<Model: Sendable>(_ value: Model) {
    guard let access = EntityAccess.find(in: Model.self, entities) else { return }
    note(AnyModel(value), through: access)
  }

  /// - Parameter epoch: ``EntityTable/epoch`` when the value was asked for. What arrives after a
  ///   sign-out of the user who asked is not noted.
  func note(_ model: AnyModel, through access: EntityAccess, askedIn epoch: Int? = nil) {
    let members = access.members(of: model, at: configuration.now())
    guard !members.handles.isEmpty, epoch ?? entities.epoch == entities.epoch else { return }
    let stamp = members.begin(EntityStamp(number: generations.next()))
    announce(entities.note(members, stamp, askedIn: epoch).keys)
    entities.keep(members)
  }

  /// Notes that an entity is gone.
  package func remove<E: Entity>(_ type: E.Type, id: E.ID) {
    let (handles, _) = entities.retain([EntityID(id, of: type)])
    let members = EntityMembers(handles, [], in: entities, arrivedAt: .distantPast)
    announce(entities.remove(members, members.begin(EntityStamp(number: generations.next()))).keys)
    entities.keep(members)
  }

  /// Shows newer values and drafts of entities to the streams of `keys`.
  func announce(_ keys: Set<RecordKey>) {
    if !keys.isEmpty { announce(.entities(keys)) }
  }
}
