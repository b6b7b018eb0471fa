package import Foundation
package import ReactorCore

/// A storage that keeps the bodies of uploads, each until its entry is removed.
package protocol FormStorage: OutboxStorage {
  /// Copies a form, with its files, for an entry that is added next.
  ///
  /// When the method returns, the copy survives a power cut if the entry does. It is removed with
  /// its entry, and by `contents(of:)` if its process ended before it has added the entry.
  ///
  /// - Throws: `MultipartForm.FileError`, and the errors of the store.
  func keep(_ form: MultipartForm, for id: UUID, in scope: Scope) async throws -> KeptForm

  /// Returns the bytes of the form of an entry.
  ///
  /// - Throws: An error if they are not there.
  func form(of id: UUID, in scope: Scope, contentType: String) async throws -> EncodedForm
}

/// The claim of a process on the copy of a form, from before it is written until its entry is
/// added.
package final class KeptForm: Sendable {
  /// The media type, with the boundary.
  package let contentType: String
  /// Removes the copy, since no entry was added.
  package let discard: @Sendable () -> Void
  private let claim: any Sendable

  package init(contentType: String, holding claim: any Sendable, discard: @escaping @Sendable () -> Void) {
    self.contentType = contentType
    self.claim = claim
    self.discard = discard
  }
}

/// An error of the copy of a form.
enum FormStorageError: Error, CustomStringConvertible {
  case noForm

  var description: String { "the copy of the form is gone; discard the entry, and submit the form again" }
}
