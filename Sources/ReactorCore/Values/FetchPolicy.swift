/// Which copy answers a fetch, and when the network is asked.
///
/// | policy | fresh copy | stale copy | no copy | the network fails |
/// | --- | --- | --- | --- | --- |
/// | `cacheFirst` | return | ask | ask | the stale value within `staleIfError`, else the error |
/// | `networkOnly` | ask, with validators | ask | ask | the error |
/// | `networkFirst` | ask | ask | ask | any stored value, else the error |
/// | `cacheOnly` | return | return | ``ReactorError/notCached`` | – |
/// | `staleWhileRevalidate` | return, no request | return now, one request in the background | ask | an event only; with no copy, the error |
public enum FetchPolicy: Sendable, Hashable, CaseIterable {
  case cacheFirst, networkOnly, networkFirst, cacheOnly, staleWhileRevalidate
}

/// The decision of a policy on a copy: the table of ``FetchPolicy``, as pure functions.
enum FetchDecision<Copy> {
  /// Return the copy.
  case use(Copy)
  /// Return the copy, and ask the network in the background.
  case useAndRevalidate(Copy)
  /// Ask the network.
  case ask
  /// Neither is allowed: ``ReactorError/notCached``.
  case notCached

  /// - Parameters:
  ///   - copy: the best copy at hand.
  ///   - status: its status; `nil` where it may not be used, or there is none.
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

  /// A Boolean value that indicates whether somebody has to be asked.
  var needsFlight: Bool {
    if case .use = self { false } else { true }
  }
}

extension FetchDecision: Sendable where Copy: Sendable {}
extension FetchDecision: Equatable where Copy: Equatable {}

extension FetchDecision<Void> {
  /// The decision alone, where the copy is at hand anyway.
  @inline(__always) init(_ policy: FetchPolicy, _ status: CopyStatus?) { self.init(policy, (), status) }
}

extension FetchPolicy {
  /// Returns whether a copy of this status is the answer where the network has failed with `error`.
  func servesStale(_ status: CopyStatus?, on error: ReactorError) -> Bool {
    guard let status, status.allowsStale, error.isNetworkFailure else { return false }
    return switch self {
    case .cacheFirst: status.isFresh || status.isWithinStaleIfError
    case .networkFirst: true
    case .networkOnly, .cacheOnly, .staleWhileRevalidate: false
    }
  }

  /// A Boolean value that indicates whether memory and persistence are asked before the network.
  var asksStoreFirst: Bool {
    switch self {
    case .cacheFirst, .cacheOnly, .staleWhileRevalidate: true
    case .networkOnly, .networkFirst: false
    }
  }
}
