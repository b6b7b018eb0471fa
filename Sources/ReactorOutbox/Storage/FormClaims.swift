import Foundation
import HTTPCaching
import Synchronization

/// The copies of forms whose entries are about to be added by this store, with their locks.
package final class FormClaims: Sendable {
  /// The claim on one copy, with the lock of its file. It ends with its object.
  final class Claim: Sendable {
    private let file: Mutex<OpenFile?>

    init(_ file: consuming OpenFile) { self.file = Mutex(file) }

    fileprivate func release() { file.withLock { $0 = nil } }
  }

  private struct Held {
    weak var claim: Claim?
  }

  private let held = Mutex<[UUID: Held]>([:])

  package init() {}

  func add(_ file: consuming OpenFile, of id: UUID) -> Claim {
    let claim = Claim(file)
    held.withLock { held in
      held = held.filter { $0.value.claim != nil }
      held[id] = Held(claim: claim)
    }
    return claim
  }

  /// Returns `true` if the entry `id` is about to be added with a copy.
  func holds(_ id: UUID) -> Bool { held.withLock { $0[id]?.claim != nil } }

  /// Releases all locks, since iOS ends a process that is suspended with one. The claims stay.
  package func release() {
    let claims = held.withLock { $0.values.compactMap(\.claim) }
    for claim in claims { claim.release() }
  }
}
