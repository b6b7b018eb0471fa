package import HTTPTypes
package import ReactorCore

/// The possible orders of the events of one key and one model.
///
/// It counts how many events of each kind may still follow. No event marks the end of an abandoned
/// flight, and its answer may arrive late. After such a flight, the counts are the only rule.
package struct EventGrammar: Sendable {
  private let hasOwnSteps: Bool
  /// A Boolean value that indicates whether the layer has one reactor of the model. With several,
  /// another may have removed the value first.
  private let isAlone: Bool
  /// A Boolean value that indicates whether requests follow one another, each with events until its
  /// end.
  private var isSerial: Bool

  /// The number of requests without a response.
  private var open = 0
  /// The number of requests that neither a retry nor a failure has followed.
  private var attempts = 0
  /// The number of retries that no pause has followed. If connectivity does not return in time, the
  /// flight fails with the earlier error.
  private var unpaused = 0
  private var wasConditional = false
  /// The number of 304 responses to conditional requests.
  private var unmodified = 0
  /// The number of responses and local values that were not saved.
  private var unsaved = 0
  private var unencoded = 0
  /// The number of bodies for which no pruned elements, or no duplicate members, were reported.
  private var unpruned = 0
  private var undeduplicated = 0
  private var hasEverHadModel = false
  private var hasHadModelSinceRemoval = false

  package init(method: HTTPRequest.Method, except exceptions: Set<EventRecorder.Exception> = []) {
    hasOwnSteps = exceptions.contains(.ownSteps)
    isAlone = !exceptions.contains(.concurrentRequests)
    isSerial = !exceptions.contains(.concurrentRequests) && [.get, .head, .query].contains(method)
  }

  /// Records the next event. Returns the rule that it violates, or `nil`.
  package mutating func take(_ kind: ReactorEvent.Kind) -> String? {
    switch kind {
    case .request, .response, .progress, .retry, .paused, .failed: takeExchange(kind)
    case .parsed, .pruned, .duplicateMembers, .notModified, .persistenceHit: takeModel(kind)
    case .sharedHit, .valueReceived: takeShared()
    case .saved, .savedLocally, .notEncoded: takeSave(kind)
    case .memoryHit:
      expect(hasHadModelSinceRemoval || hasOwnSteps, "no model was stored in memory since the last removal")
    case .evicted: expect(hasEverHadModel || hasOwnSteps, "no model was stored in memory before")
    case .servedStale:
      expect(hasHadModelSinceRemoval || hasOwnSteps, "no model was stored in memory since the last removal")
    case .removed: removed()
    case .superseded, .cancelled: gaveUp()
    default: nil
    }
  }

  private mutating func takeExchange(_ kind: ReactorEvent.Kind) -> String? {
    switch kind {
    case .request(let isConditional):
      defer {
        open += 1
        attempts = isSerial ? 1 : attempts + 1
        wasConditional = wasConditional || isConditional
      }
      return expect(!isSerial || open == 0, "an earlier request of the key has no response yet")
    case .response(let status, _, _):
      if status == 304, wasConditional { unmodified += 1 }
      if status == 304 || (200..<300).contains(status) { unsaved += 1 }
      return use(&open, "no request waits for a response")
    case .progress: return expect(open > 0 || hasOwnSteps, "no request waits for a response")
    case .retry(_, _, let reason):
      // A request that got a response is no longer open.
      if !reason.hasPrefix("status "), open > 0 { open -= 1 }
      unpaused += 1
      return use(&attempts, "no request was sent before")
    case .paused:
      if unpaused > 0 { attempts += 1 }
      unpaused = 0
      return nil
    case .failed(let error):
      if isSerial { open = 0 }
      return Self.isOfExchange(error) && !hasOwnSteps ? use(&attempts, "no request was sent before") : nil
    default: return nil
    }
  }

  private static func isOfExchange(_ error: ReactorError) -> Bool {
    switch error {
    case .network(let error): !(error is FailedElsewhere)
    case .server, .timedOut, .parser: true
    default: false
    }
  }

  private mutating func takeModel(_ kind: ReactorEvent.Kind) -> String? {
    switch kind {
    case .pruned: return use(&unpruned, "no body was parsed before")
    case .duplicateMembers: return use(&undeduplicated, "no body was parsed before")
    case .parsed:
      unpruned += 1
      undeduplicated += 1
    case .notModified:
      gotModel()
      return use(&unmodified, "there was no 304 response to a conditional request")
    default: break
    }
    gotModel()
    return nil
  }

  /// A shared response stands in for a request and its response.
  private mutating func takeShared() -> String? {
    unsaved += 1
    unmodified += 1
    attempts += 1
    return nil
  }

  private mutating func takeSave(_ kind: ReactorEvent.Kind) -> String? {
    switch kind {
    case .savedLocally:
      guard !isSerial || open == 0 || hasOwnSteps else { return "a request has no response yet" }
      unsaved += 1
      unencoded += 1
      gotModel()
      return gaveUp()
    case .notEncoded: return hasOwnSteps ? nil : use(&unencoded, "no model was saved locally before")
    default: return hasOwnSteps ? nil : use(&unsaved, "no response or local model was there to save")
    }
  }

  private mutating func gotModel() {
    hasEverHadModel = true
    hasHadModelSinceRemoval = true
  }

  private mutating func removed() -> String? {
    // An answer to an earlier request may still arrive, but it does not reach memory.
    if isAlone { hasHadModelSinceRemoval = false }
    return gaveUp()
  }

  private mutating func gaveUp() -> String? {
    isSerial = false
    return nil
  }

  private func expect(_ condition: Bool, _ problem: String) -> String? { condition ? nil : problem }

  /// Decrements `count`. Returns `problem` if it is zero.
  private func use(_ count: inout Int, _ problem: String) -> String? {
    guard count > 0 else { return problem }
    count -= 1
    return nil
  }
}
