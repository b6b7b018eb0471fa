import Foundation

/// Values and removals of entities that the program, or the answer to a write, reports.
extension LayerContext {
  /// Makes `value` the newest value of its entity, or of each that it holds. A value without
  /// entities changes nothing.
  ///
  /// - Parameter epoch: ``entityEpoch`` when the value was asked for; `nil` for one of the program.
  package func note<Model: Sendable>(_ value: Model, askedIn epoch: Int? = nil) {
    guard let access = EntityAccess.find(in: Model.self, entities) else { return }
    note(AnyModel(value), through: access, askedIn: epoch)
  }

  /// The number of removals of everything, by which an answer is known that comes after one.
  package var entityEpoch: Int { entities.epoch }

  /// - Parameter epoch: ``EntityTable/epoch`` when the value was asked for. What arrives after a
  ///   sign-out of the user who asked is not noted.
  func note(_ model: AnyModel, through access: EntityAccess, askedIn epoch: Int? = nil) {
    let members = access.members(of: model, at: configuration.now())
    guard !members.handles.isEmpty else { return }
    let stamp = members.begin(EntityStamp(number: generations.next()))
    announce(entities.note(members, stamp, askedIn: epoch).keys)
    entities.keep(members, askedIn: epoch)
  }

  /// Notes that an entity is gone.
  package func remove<E: Entity>(_ type: E.Type, id: E.ID, askedIn epoch: Int? = nil) {
    guard epoch ?? entities.epoch == entities.epoch else { return }
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
