package import Foundation
import HTTPCaching
import HTTPTypes
package import ReactorCore

/// The transitions of an entry, as pure functions. The shell saves each new state before it acts on
/// it.
extension OutboxEntry {
  /// The limits of an entry's attempts.
  package struct Limits: Sendable {
    package var retry: RetryPolicy
    package var onConflict: ConflictPolicy
    /// The time for which an entry that was never sent is kept.
    package var maximumAge: Duration
    /// Returns an idempotency key that was never used.
    package var newKey: @Sendable () -> String
    /// The number of conflicts after which the entry is refused.
    package static let conflicts = 5

    package init(
      retry: RetryPolicy = .outbox, onConflict: ConflictPolicy = .rebase, maximumAge: Duration = .never,
      newKey: @escaping @Sendable () -> String = { UUID().uuidString }
    ) {
      self.retry = retry
      self.onConflict = onConflict
      self.maximumAge = maximumAge
      self.newKey = newKey
    }
  }

  /// The decision before an attempt.
  package enum Beginning: Sendable {
    /// The request is made, if it is not frozen yet, and sent.
    case send
    /// The entry is finished: it was never sent and is too old.
    case expired
    /// The entry is finished: an outcome is unknown, and the request may not be repeated any more.
    case unresolved
  }

  /// Returns the decision before an attempt at `now`.
  package func beginning(at now: Date, _ limits: Limits) -> Beginning {
    guard firstAttemptAt != nil else {
      // A doubt from before a retry does not count: the program has decided to send it anyway.
      let isTooOld = now.timeIntervalSince(submittedAt) > limits.maximumAge.inSeconds
      return isTooOld && !isInDoubt ? .expired : .send
    }
    return isInDoubt && !isRepeatable(at: now) ? .unresolved : .send
  }

  /// Begins an attempt.
  package mutating func begin(at now: Date) {
    attempts.countUp()
    firstAttemptAt = firstAttemptAt ?? now
    notBefore = nil
    state = .sending
  }

  /// Reads an entry that another process was sending: its outcome is unknown.
  package mutating func abandon() {
    guard state == .sending else { return }
    state = .unknown
    isInDoubt = true
    firstAttemptAt = firstAttemptAt ?? submittedAt
  }

  /// The next step of the outbox after an attempt.
  package enum Consequence: Sendable, Hashable {
    /// The entry is finished, in its new state.
    case ended
    /// The entry is sent again, at the earliest at ``OutboxEntry/notBefore``.
    case again
    /// The request is made again, from values that are fetched first.
    case rebase
    /// The entry blocks its lane until the program decides.
    case asks
    /// Nothing is sent until the user has signed in.
    case signIn
  }

  /// Settles an attempt.
  ///
  /// - Parameter random: the position of the backoff between zero and its ceiling, in 0...1.
  package mutating func end(
    _ outcome: SendOutcome, status: Int?, reason: String, at now: Date, _ limits: Limits, random: Double
  ) -> Consequence {
    // After an attempt without a response, the status of the last response stays.
    self.outcome = LastOutcome(outcome.kind, status: status ?? self.outcome?.status, reason: reason, date: now)
    switch outcome {
    case .accepted: return end(as: .accepted, at: now)
    case .refused where isRemoval && isInDoubt && [404, 410].contains(status):
      // An earlier attempt has removed it, and its response was lost.
      self.outcome?.kind = .accepted
      return end(as: .accepted, at: now)
    case .refused: return end(as: .refused, at: now)
    case .conflict: return conflict(status, at: now, limits, random)
    case .unsent, .signIn:
      attempts.countDown()
      if attempts == 0 { firstAttemptAt = nil }
      state = isInDoubt ? .unknown : .waiting
      guard case .unsent = outcome else { return .signIn }
      unsent.countUp()
      // The number of these attempts is unbounded, so there is always a wait between them.
      let policy = limits.retry.firstDelay > .zero ? limits.retry : .outbox
      notBefore = now + policy.delay(after: unsent, random: random).inSeconds
      return .again
    case .later(let asked): return later(asked, at: now, limits, random)
    case .diverted:
      isInDoubt = true
      return end(as: .unresolved, at: now)
    case .unknown:
      isInDoubt = true
      guard attempts < limits.retry.attempts, isRepeatable(at: now) else { return end(as: .unresolved, at: now) }
      state = .unknown
      return again(nil, at: now, limits, random)
    }
  }

  /// Prepares another sequence of attempts after the entry is finished or conflicted, as if it were
  /// submitted at `now`.
  ///
  /// An unresolved entry is sent with the same bytes under its own key. Any other gets a new key. A
  /// doubt stays, since an earlier request may have been carried out and cannot be withdrawn,
  /// unless a response under the key has shown that it was not.
  ///
  /// - Parameter keepsRequest: `true` if the request cannot be made again.
  package mutating func retry(at now: Date, keepsRequest: Bool, newKey: () -> String) {
    if state != .unresolved {
      if request?.isKeyed == true { isInDoubt = false }
      if idempotencyKey != nil { idempotencyKey = newKey() }
      if !keepsRequest { request = nil }
    }
    state = .waiting
    submittedAt = now
    (attempts, unsent, conflicts) = (0, 0, 0)
    (firstAttemptAt, notBefore, endedAt, outcome) = (nil, nil, nil, nil)
  }

  /// Finishes the entry without an attempt.
  package mutating func end(as state: State, at now: Date) -> Consequence {
    self.state = state
    endedAt = now
    notBefore = nil
    return .ended
  }

  /// A Boolean value that indicates whether the request may be sent again although an earlier
  /// attempt may have been carried out.
  package func isRepeatable(at now: Date) -> Bool {
    guard let request else { return true }
    if request.isIdempotent { return true }
    guard request.isKeyed, let firstAttemptAt else { return false }
    let elapsed = now.timeIntervalSince(firstAttemptAt)
    // If the clock was set back, the rest of the window is unknown. Up to a minute counts as an
    // adjustment of the clock.
    return elapsed > -60 && elapsed < idempotencyWindow
  }

  private var isRemoval: Bool { request?.method == HTTPRequest.Method.delete.rawValue }

  private mutating func conflict(_ status: Int?, at now: Date, _ limits: Limits, _ random: Double) -> Consequence {
    if isInDoubt, let consequence = conflictInDoubt(status, at: now, limits, random) { return consequence }
    switch limits.onConflict {
    case .rebase:
      conflicts.countUp()
      guard conflicts <= Limits.conflicts else { return end(as: .refused, at: now) }
      if idempotencyKey != nil { idempotencyKey = limits.newKey() }
      (request, firstAttemptAt, notBefore) = (nil, nil, nil)
      // A doubt stays: an earlier request may have been carried out, and cannot be withdrawn.
      (attempts, unsent) = (0, 0)
      state = .waiting
      return .rebase
    case .refuse: return end(as: .refused, at: now)
    case .ask:
      state = .conflicted
      return .asks
    }
  }

  /// Settles an attempt whose conflict may be with an earlier attempt of the same entry, which was
  /// carried out although its response was lost.
  ///
  /// - Returns: `nil` for a request that may be built again, because repeating it is harmless.
  private mutating func conflictInDoubt(
    _ status: Int?, at now: Date, _ limits: Limits, _ random: Double
  ) -> Consequence? {
    // The first request under the key may still be processed.
    if status == 409, request?.isKeyed == true { return later(nil, at: now, limits, random) }
    if request?.isIdempotent == true, limits.onConflict != .refuse { return nil }
    return end(as: .unresolved, at: now)
  }

  private mutating func later(
    _ asked: Duration?, at now: Date, _ limits: Limits, _ random: Double
  ) -> Consequence {
    guard attempts < limits.retry.attempts else { return end(as: .unresolved, at: now) }
    state = isInDoubt ? .unknown : .waiting
    // The doubt is older than the retry, since a doubtful attempt after the retry would not have
    // been repeated. So this attempt leaves the entry as the retry did.
    if isInDoubt, request?.isKeyed == false, request?.isIdempotent == false { firstAttemptAt = nil }
    return again(asked, at: now, limits, random)
  }

  private mutating func again(
    _ asked: Duration?, at now: Date, _ limits: Limits, _ random: Double
  ) -> Consequence {
    unsent = 0
    let delay = max(limits.retry.delay(after: attempts, random: random), asked?.upToADay ?? .zero)
    notBefore = now + delay.inSeconds
    return .again
  }
}

extension FrozenRequest {
  /// A Boolean value that indicates whether a repeated request has the effect of a single one.
  fileprivate var isIdempotent: Bool { HTTPRequest.Method(method)?.isIdempotent == true }
}

extension Int {
  /// Counts one more, up to the largest number: a damaged entry may have any.
  fileprivate mutating func countUp() { self = self < .max ? self + 1 : .max }

  /// Counts one less, down to zero.
  fileprivate mutating func countDown() { self = Swift.max(1, self) - 1 }
}

extension RetryPolicy {
  /// The policy of an outbox: 20 attempts, with waits of up to 5 minutes.
  package static var outbox: RetryPolicy {
    var policy = RetryPolicy(attempts: 20)
    policy.longestDelay = .seconds(300)
    return policy
  }
}
