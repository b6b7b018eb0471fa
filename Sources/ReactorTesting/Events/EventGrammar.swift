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
    isSerial = !exceptions.contains(.concurrentRequests) && [.get, .head].contains(method)
  }

  /// Records the next event. Returns the rule that it violates, or `nil`.
  package mutating func take(_ kind: ReactorEvent.Kind) -> String? {
    switch kind {
    case .request, .response, .progress, .retry, .paused, .failed: takeExchange(kind)
    case .parsed, .pruned, .duplicateMembers, .notModified, .persistenceHit: takeModel(kind)
    case .saved, .savedLocally, .notEncoded: takeSave(kind)
    case .memoryHit: expect(hasHadModelSinceRemoval || hasOwnSteps, "memory has had no model since it was removed")
    case .evicted: expect(hasEverHadModel || hasOwnSteps, "memory has had no model")
    case .servedStale: expect(hasHadModelSinceRemoval || hasOwnSteps, "memory has had no model since it was removed")
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
      return expect(!isSerial || open == 0, "another request of the key is open")
    case .response(let status, _, _):
      if status == 304, wasConditional { unmodified += 1 }
      if status == 304 || (200..<300).contains(status) { unsaved += 1 }
      return use(&open, "no request is open")
    case .progress: return expect(open > 0 || hasOwnSteps, "no request is open")
    case .retry(_, _, let reason):
      // A request that got a response is no longer open.
      if !reason.hasPrefix("status "), open > 0 { open -= 1 }
      unpaused += 1
      return use(&attempts, "no request was made")
    case .paused:
      if unpaused > 0 { attempts += 1 }
      unpaused = 0
      return nil
    case .failed(let error):
      if isSerial { open = 0 }
      return Self.isOfExchange(error) && !hasOwnSteps ? use(&attempts, "no request was made") : nil
    default: return nil
    }
  }

  private static func isOfExchange(_ error: ReactorError) -> Bool {
    switch error {
    case .network, .server, .timedOut, .parser: true
    default: false
    }
  }

  private mutating func takeModel(_ kind: ReactorEvent.Kind) -> String? {
    switch kind {
    case .pruned: return use(&unpruned, "no body was parsed")
    case .duplicateMembers: return use(&undeduplicated, "no body was parsed")
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

  private mutating func takeSave(_ kind: ReactorEvent.Kind) -> String? {
    switch kind {
    case .savedLocally:
      guard !isSerial || open == 0 || hasOwnSteps else { return "a request is still open" }
      unsaved += 1
      unencoded += 1
      gotModel()
      return gaveUp()
    case .notEncoded: return hasOwnSteps ? nil : use(&unencoded, "nothing was saved locally")
    default: return hasOwnSteps ? nil : use(&unsaved, "there is nothing to save")
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
