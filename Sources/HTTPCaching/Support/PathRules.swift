import Synchronization

/// The rules of the paths that were asked for last, in memory: the latest value of `No-Vary-Search`
/// of each, or that a path has none.
///
/// Paths are told apart by a hash. A collision leads to a wrong candidate, which is then refused,
/// or to a miss.
final class PathRules: Sendable {
  private struct Entry {
    let rule: NoVarySearch?
    var lastUse: UInt64
  }

  private struct State {
    var entries: [Int: Entry] = [:]
    var uses: UInt64 = 0
  }

  private let state = Mutex(State())
  /// The number of paths. Beyond it, the least recently used eighth is removed, and read again from
  /// the store when it is needed.
  static let limit = 1_000

  /// Returns the rule of a path, or that it has none; `nil` if it is not known.
  func known(_ path: Int) -> NoVarySearch?? {
    state.withLock { state in
      state.uses += 1
      state.entries[path]?.lastUse = state.uses
      return state.entries[path].map(\.rule)
    }
  }

  /// Notes the rule of a path.
  ///
  /// - Parameter isRead: Pass `true` if the rule was read from the store: a response may have
  ///   brought another meanwhile. Default: `false`.
  func note(_ rule: NoVarySearch?, of path: Int, isRead: Bool = false) {
    state.withLock { state in
      state.uses += 1
      guard !isRead || state.entries[path] == nil else { return }
      state.entries[path] = Entry(rule: rule, lastUse: state.uses)
      guard state.entries.count > Self.limit else { return }
      let oldest = state.entries.sortedUnspecialized { $0.value.lastUse < $1.value.lastUse }.prefix(Self.limit / 8)
      for (path, _) in oldest { state.entries[path] = nil }
    }
  }

  func removeAll() { state.withLock { $0.entries = [:] } }
}
