package import Foundation
import HTTPCaching
package import ReactorCore
import Synchronization

/// A storage that keeps the bodies of uploads, each until its entry is removed.
package protocol FormStorage: OutboxStorage {
  /// Copies a form, with its files, for an entry that is added next.
  ///
  /// When the method returns, the copy survives a power cut if the entry does. It is removed with
  /// its entry. A copy without an entry is removed by `contents(of:)`, a finished one a week later.
  ///
  /// - Throws: `MultipartForm.FileError`, and the errors of the store.
  func keep(_ form: MultipartForm, for id: UUID, in scope: Scope) async throws -> KeptForm

  /// Returns the bytes of the form of an entry.
  ///
  /// - Throws: An error if they are not there.
  func form(of id: UUID, in scope: Scope, contentType: String) async throws -> EncodedForm
}

/// The claim of a process on the copy of a form, from before it is written until its entry is
/// added: no removal takes the copy meanwhile.
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

/// The locks of the files with forms whose entries are about to be added.
package final class FormClaims: Sendable {
  /// The lock of one file. It ends with its object.
  final class Claim: Sendable {
    private let file: Mutex<OpenFile?>

    init(_ file: consuming OpenFile) { self.file = Mutex(file) }

    fileprivate func release() { file.withLock { $0 = nil } }
  }

  private struct Held {
    weak var claim: Claim?
  }

  private let held = Mutex<[Held]>([])

  package init() {}

  func add(_ file: consuming OpenFile) -> Claim {
    let claim = Claim(file)
    held.withLock { held in
      held.removeAll { $0.claim == nil }
      held.append(Held(claim: claim))
    }
    return claim
  }

  /// Releases all locks, since iOS ends a process that is suspended with one.
  package func release() {
    let held = held.withLock { held in
      defer { held = [] }
      return held
    }
    for held in held { held.claim?.release() }
  }
}

/// An error of the copy of a form.
enum FormStorageError: Error, CustomStringConvertible {
  case noForm

  var description: String { "the copy of the form is gone; discard the entry, and submit the form again" }
}
