import Foundation
import Synchronization

extension ReactorEngine {
  /// Returns the cached model with the newest values of its entities, if the policy accepts it.
  ///
  /// The copy is found without the engine's lock, as any other. Nothing is computed unless an
  /// entity of the copy has changed since the last reader.
  func hitWithEntities(_ resource: Resource, _ policy: FetchPolicy) -> AnyModel? {
    var found: CachedModel?
    guard reader.hit(resource, policy, note: { found = $0 }) != nil, let copy = found,
      let model = copy.entities?.shown.model
    else { return nil }
    if layer.events.hasObservers {
      append(copy.key, .memoryHit)
      layer.events.deliver()
    }
    return model
  }

  /// Returns a snapshot that has arrived with its entities. A model that is in memory already keeps
  /// the entities that it arrived with.
  func withEntities(_ snapshot: Snapshot<AnyModel>, of key: RecordKey) -> Snapshot<AnyModel> {
    guard let access = flow.entities else { return snapshot }
    var snapshot = snapshot
    let known = state.withLock { $0.memory.entries[key]?.copy }
    if let known, known.model.isSame(as: snapshot.model) {
      snapshot.entities = known.entities
    } else {
      let members = access.members(of: snapshot.model, at: now)
      snapshot.entities = ModelEntities(snapshot.model, members, access)
    }
    return snapshot
  }
}
