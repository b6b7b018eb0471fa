import ArgumentParser
import ReactorCore

/// A `FetchPolicy` of the command line.
enum PolicyArgument: String, CaseIterable, ExpressibleByArgument {
  case cacheFirst = "cache-first"
  case networkOnly = "network-only"
  case networkFirst = "network-first"
  case cacheOnly = "cache-only"
  case staleWhileRevalidate = "stale-while-revalidate"

  var policy: FetchPolicy {
    switch self {
    case .cacheFirst: .cacheFirst
    case .networkOnly: .networkOnly
    case .networkFirst: .networkFirst
    case .cacheOnly: .cacheOnly
    case .staleWhileRevalidate: .staleWhileRevalidate
    }
  }
}
