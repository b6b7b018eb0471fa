import Foundation

extension LayerContext {
  /// Shows pending drafts in every reactor of their types.
  func show(_ drafts: [Draft]) {
    self.drafts.add(drafts)
    for draft in drafts { announce(.drafted(.added(draft))) }
  }

  /// Turns drafts into accepted ones: they stay until a value that was requested later replaces
  /// their base.
  ///
  /// Call it while the write still counts as being sent, so that no response from before the
  /// acceptance is on its way.
  func accept(_ drafts: [Draft]) {
    guard !drafts.isEmpty else { return }
    let number = generations.next()
    for draft in drafts where self.drafts.accept(draft, under: number) { announce(.drafted(.accepted(draft))) }
  }

  /// Removes drafts. What other drafts make of the base is not affected.
  func withdraw(_ drafts: [Draft]) {
    self.drafts.remove(drafts)
    for draft in drafts { announce(.drafted(.removed(draft))) }
  }

  /// Begins to send a write that ``SendingGate/expect(_:)`` announced. Requests for `keys` wait
  /// until ``endSending(_:)``.
  func beginSending(_ keys: Set<RecordKey>) async {
    await sendings.begin(keys)
    for key in keys.inOrder { announce(.sendingBegan(key)) }
  }

  func endSending(_ keys: Set<RecordKey>) {
    sendings.end(keys)
    for key in keys.inOrder { announce(.sendingEnded(key)) }
  }

  /// Takes back the announcement of a write that will not be sent now.
  func cancelSending(_ keys: Set<RecordKey>) {
    sendings.cancelExpected(keys)
    for key in keys.inOrder { announce(.sendingEnded(key)) }
  }
}

extension Set<RecordKey> {
  /// The keys in an order that is the same in each run.
  var inOrder: [RecordKey] { sorted { $0.identity < $1.identity } }
}
