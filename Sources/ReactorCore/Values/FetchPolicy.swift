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

/// What a policy makes of a copy: the table of ``FetchPolicy``, as pure functions.
enum FetchDecision: Sendable, Hashable {
  /// Return the copy.
  case use
  /// Return the copy, and ask the network in the background.
  case useAndRevalidate
  /// Ask the network.
  case ask
  /// Neither is allowed: ``ReactorError/notCached``.
  case notCached

  /// - Parameter copy: how the best copy at hand stands; `nil` where there is none.
  init(_ policy: FetchPolicy, copy: CopyStatus?) {
    switch (policy, copy) {
    case (.networkOnly, _), (.networkFirst, _): self = .ask
    case (.cacheOnly, nil): self = .notCached
    case (.cacheOnly, _?): self = .use
    case (_, nil): self = .ask
    case (_, let copy?) where copy.isFresh: self = .use
    case (.cacheFirst, let copy?) where !copy.isWithinStaleWhileRevalidate: self = .ask
    case (_, let copy?): self = copy.allowsStale ? .useAndRevalidate : .ask
    }
  }

  /// Returns whether the copy stands in for `error`.
  static func servesStale(_ copy: CopyStatus?, on error: ReactorError, under policy: FetchPolicy) -> Bool {
    guard let copy, copy.allowsStale, error.isNetworkFailure else { return false }
    return switch policy {
    case .cacheFirst: copy.isFresh || copy.isWithinStaleIfError
    case .networkFirst: true
    case .networkOnly, .cacheOnly, .staleWhileRevalidate: false
    }
  }
}

extension FetchPolicy {
  /// A Boolean value that indicates whether memory and persistence are asked before the network.
  var asksStoreFirst: Bool {
    switch self {
    case .cacheFirst, .cacheOnly, .staleWhileRevalidate: true
    case .networkOnly, .networkFirst: false
    }
  }
}
