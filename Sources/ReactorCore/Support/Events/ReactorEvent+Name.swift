extension ReactorEvent.Kind {
  /// The case of a kind, without its associated values. It serves to count events, to compare their
  /// order, and for metrics.
  @nonexhaustive public enum Name: String, Sendable, CaseIterable {
    /// The look-up in memory and persistence.
    case memoryHit, memoryMiss, persistenceHit, equivalentHit, persistenceMiss, loadFailed,
      servedStale
    /// The flight and its request.
    case joined, request, methodReplaced, response, deprecated, sharedHit, valueReceived,
      replicaLagged, progress, retry, notModified
    /// The body and its record.
    case parsed, pruned, duplicateMembers, saved, saveFailed, saveIsLate, notEncoded
    /// A flight that waits, or that ends without its response.
    case paused, outageBegan, failedInOutage, outageEnded, superseded, cancelled
    /// A draft over a value, and its removal when the write is finished.
    case drafted, draftEnded
    /// A step of a write in an outbox.
    case outbox
    /// A local change, an eviction, a failure, or the loss of events.
    case savedLocally, invalidated, removed, evicted, failed, dropped
  }

  /// The case without its associated values.
  public var name: Name {
    switch self {
    case .memoryHit: .memoryHit
    case .memoryMiss: .memoryMiss
    case .persistenceHit: .persistenceHit
    case .equivalentHit: .equivalentHit
    case .persistenceMiss: .persistenceMiss
    case .loadFailed: .loadFailed
    case .servedStale: .servedStale
    case .joined: .joined
    case .request: .request
    case .methodReplaced: .methodReplaced
    case .response: .response
    case .deprecated: .deprecated
    case .sharedHit: .sharedHit
    case .valueReceived: .valueReceived
    case .replicaLagged: .replicaLagged
    case .progress: .progress
    case .retry: .retry
    case .notModified: .notModified
    case .parsed: .parsed
    case .pruned: .pruned
    case .duplicateMembers: .duplicateMembers
    case .saved: .saved
    case .saveFailed: .saveFailed
    case .saveIsLate: .saveIsLate
    case .notEncoded: .notEncoded
    case .paused: .paused
    case .outageBegan: .outageBegan
    case .failedInOutage: .failedInOutage
    case .outageEnded: .outageEnded
    case .superseded: .superseded
    case .cancelled: .cancelled
    case .drafted: .drafted
    case .draftEnded: .draftEnded
    case .outbox: .outbox
    case .savedLocally: .savedLocally
    case .invalidated: .invalidated
    case .removed: .removed
    case .evicted: .evicted
    case .failed: .failed
    case .dropped: .dropped
    }
  }
}
