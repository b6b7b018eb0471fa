import Foundation
import HTTPCaching
import ReactorCore
import ReactorOutbox
import Synchronization
import TestSupport

extension StoredEntry {
  static func sample(_ text: String, id: UUID = UUID()) -> StoredEntry {
    StoredEntry(id: id, lane: "main", bytes: Data(text.utf8))
  }
}

extension OutboxContents {
  /// The bytes of the entries, as texts.
  var texts: [String] { entries.map { String(decoding: $0.bytes, as: UTF8.self) } }
}

/// The one journal in a directory.
func journal(in directory: URL) throws -> URL {
  let journals = files(in: directory, suffix: ".journal")
  guard journals.count == 1 else { throw CocoaError(.fileNoSuchFile) }
  return journals[0]
}

/// The journals that were set aside.
func damagedJournals(in directory: URL) -> [URL] {
  files(in: directory).filter { $0.lastPathComponent.contains(".damaged-") }
}

/// Makes the n-th call fail, or all from it on, and notes all calls.
final class CallScript: Sendable {
  typealias Operation = FilePersistence.Failure.Operation

  private struct State {
    var calls: [Operation] = []
    var failing: (index: Int, code: Int32, persists: Bool)?
  }

  private let state = Mutex(State())

  var system: FileSystem {
    FileSystem { operation, _ in
      self.state.withLock { state in
        state.calls.append(operation)
        let index = state.calls.count - 1
        guard let failing = state.failing, failing.persists ? index >= failing.index : index == failing.index else {
          return nil
        }
        return .error(failing.code)
      }
    }
  }

  var calls: [Operation] { state.withLock { $0.calls } }

  func start(failing index: Int? = nil, code: Int32 = 0, persists: Bool = false) {
    state.withLock { $0 = State(failing: index.map { ($0, code, persists) }) }
  }
}
