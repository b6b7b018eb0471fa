import Foundation

/// How long copies are fresh by a reactor's configuration.
struct FreshnessRule: Sendable {
  /// Seconds, where neither the resource nor the response says anything.
  let fallback: Double
  /// Seconds.
  let staleIfError: Double
  let steps: ClockSteps

  /// How a copy stands for `resource`; `nil` where it may not be kept, or is another variant.
  func standing(_ copy: Copy, for resource: Resource, at now: Date) -> Standing? {
    copy.isSelected(by: resource) ? standing(ofSelected: copy, for: resource, at: now) : nil
  }

  /// The same of a copy that is known to answer the resource.
  func standing(ofSelected copy: Copy, for resource: Resource, at now: Date) -> Standing? {
    copy.freshness.standing(
      at: now, setBack: steps.setBack(since: copy.lead), freshFor: resource.freshFor?.inSeconds, fallback: fallback,
      staleIfError: staleIfError)
  }

  /// Seconds for which a copy is fresh from now on; `nil` where it is stale, or is none for `resource`.
  func rest(_ copy: Copy, for resource: Resource, at now: Date) -> Double? {
    guard copy.isSelected(by: resource) else { return nil }
    return copy.freshness.rest(
      at: now, setBack: steps.setBack(since: copy.lead), freshFor: resource.freshFor?.inSeconds, fallback: fallback)
  }
}
