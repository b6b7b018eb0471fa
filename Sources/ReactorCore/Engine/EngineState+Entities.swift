import Foundation

/// The entities of a key's copies. Only reactors whose models have entities call these.
extension EngineState {
  /// Records the entities of a copy that was put into memory, and shows them in every other key
  /// that holds an older value.
  ///
  /// A response that must not be stored is shown only in the streams that requested it.
  mutating func noteEntities(of copy: CachedModel) {
    guard let members = copy.entities?.members else { return }
    let stamp = members.begin(copy.entityStamp(at: members.arrivedAt))
    guard !copy.freshness.isNoStore else { return }
    let change = members.table.note(members, stamp)
    if !change.released.isEmpty { effects.append(.release(change.released)) }
    if !change.keys.isEmpty { effects.append(.showEntities(change.keys, except: copy.key)) }
  }

  /// Shows newer values of entities to the streams of `keys`.
  mutating func showEntities(of keys: Set<RecordKey>) {
    for key in keys.inOrder {
      guard let entry = memory.entries[key], entry.watch != nil else { continue }
      entry.noteEntities()
      publishChanges(of: entry)
    }
  }

  /// Follows the entities that the streams of `entry` show, or none if there are no streams.
  mutating func watchEntities(of entry: Entry) {
    guard let entities, !(entry.subscribers.isEmpty && entry.watch == nil) else { return }
    var copies = [entry.copy].compactMap(\.self) + entry.subscribers.all.compactMap(\.ownVariant)
    if entry.subscribers.isEmpty { copies = [] }
    let members = copies.compactMap { $0.entities?.members }
    // Drafts of the key may insert any entity.
    let type = entry.drafts == nil || entry.subscribers.isEmpty ? nil : entities.type
    guard entry.watch?.isOf(members, type) != true else { return }
    if let old = entry.watch { effects.append(.release([old])) }
    entry.watch =
      members.isEmpty && type == nil ? nil : EntityWatch(members, type, key: entry.key, in: entities.table)
  }
}
