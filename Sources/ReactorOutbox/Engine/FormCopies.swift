import Foundation

/// The entries whose forms are being copied, until they are added or given up.
struct FormCopies: Sendable {
  /// The number of removals that were asked for before each copy began.
  private var epochs: [UUID: Int] = [:]

  mutating func begin(_ id: UUID, _ epoch: Int) { epochs[id] = epoch }
  mutating func end(_ id: UUID) { epochs[id] = nil }

  /// Returns the entries whose copies a removal leaves: they began after it was asked for.
  func begun(since epoch: Int) -> Set<UUID> { Set(epochs.lazy.filter { $0.value >= epoch }.map(\.key)) }
}
