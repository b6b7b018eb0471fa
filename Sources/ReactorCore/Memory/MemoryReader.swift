import Foundation

/// Answers from memory what can be answered without waiting.
final class MemoryReader: Sendable {
  let table = HitTable()
  let rule: FreshnessRule
  private let now: @Sendable () -> Date

  init(_ configuration: ReactorConfiguration) {
    rule = FreshnessRule(
      fallback: configuration.freshFor.inSeconds, staleIfError: configuration.staleIfError.inSeconds)
    now = configuration.now
  }

  /// The model that memory has for `resource`, where the policy is content with it.
  ///
  /// - Parameter note: called under the lock that a removal takes too.
  func hit(_ resource: Resource, _ policy: FetchPolicy, note: (RecordKey) -> Void = { _ in }) -> AnyModel? {
    guard policy.asksStoreFirst else { return nil }
    // Before the lock is taken: the clock is its user's.
    let now = now()
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

/// How long copies are fresh by a reactor's configuration.
struct FreshnessRule: Sendable {
  /// Seconds, where neither the resource nor the response says anything.
  let fallback: Double
  /// Seconds.
  let staleIfError: Double

  /// How a copy stands for `resource`; `nil` where it may not be kept, or is another variant.
  func standing(_ copy: Copy, for resource: Resource, at now: Date) -> Standing? {
    copy.isSelected(by: resource) ? standing(ofSelected: copy, for: resource, at: now) : nil
  }

  /// The same of a copy that is known to answer the resource.
  func standing(ofSelected copy: Copy, for resource: Resource, at now: Date) -> Standing? {
    copy.freshness.standing(
      at: now, freshFor: resource.freshFor?.inSeconds, fallback: fallback, staleIfError: staleIfError)
  }

  /// Seconds for which a copy is fresh from now on; `nil` where it is stale, or is none for `resource`.
  func rest(_ copy: Copy, for resource: Resource, at now: Date) -> Double? {
    guard copy.isSelected(by: resource) else { return nil }
    return copy.freshness.rest(at: now, freshFor: resource.freshFor?.inSeconds, fallback: fallback)
  }
}
