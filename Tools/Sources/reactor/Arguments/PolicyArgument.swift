import ArgumentParser
import ReactorCore

/// ``ReactorCore/FetchPolicy`` as it is written on the command line.
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
