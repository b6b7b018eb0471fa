import Foundation
import Synchronization

/// What the files and directories of a ``FilePersistence`` are called.
///
/// `<root>/<SHA-256 of the scope's name>.scope/<XXH64 of the key's URL>-<the key's digest>.record`,
/// and beside it, while it is written, `.<process>-<run>-<number>.temporary`. So the records of one
/// URL are found by their names. In the root is `secret.key`, which is never removed. Only the
/// other names are ever listed or removed, and those of ``FileMigration``.
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

  /// The directory of a scope's records. Before the first use of it in this process, records under
  /// earlier names get their new ones.
  func folder(of scope: Scope, _ migration: FileMigration) throws(FilePersistenceError) -> String {
    if let folder = lastScope.withLock({ $0.flatMap { $0.scope == scope ? $0.folder : nil } }) {
      return folder
    }
    let folder = try folder(of: scope)
    try migration.run(into: folder)
    lastScope.withLock { $0 = (scope, folder) }
    return folder
  }

  /// The same, with records under earlier names left alone.
  func folder(of scope: Scope) throws(FilePersistenceError) -> String {
    "\(try directory())/\(SHA256Digest.hex(Array(scope.name.utf8)))\(Self.scopeSuffix)"
  }

  /// The directories of all scopes that have one.
  func folders(_ migration: FileMigration) throws(FilePersistenceError) -> [String] {
    let folders = try folders(migration.system)
    for folder in folders { try migration.run(into: folder) }
    return folders
  }

  /// The same, with records under earlier names left alone.
  func folders(_ system: FileSystem) throws(FilePersistenceError) -> [String] {
    let root = try directory()
    return Set(try system.list(root).compactMap(Self.scopeDigest)).sorted()
      .map { "\(root)/\($0)\(Self.scopeSuffix)" }
  }

  /// Where an earlier release kept the records that belong into `folder`.
  static func earlier(_ folder: String) -> String { String(folder.dropLast(scopeSuffix.utf8.count)) }

  /// Put together in one piece: each appending to a string would cost as much as all of it.
  static func path(of key: RecordKey, in folder: String) -> String {
    let parts = [folder, "/", prefix(of: key.url), key.digest, ".record"]
    return String(unsafeUninitializedCapacity: parts.reduce(0) { $0 + $1.utf8.count }) { buffer in
      parts.reduce(0) { count, part in
        _ = buffer[count...].update(fromContentsOf: part.utf8)
        return count + part.utf8.count
      }
    }
  }

  /// The beginning of the names of all records of a URL. Others may share it: the key in the record
  /// decides.
  static func prefix(of url: String) -> String {
    let digits = String(url.withContiguousUTF8 { XXHash64.hash($0) }, radix: 16)
    return "\(String(repeating: "0", count: prefixLength - 1 - digits.utf8.count))\(digits)-"
  }

  static func isRecord(_ name: String) -> Bool {
    let bytes = name.utf8
    guard bytes.count == prefixLength + 64 + 7, name.hasSuffix(".record") else { return false }
    return bytes.prefix(prefixLength - 1).allSatisfy(isDigit) && bytes.dropFirst(prefixLength - 1).first == dash
      && bytes.dropFirst(prefixLength).prefix(64).allSatisfy(isDigit)
  }

  /// Whether an earlier release called a record so: by its key's digest alone.
  static func isEarlierRecord(_ name: String) -> Bool { name.hasSuffix(".record") && isDigest(name.dropLast(7)) }

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

  /// The scope's digest in a directory's name, as this release or an earlier one calls it.
  private static func scopeDigest(_ name: String) -> String? {
    let digest = name.hasSuffix(scopeSuffix) ? name.dropLast(scopeSuffix.utf8.count) : Substring(name)
    return isDigest(digest) ? String(digest) : nil
  }

  private static func isDigest(_ name: Substring) -> Bool { name.utf8.count == 64 && name.utf8.allSatisfy(isDigit) }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
  }

  static let secretKey = "secret.key"
  private static let scopeSuffix = ".scope"
  /// 16 digits and a dash.
  private static let prefixLength = 17
  private static let dash = UInt8(ascii: "-")
}

extension String {
  fileprivate func withContiguousUTF8<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
    var text = self
    return text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
  }
}
