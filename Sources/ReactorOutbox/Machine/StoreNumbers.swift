/// The numbers of the entries of a store that this process knows.
///
/// Several processes may add entries to a lane, and the store numbers them as they come. An entry
/// whose number is beyond ``complete`` may follow an entry that this process has not read.
struct StoreNumbers: Sendable, Equatable {
  /// The number up to which every entry is known.
  private(set) var complete: UInt64 = 0
  /// The largest number of an entry that was saved here.
  private(set) var saved: UInt64 = 0

  init(complete: UInt64 = 0) { (self.complete, saved) = (complete, complete) }

  /// Records the number of an entry that this process has saved.
  mutating func noteSaved(_ number: UInt64) {
    guard number > complete else {
      // The store has restarted its numbers: everything was removed elsewhere, or the store was
      // replaced. It is read before this entry is sent.
      (complete, saved) = (0, number)
      return
    }
    if number == complete + 1 { complete = number }
    saved = max(saved, number)
  }

  /// Records that the store has no entries between ``complete`` and an entry that is known.
  ///
  /// - Parameter start: ``complete`` when the store was read.
  mutating func noteGap(from start: UInt64, to number: UInt64) {
    if complete == start { complete = max(complete, number) }
  }

  /// Records a reading of the store.
  ///
  /// - Parameters:
  ///   - last: The largest number that was read.
  ///   - mark: ``saved`` when the reading began. Entries saved before are in the store, or
  ///     finished.
  mutating func noteRead(upTo last: UInt64, since mark: UInt64) {
    complete = max(last, min(mark, saved))
    saved = max(saved, complete)
  }
}

extension OutboxContents {
  /// The largest number of an entry.
  var lastNumber: UInt64 { entries.lazy.map(\.number).max() ?? 0 }
}
