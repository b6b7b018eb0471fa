import Foundation
import Synchronization

/// What the files and directories of a ``FilePersistence`` are called.
///
/// `<root>/<SHA-256 of the scope's name>/<the key's digest>.record`, and beside it, while it is written,
/// `.<process>-<run>-<number>.temporary`. Only such names are ever listed or removed.
final class FileNames: Sendable {
  /// `nil` where the URL names no directory of this machine.
  let root: String?
  /// A program uses one scope, mostly, and digesting it would cost as much as reading a record.
  private let lastScope = Mutex<(scope: Scope, folder: String)?>(nil)
  private static let counter = Atomic<UInt64>(0)
  /// Tells this run from an earlier one that had the same process number.
  private static let run = String(UInt64.random(in: 0 ... .max), radix: 36)

  init(_ directory: URL) {
    let path = directory.absoluteURL.path(percentEncoded: false)
    let isUsable = directory.isFileURL && !path.utf8.contains(0)
    root = isUsable ? (path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path) : nil
  }

  func directory() throws(FilePersistenceError) -> String {
    guard let root else {
      throw FilePersistenceError(operation: .open, path: "the store's directory", code: FileSystem.isInvalid)
    }
    return root
  }

  /// The directory of a scope's records.
  func folder(of scope: Scope) throws(FilePersistenceError) -> String {
    let root = try directory()
    if let folder = lastScope.withLock({ $0.flatMap { $0.scope == scope ? $0.folder : nil } }) {
      return folder
    }
    let folder = "\(root)/\(SHA256Digest.hex(Array(scope.name.utf8)))"
    lastScope.withLock { $0 = (scope, folder) }
    return folder
  }

  /// The directories of all scopes that have one.
  func folders(_ system: FileSystem) throws(FilePersistenceError) -> [String] {
    let root = try directory()
    return try system.list(root).filter(Self.isDigest).map { "\(root)/\($0)" }
  }

  /// Put together in one piece: each appending to a string would cost as much as all of it.
  static func path(of key: RecordKey, in folder: String) -> String {
    let parts = [folder, "/", key.digest, ".record"]
    return String(unsafeUninitializedCapacity: parts.reduce(0) { $0 + $1.utf8.count }) { buffer in
      parts.reduce(0) { count, part in
        _ = buffer[count...].update(fromContentsOf: part.utf8)
        return count + part.utf8.count
      }
    }
  }

  static func isRecord(_ name: String) -> Bool { name.hasSuffix(".record") && isDigest(String(name.dropLast(7))) }

  /// A name that nothing has yet.
  static func temporary() -> String {
    ".\(FileSystem.processID)-\(run)-\(counter.add(1, ordering: .relaxed).newValue).temporary"
  }

  static func isTemporary(_ name: String) -> Bool { name.hasPrefix(".") && name.hasSuffix(".temporary") }

  /// Whether whoever was writing this temporary file has ended.
  static func isAbandoned(_ name: String) -> Bool {
    let parts = name.dropFirst().split(separator: "-")
    guard parts.count == 3, let process = Int32(parts[0]) else { return false }
    return process == FileSystem.processID ? parts[1] != run : FileSystem.isGone(process: process)
  }

  private static func isDigest(_ name: String) -> Bool {
    name.utf8.count == 64
      && name.utf8.allSatisfy {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
      }
  }
}
