import Foundation
package import ReactorCore

/// Values and removals of entities that the program, or the answer to a write, reports.
extension LayerContext {
  /// The number of removals of everything, by which an answer is known that comes after one.
  var entityEpoch: Int { entities.epoch }

  /// Returns the start of a write that is sent now.
  ///
  /// - Parameter epoch: ``entityEpoch`` when the app requested the write.
  func writeStart(askedIn epoch: Int) -> WriteStart {
    WriteStart(number: generations.next(), date: configuration.now(), epoch: epoch)
  }

  /// Makes `value` the newest value of its entity, or of each that it holds, unless a request or a
  /// write that began later has brought another. A value without entities changes nothing.
  ///
  /// - Parameter write: The write that has brought it; `nil` for a value of the program.
  package func note<Model: Sendable>(_ value: Model, of write: WriteStart? = nil) {
    guard let access = EntityAccess.find(in: Model.self, entities) else { return }
    note(AnyModel(value), through: access, of: write)
  }

  /// Records the entities of a model, unless the user has signed out since the request.
  func note(_ model: AnyModel, through access: EntityAccess, of write: WriteStart?) {
    note(access.members(of: model, at: configuration.now()), of: write)
  }

  /// Records that an entity is gone.
  package func remove<E: Entity>(_ type: E.Type, id: E.ID, of write: WriteStart? = nil) {
    let (handles, _) = entities.retain([EntityID(id, of: type)])
    note(EntityMembers(handles, [], in: entities, arrivedAt: .distantPast), of: write)
  }

  private func note(_ members: EntityMembers, of write: WriteStart?) {
    guard !members.handles.isEmpty else { return }
    let write = write ?? writeStart(askedIn: entityEpoch)
    let stamp = EntityStamp(number: write.number, ended: generations.next(), askedAt: write.date)
    renew(entities.note(members, members.begin(stamp), askedIn: write.epoch).keys)
    entities.keep(members, askedIn: write.epoch)
  }
}
