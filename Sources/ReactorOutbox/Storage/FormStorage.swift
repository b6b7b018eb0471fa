package import Foundation
package import ReactorCore
import Synchronization

/// A storage that keeps the bodies of uploads, each until its entry is removed.
package protocol FormStorage: OutboxStorage {
  /// Copies a form, with its files, for an entry that is added next.
  ///
  /// When the method returns, the copy survives a power cut if the entry does. It is removed with
  /// its entry. A copy without an entry is removed by `contents(of:)`, a finished one a week later,
  /// and by any removal of its scope, whichever process makes it. While the result is held,
  /// `commit(_:in:)` then throws ``FormStorageError/removed`` instead of adding the entry.
  ///
  /// - Parameter isUnwanted: Returns `true` once the caller knows of a removal of the scope. Called
  ///   between the pieces of the copy, and before it is complete: a removal that has not seen the
  ///   copy began before that.
  /// - Throws: `MultipartForm.FileError`, ``FormStorageError/removed``, the errors of the store.
  func keep(
    _ form: MultipartForm, for id: UUID, in scope: Scope, unless isUnwanted: @escaping @Sendable () -> Bool
  ) async throws -> KeptForm

  /// Returns the bytes of the form of an entry.
  ///
  /// - Throws: An error if they are not there.
  func form(of id: UUID, in scope: Scope, contentType: String) async throws -> EncodedForm

  /// Removes everything of `scope` but some entries with their forms, and the copies of some forms
  /// whose entries are about to be added.
  ///
  /// When the method returns, no other copy of the scope is on the disk, and none that was begun
  /// before gets there.
  ///
  /// - Parameters:
  ///   - ids: The entries that stay.
  ///   - copies: Returns the entries whose copies stay. Called after the copies were listed, so
  ///     that one that begins meanwhile is not taken.
  /// - Throws: An error if something is left. What is to be kept stays in any case.
  func removeAll(
    in scope: Scope, keeping ids: Set<UUID>, andCopiesOf copies: @escaping @Sendable () -> Set<UUID>
  ) async throws
}

extension FormStorage {
  /// Copies a form for an entry, whatever is removed meanwhile.
  package func keep(_ form: MultipartForm, for id: UUID, in scope: Scope) async throws -> KeptForm {
    try await keep(form, for: id, in: scope) { false }
  }
}

/// The claim of a process on the copy of a form, from before it is written until its entry is
/// added: no reading takes the copy for one without an entry meanwhile.
package final class KeptForm: Sendable {
  /// The media type, with the boundary.
  package let contentType: String
  /// Removes the copy, since no entry was added.
  package let discard: @Sendable () -> Void
  private let claim: Mutex<(any Sendable)?>

  /// - Parameter claim: An object that holds the claim for as long as it lives.
  package init(contentType: String, holding claim: any Sendable, discard: @escaping @Sendable () -> Void) {
    self.contentType = contentType
    self.claim = Mutex(claim)
    self.discard = discard
  }

  /// Ends the claim: the entry was added, and from now on the copy is removed with it.
  package func release() {
    // Released after the unlock, since that closes a file.
    _ = claim.withLock { claim in
      defer { claim = nil }
      return claim
    }
  }
}

/// An error of the copy of a form.
package enum FormStorageError: Error, Hashable, CustomStringConvertible {
  case noForm
  /// Everything of the scope was removed before the entry was added.
  case removed

  package var description: String {
    switch self {
    case .noForm: "the copy of the form is gone; discard the entry, and submit the form again"
    case .removed: "everything of the scope was removed while the form was being copied"
    }
  }
}
