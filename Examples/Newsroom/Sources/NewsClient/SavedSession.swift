import Foundation
import Synchronization

/// A user's credential in a file, so that a restart of the reader needs no sign-in.
///
/// An app keeps it in the keychain. Here, only its user can read the directory.
final class SavedSession: Sendable {
  private let file: URL
  private let hasEnded = Mutex(false)

  init(directory: URL) { file = directory.appending(path: "session.json") }

  /// Returns the credential that an earlier start has left.
  func credential() -> Credential? {
    (try? Data(contentsOf: file)).flatMap { try? JSONDecoder().decode(Credential.self, from: $0) }
  }

  /// Saves a credential, until the session is over.
  func save(_ credential: Credential) {
    hasEnded.withLock { hasEnded in
      guard !hasEnded else { return }
      // Without it, the next start asks for the password.
      try? JSONEncoder().encode(credential).write(to: file, options: .atomic)
    }
  }

  /// Removes the file. A refresh that is under way brings it back no more.
  func end() {
    hasEnded.withLock { hasEnded in
      hasEnded = true
      try? FileManager.default.removeItem(at: file)
    }
  }
}
