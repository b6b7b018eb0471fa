import Foundation
import Synchronization

/// The state of the API, in memory and in a file.
///
/// A change is in the file, whole, before it is answered. A comment and the remembered answer to
/// its request are one change.
final class NewsArchive: Sendable {
  private let file: URL?
  private let state: Mutex<NewsState>

  /// - Parameter directory: the place of `news.json`; `nil` for only memory.
  /// - Throws: the error of a file that is there and cannot be read.
  init(directory: URL?) throws {
    file = directory?.appending(path: "news.json")
    guard let file, FileManager.default.fileExists(atPath: file.path(percentEncoded: false)) else {
      state = Mutex(NewsState())
      return
    }
    state = Mutex(try JSONDecoder().decode(NewsState.self, from: Data(contentsOf: file)))
  }

  func read<Value: Sendable>(_ body: (NewsState) -> Value) -> Value { state.withLock { body($0) } }

  /// Changes the state, and returns when the file has it.
  ///
  /// - Parameter publish: tells the change, with the new state. It is called under the lock, so
  ///   that changes are told in the order in which they are made.
  /// - Throws: the error of `body` or of the file. Nothing has changed then.
  func change<Value: Sendable>(
    _ body: (inout NewsState) throws -> Value, publish: (Value, NewsState) -> Void = { _, _ in }
  ) throws -> Value {
    try state.withLock { state in
      var changed = state
      let value = try body(&changed)
      if let file { try JSONEncoder().encode(changed).write(to: file, options: .atomic) }
      state = changed
      publish(value, changed)
      return value
    }
  }
}
