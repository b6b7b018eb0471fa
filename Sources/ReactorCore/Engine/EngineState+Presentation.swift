import Foundation

/// The changes that another module shows over the copies of keys; see ``LayerPresentation``.
extension EngineState {
  /// Returns the changes over a key without a copy; `nil` for most keys.
  func changes(of key: RecordKey) -> (any KeyPresentation)? {
    layer.presentation?.changes(of: key, for: model, by: presentation)
  }

  /// Applies changes over the copies of their keys. The states of each key have all of the changes
  /// or none.
  mutating func presented(_ changes: [any PresentationChange]) {
    var changed: [Entry] = []
    for change in changes {
      guard let entry = redraw(change), !changed.contains(where: { $0 === entry }) else { continue }
      changed.append(entry)
    }
    for entry in changed {
      memory.publish(entry)
      publishChanges(of: entry)
    }
  }

  /// - Returns: The entry of the change's key, if it has changed.
  private mutating func redraw(_ change: any PresentationChange) -> Entry? {
    guard change.model == model, let entry = memory.entries[change.key] else { return nil }
    if entry.changes == nil {
      // The copy already contains the accepted changes of the layer that are missing here.
      guard let first = change.begin(over: entry.copy, by: presentation) else { return nil }
      entry.begin(with: first)
    } else {
      entry.redraw { change.apply(to: $0, over: entry.copy) }
    }
    // Without a base, the value that a change makes is the only one there is.
    if change.isNew, entry.copy == nil { entry.showToAll() }
    return entry
  }

  /// Records a copy that was put into memory, and shows it in every other key that holds something
  /// older.
  ///
  /// A response that must not be stored is shown only in the streams that requested it.
  mutating func noteArrival(of copy: CachedModel) {
    guard let news = copy.presented?.note(copy) else { return }
    if !news.released.isEmpty { effects.append(.release(news.released)) }
    if !news.keys.isEmpty { effects.append(.renew(news.keys, except: copy.key)) }
  }

  /// Shows what is newer to the streams of `keys`.
  mutating func renew(_ keys: Set<RecordKey>) {
    for key in keys.inOrder {
      guard let entry = memory.entries[key], entry.watch != nil else { continue }
      entry.noteChanges(isNewValue: true)
      publishChanges(of: entry)
    }
  }

  /// Follows what the streams of `entry` show, or nothing if there are no streams.
  mutating func watch(_ entry: Entry) {
    guard let presentation, !(entry.subscribers.isEmpty && entry.watch == nil) else { return }
    var copies = [entry.copy].compactMap(\.self) + entry.subscribers.all.compactMap(\.ownVariant)
    if entry.subscribers.isEmpty { copies = [] }
    let isOpen = entry.changes != nil && !entry.subscribers.isEmpty
    let watch = presentation.watch(copies.compactMap(\.presented), isOpen: isOpen, of: entry.key, instead: entry.watch)
    guard watch !== entry.watch else { return }
    if let old = entry.watch { effects.append(.release([old])) }
    entry.watch = watch
  }
}
