/// What a load state says of the value, after those before it in its sequence.
enum ValueChange {
  /// Another value.
  case new
  /// The value that was there.
  case same
  /// No value yet, or not now: what was known is as good as it was.
  case absent
  /// No value: it was removed, or what the sequence shows is another thing now.
  case lost
}

/// Follows the value in a sequence of load states.
struct ValueFollower {
  /// ``LoadState/valueRevision`` of the latest value; `nil` where there is none, or it is lost.
  private var revision: UInt64?

  mutating func follow<Value>(_ state: LoadState<Value>) -> ValueChange {
    guard state.value == nil else {
      defer { revision = state.valueRevision }
      // States that were made by hand may not number their values.
      return revision == state.valueRevision && state.valueRevision > 0 ? .same : .new
    }
    let isSettled = state.fetchStatus == .idle && state.error == nil
    // A slow reader may have missed the state that said so.
    let isAnother = revision.map { state.valueRevision > $0 } ?? false
    guard isSettled || isAnother else { return .absent }
    revision = nil
    return .lost
  }
}
