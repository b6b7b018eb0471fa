import Foundation
import Synchronization

extension ReactorEngine {
  /// Returns the cached model as another module presents it, if the policy accepts it.
  ///
  /// The copy is found without the engine's lock, as any other. Nothing is computed unless
  /// something in the copy has changed since the last reader.
  func hitPresented(_ resource: Resource, _ policy: FetchPolicy) -> AnyModel? {
    var found: CachedModel?
    guard reader.hit(resource, policy, note: { found = $0 }) != nil, let copy = found,
      let model = copy.presented?.shown.model
    else { return nil }
    if layer.events.hasObservers {
      append(copy.key, .memoryHit)
      layer.events.deliver()
    }
    return model
  }

  /// Returns a snapshot that has arrived with its presentation. A model that is in memory already
  /// keeps its presentation.
  func presented(_ snapshot: Snapshot<AnyModel>, of key: RecordKey) -> Snapshot<AnyModel> {
    guard let presentation = flow.presentation else { return snapshot }
    var snapshot = snapshot
    let known = state.withLock { $0.memory.entries[key]?.copy }
    if let known, known.model.isSame(as: snapshot.model) {
      snapshot.presented = known.presented
    } else {
      snapshot.presented = presentation.arrived(snapshot.model, at: now)
    }
    return snapshot
  }
}
