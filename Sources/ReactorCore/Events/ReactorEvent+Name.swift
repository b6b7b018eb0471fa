extension ReactorEvent.Kind {
  /// The case of a kind, without its associated values: to count events, to compare their order,
  /// and for metrics.
  @nonexhaustive public enum Name: String, Sendable, CaseIterable {
    case memoryHit, memoryMiss, persistenceHit, persistenceMiss, loadFailed, servedStale
    case joined, request, response, progress, retry, notModified
    case parsed, pruned, duplicateMembers, saved, saveFailed, notEncoded
    case paused, superseded, cancelled
    case savedLocally, invalidated, removed, evicted, failed, dropped
  }

  /// The case alone.
  public var name: Name {
    switch self {
    case .memoryHit: .memoryHit
    case .memoryMiss: .memoryMiss
    case .persistenceHit: .persistenceHit
    case .persistenceMiss: .persistenceMiss
    case .loadFailed: .loadFailed
    case .servedStale: .servedStale
    case .joined: .joined
    case .request: .request
    case .response: .response
    case .progress: .progress
    case .retry: .retry
    case .notModified: .notModified
    case .parsed: .parsed
    case .pruned: .pruned
    case .duplicateMembers: .duplicateMembers
    case .saved: .saved
    case .saveFailed: .saveFailed
    case .notEncoded: .notEncoded
    case .paused: .paused
    case .superseded: .superseded
    case .cancelled: .cancelled
    case .savedLocally: .savedLocally
    case .invalidated: .invalidated
    case .removed: .removed
    case .evicted: .evicted
    case .failed: .failed
    case .dropped: .dropped
    }
  }
}
