import Foundation

/// Answers from memory what can be answered without waiting.
final class MemoryReader: Sendable {
  let table = HitTable()
  let rule: FreshnessRule

  /// - Parameter elapsed: the time of the configuration's clock.
  init(_ configuration: ReactorConfiguration, elapsed: @escaping @Sendable () -> Duration) {
    rule = FreshnessRule(
      fallback: configuration.freshFor.inSeconds, staleIfError: configuration.staleIfError.inSeconds,
      steps: ClockSteps(wall: configuration.now, elapsed: elapsed))
  }

  /// The model that memory has for `resource`, where the policy is content with it.
  ///
  /// - Parameter note: called under the lock that a removal takes too.
  @inline(__always)
  func hit(_ resource: Resource, _ policy: FetchPolicy, note: (RecordKey) -> Void = { _ in }) -> AnyModel? {
    guard policy.asksStoreFirst else { return nil }
    // Before the lock is taken: the clock is its user's.
    let now = rule.steps.now()
    return table.model(for: resource) { copy in
      guard FetchDecision(policy, copy: rule.standing(ofSelected: copy, for: resource, at: now)) == .use else {
        return false
      }
      note(copy.key)
      return true
    }
  }

  /// The model that memory has, fresh or not.
  func cached(_ resource: Resource) -> AnyModel? {
    table.model(for: resource) { !$0.freshness.isNoStore }
  }
}
