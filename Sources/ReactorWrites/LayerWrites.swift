import Foundation
package import HTTPCaching
package import ReactorCore

/// The drafts and entities of a layer, and the gate of its writes. The layer has them from the
/// first use on.
package final class LayerWrites: LayerPresentation {
  /// The changes that the server has yet to confirm.
  let drafts: DraftTable
  /// The newest values of the entities that copies of the reactors hold.
  let entities: EntityTable
  let sendings: SendingGate
  /// The turns of writes of one resource.
  let turns = KeyedAsyncLock()

  init(of layer: LayerContext) {
    drafts = DraftTable()
    entities = EntityTable(drafts)
    sendings = SendingGate(of: ObjectIdentifier(layer))
  }

  package func changes(
    of key: RecordKey, for model: ObjectIdentifier, by own: (any ModelPresentation)?
  ) -> (any KeyPresentation)? {
    let drafts = drafts.drafts(of: key, for: model)
    return drafts.isEmpty ? nil : KeyDrafts(drafts, over: nil, own as? EntityAccess)
  }

  package func didReplace(_ key: RecordKey, _ number: Generation, of model: ObjectIdentifier?, isOnDisk: Bool) {
    drafts.didReplace(key, number, of: model, isOnDisk: isOnDisk)
  }

  package func removeAll() {
    drafts.removeAll()
    entities.removeAll()
  }

  package func admits(_ key: RecordKey, hasCaller: Bool) -> Bool { sendings.admits(key, hasCaller: hasCaller) }

  package func pass(for key: RecordKey) -> any AnyObject & Sendable { sendings.pass(for: key) }
}

extension LayerContext {
  var writes: LayerWrites { presentation { LayerWrites(of: self) } }
  var drafts: DraftTable { writes.drafts }
  package var entities: EntityTable { writes.entities }
  package var sendings: SendingGate { writes.sendings }
  var writeTurns: KeyedAsyncLock { writes.turns }
}
