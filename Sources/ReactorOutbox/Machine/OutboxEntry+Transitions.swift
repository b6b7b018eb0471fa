package import Foundation
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
    /// The count of conflicts after which the entry is refused.
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
    /// The entry ends: it was never sent and is too old.
    case expired
    /// The entry ends: an outcome is unknown, and the request may not be repeated any more.
    case unresolved
  }

  /// Returns the decision before an attempt at `now`.
  package func beginning(at now: Date, _ limits: Limits) -> Beginning {
    if firstAttemptAt == nil, !isInDoubt, limits.maximumAge < .never,
      now.timeIntervalSince(submittedAt) > limits.maximumAge.inSeconds
    {
      return .expired
    }
    return isInDoubt && !isRepeatable(at: now) ? .unresolved : .send
  }

  /// Begins an attempt.
  package mutating func begin(at now: Date) {
    attempts += 1
    firstAttemptAt = firstAttemptAt ?? now
    notBefore = nil
    state = .sending
  }

  /// Reads an entry that another process was sending: its outcome is unknown.
  package mutating func abandon() {
    guard state == .sending else { return }
    state = .unknown
    isInDoubt = true
  }

  /// The consequence of an attempt's end for the outbox.
  package enum Consequence: Sendable, Hashable {
    /// The entry has ended, in its new state.
    case ended
    /// The entry is sent again, at the earliest at ``OutboxEntry/notBefore``.
    case again
    /// The request is made anew, from values that are fetched first.
    case rebase
    /// The entry holds its lane until the program decides.
    case asks
    /// Nothing is sent until the user has signed in.
    case signIn
  }

  /// Ends an attempt.
  ///
  /// - Parameter random: the position of the backoff between zero and its ceiling, in 0...1.
  package mutating func end(
    _ outcome: SendOutcome, status: Int?, reason: String, at now: Date, _ limits: Limits, random: Double
  ) -> Consequence {
    // An attempt without an answer leaves the status of the last one that had one.
    self.outcome = LastOutcome(outcome.kind, status: status ?? self.outcome?.status, reason: reason, date: now)
    switch outcome {
    case .accepted: return end(as: .accepted, at: now)
    case .refused: return end(as: .refused, at: now)
    case .conflict: return conflict(at: now, limits)
    case .unsent, .signIn:
      attempts -= 1
      if attempts <= 0, !isInDoubt { firstAttemptAt = nil }
      state = isInDoubt ? .unknown : .waiting
      guard case .unsent = outcome else { return .signIn }
      unsent += 1
      notBefore = now + limits.retry.delay(after: unsent, random: random).inSeconds
      return .again
    case .later(let asked):
      guard attempts < limits.retry.attempts else { return end(as: .unresolved, at: now) }
      state = isInDoubt ? .unknown : .waiting
      return again(asked, at: now, limits, random)
    case .unknown:
      isInDoubt = true
      guard attempts < limits.retry.attempts, isRepeatable(at: now) else { return end(as: .unresolved, at: now) }
      state = .unknown
      return again(nil, at: now, limits, random)
    }
  }

  /// Prepares another sequence of attempts after the entry has ended or conflicted.
  ///
  /// An unresolved entry is sent with the same bytes under its own key. Any other gets a new key.
  ///
  /// - Parameter keepsRequest: `true` if the request cannot be made anew.
  package mutating func retry(keepsRequest: Bool, newKey: () -> String) {
    if state != .unresolved {
      if idempotencyKey != nil { idempotencyKey = newKey() }
      if !keepsRequest { request = nil }
    }
    state = .waiting
    (attempts, unsent, conflicts, isInDoubt) = (0, 0, 0, false)
    (firstAttemptAt, notBefore, endedAt, outcome) = (nil, nil, nil, nil)
  }

  /// Ends the entry without an attempt.
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
    if HTTPRequest.Method(request.method)?.isIdempotent == true { return true }
    guard request.isKeyed, let firstAttemptAt else { return false }
    return now.timeIntervalSince(firstAttemptAt) < idempotencyWindow
  }

  private mutating func conflict(at now: Date, _ limits: Limits) -> Consequence {
    switch limits.onConflict {
    case .rebase:
      conflicts += 1
      guard conflicts <= Limits.conflicts else { return end(as: .refused, at: now) }
      if idempotencyKey != nil { idempotencyKey = limits.newKey() }
      (request, firstAttemptAt, notBefore) = (nil, nil, nil)
      (attempts, unsent, isInDoubt) = (0, 0, false)
      state = .waiting
      return .rebase
    case .refuse: return end(as: .refused, at: now)
    case .ask:
      state = .conflicted
      return .asks
    }
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

extension RetryPolicy {
  /// The policy of an outbox: 20 attempts, with waits of up to 5 minutes.
  package static var outbox: RetryPolicy {
    var policy = RetryPolicy(attempts: 20)
    policy.longestDelay = .seconds(300)
    return policy
  }
}
