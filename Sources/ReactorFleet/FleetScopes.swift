import HTTPCaching

/// The scopes whose generations a server knows, by the digests of the scopes. Each heartbeat reads
/// their generations, so unused scopes are forgotten.
///
/// The entries for all scopes and for `Scope.shared` stay. A pure value: the caller passes the
/// time.
struct FleetScopes: Sendable {
  private struct Known: Sendable {
    var generation: FleetGeneration
    var usedAt: Duration
  }

  private var known: [String: Known] = [:]

  static let limit = 1_000
  static let longest = Duration.seconds(600)
  private static let always: Set<String> = [Fleet.allScopes, Fleet.digest(of: .shared)]

  subscript(scope: String) -> FleetGeneration? { known[scope]?.generation }

  /// The scopes whose generations a beat reads.
  var followed: [String] { Self.always.union(known.keys).sorted() }

  /// Marks a scope as used now, and returns its generation if known.
  mutating func use(_ scope: String, at now: Duration) -> FleetGeneration? {
    known[scope]?.usedAt = now
    return known[scope]?.generation
  }

  mutating func learn(_ generation: FleetGeneration, of scope: String, at now: Duration) {
    known[scope] = Known(generation: generation, usedAt: now)
  }

  /// Changes the generation of a scope that is known, or is always followed.
  ///
  /// - Returns: `true` if the generation was another before.
  mutating func update(_ generation: FleetGeneration, of scope: String) -> Bool {
    guard let old = known[scope] else {
      if Self.always.contains(scope) { known[scope] = Known(generation: generation, usedAt: .zero) }
      return false
    }
    known[scope]?.generation = generation
    return old.generation != generation
  }

  /// Forgets scopes that were unused for long, and beyond the limit the least recently used. It
  /// removes many at once, since each removal examines every copy.
  ///
  /// - Parameter kept: The scopes to keep in any case.
  /// - Returns: The scopes that are forgotten.
  mutating func forget(at now: Duration, except kept: Set<String>) -> Set<String> {
    let candidates = known.filter { !Self.always.contains($0.key) && !kept.contains($0.key) }
    let isDue = candidates.count > Self.limit || candidates.contains { $0.value.usedAt + Self.longest <= now }
    guard isDue else { return [] }
    var forgotten = Set(candidates.filter { $0.value.usedAt + Self.longest / 2 <= now }.keys)
    if candidates.count - forgotten.count > Self.limit {
      let byUse = candidates.sorted { ($0.value.usedAt, $0.key) < ($1.value.usedAt, $1.key) }
      forgotten.formUnion(byUse.prefix(candidates.count - Self.limit / 2).map(\.key))
    }
    for scope in forgotten { known[scope] = nil }
    return forgotten
  }
}
