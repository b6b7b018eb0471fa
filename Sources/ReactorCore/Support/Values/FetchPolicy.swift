/// The choice between stored values and the network for a fetch.
///
/// ```swift
/// let list = try await stories.fetch("stories", policy: isOffline ? .cacheOnly : .cacheFirst)
/// ```
///
/// | policy | fresh copy | stale copy | no copy | the network fails |
/// | --- | --- | --- | --- | --- |
/// | `cacheFirst` | return | ask | ask | the stale value within `staleIfError`, else the error |
/// | `networkOnly` | ask, with validators | ask | ask | the error |
/// | `networkFirst` | ask | ask | ask | any stored value, else the error |
/// | `cacheOnly` | return | return | ``ReactorError/notCached`` | – |
/// | `staleWhileRevalidate` | return, no request | return now, one request in the background | ask | an event only; with no copy, the error |
///
/// Under `cacheFirst`, a copy within the server's `stale-while-revalidate` window is returned, and
/// revalidated in the background. A stale copy that the server forbids to serve, as with
/// `must-revalidate`, is returned only by `cacheOnly`.
public enum FetchPolicy: Sendable, Hashable, CaseIterable {
  /// The policies; the table of ``FetchPolicy`` describes them.
  case cacheFirst, networkOnly, networkFirst, cacheOnly, staleWhileRevalidate
}

/// The decision of a policy about a copy: the table of ``FetchPolicy``, as pure functions.
enum FetchDecision<Copy> {
  /// Return the copy.
  case use(Copy)
  /// Return the copy, and ask the network in the background.
  case useAndRevalidate(Copy)
  /// Ask the network.
  case ask
  /// Fail with ``ReactorError/notCached``: there is no copy, and the network may not be asked.
  case notCached

  /// Creates the decision of a policy about a copy.
  ///
  /// - Parameters:
  ///   - copy: The best copy at hand.
  ///   - status: Its status; `nil` if there is no copy, or it may not be used.
  @inline(__always)
  init(_ policy: FetchPolicy, _ copy: Copy, _ status: CopyStatus?) {
    switch (policy, status) {
    case (.networkOnly, _), (.networkFirst, _): self = .ask
    case (.cacheOnly, nil): self = .notCached
    case (.cacheOnly, _?): self = .use(copy)
    case (_, nil): self = .ask
    case (_, let status?) where status.isFresh: self = .use(copy)
    case (.cacheFirst, let status?) where !status.isWithinStaleWhileRevalidate: self = .ask
    case (_, let status?): self = status.allowsStale ? .useAndRevalidate(copy) : .ask
    }
  }

  /// A Boolean value that indicates whether persistence or the network is needed.
  var needsFlight: Bool {
    if case .use = self { false } else { true }
  }
}

extension FetchDecision: Sendable where Copy: Sendable {}
extension FetchDecision: Equatable where Copy: Equatable {}

extension FetchDecision<Void> {
  /// Decides without a copy, for callers that have it at hand.
  @inline(__always) init(_ policy: FetchPolicy, _ status: CopyStatus?) { self.init(policy, (), status) }
}

extension FetchPolicy {
  /// Returns whether a copy of this status is served as the stale fallback after the network failed
  /// with `error`.
  func servesStale(_ status: CopyStatus?, on error: ReactorError) -> Bool {
    guard let status, status.allowsStale, error.isNetworkFailure else { return false }
    return switch self {
    case .cacheFirst: status.isFresh || status.isWithinStaleIfError
    case .networkFirst: true
    case .networkOnly, .cacheOnly, .staleWhileRevalidate: false
    }
  }

  /// A Boolean value that indicates whether memory and persistence come before the network.
  var asksStoreFirst: Bool {
    switch self {
    case .cacheFirst, .cacheOnly, .staleWhileRevalidate: true
    case .networkOnly, .networkFirst: false
    }
  }
}
