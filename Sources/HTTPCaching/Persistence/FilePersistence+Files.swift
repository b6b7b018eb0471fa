import Foundation
import Synchronization

/// The names of the files and directories of a ``FilePersistence``.
///
/// A record's path is `<root>/<scope>.scope/<bucket>/<URL>-<key>.record`. `<scope>` is the SHA-256
/// of the scope's name, `<URL>` is the XXH64 of the key's URL, and `<key>` is the
/// ``RecordKey/digest``. The bucket is the first ten bits of the URL's hash. So the records of one
/// URL are found by name, in a directory with a thousandth of all records.
///
/// While a record is written, its temporary file is beside it:
/// `.<process>-<run>-<number>.temporary`.
///
/// The root also has `secret.key`, which is never removed. Files with any other name are neither
/// listed nor removed.
final class FileNames: Sendable {
  /// The path of the directory; `nil` if the URL is not a directory's on this machine.
  let root: String?
  /// The directory of the last scope. Most programs use one scope, and digesting its name would
  /// cost as much as reading a record.
  private let lastScope = Mutex<(scope: Scope, folder: String)?>(nil)
  private static let counter = Atomic<UInt64>(0)
  /// A random number that distinguishes this run from an earlier one with the same process number.
  private static let run = String(UInt64.random(in: 0 ... .max), radix: 36)

  init(_ directory: URL) { root = FileSystem.path(of: directory) }

  func directory() throws(FilePersistence.Failure) -> String {
    guard let root else {
      throw FilePersistence.Failure(operation: .open, path: "the store's directory", code: FileSystem.isInvalid)
    }
    return root
  }

  /// Returns the directory of a scope's buckets.
  func folder(of scope: Scope) throws(FilePersistence.Failure) -> String {
    if let folder = lastScope.withLock({ $0.flatMap { $0.scope == scope ? $0.folder : nil } }) {
      return folder
    }
    let folder = "\(try directory())/\(SHA256Digest.hex(Array(scope.name.utf8)))\(Self.scopeSuffix)"
    lastScope.withLock { $0 = (scope, folder) }
    return folder
  }

  /// Returns the directories of all scopes that have one.
  func folders(_ system: FileSystem) throws(FilePersistence.Failure) -> [String] {
    let root = try directory()
    return try system.list(root).filter(Self.isScope).sorted().map { "\(root)/\($0)" }
  }

  /// Returns the directories with records.
  ///
  /// - Parameters:
  ///   - scope: The scope to list; `nil` lists every scope.
  ///   - url: The URL to list; `nil` lists every URL. The bucket of a URL may not exist.
  func buckets(of scope: Scope?, url: String? = nil, _ system: FileSystem) throws(FilePersistence.Failure) -> [String] {
    let folders = if let scope { [try folder(of: scope)] } else { try folders(system) }
    if let url { return folders.map { "\($0)/\(Self.bucket(Self.hash(of: url)))" } }
    var buckets: [String] = []
    for folder in folders { buckets += try Self.buckets(in: folder, system) }
    return buckets
  }

  static func buckets(in folder: String, _ system: FileSystem) throws(FilePersistence.Failure) -> [String] {
    try system.list(folder).filter(isBucket).sorted().map { "\(folder)/\($0)" }
  }

  func path(of key: RecordKey) throws(FilePersistence.Failure) -> String {
    let hash = Self.hash(of: key.url)
    return String(joining: [
      try folder(of: key.scope), "/", Self.bucket(hash), "/", Self.prefix(hash), key.digest, Self.recordSuffix,
    ])
  }

  /// Returns the directory of a record. The names of all records have the same length.
  static func folder(ofRecord path: String) -> String { String(path.dropLast(1 + recordLength)) }

  private static func hash(of url: String) -> UInt64 { url.withContiguousUTF8 { XXHash64.hash($0) } }

  /// Returns the first ten bits of a hash as two digits of base 32.
  private static func bucket(_ hash: UInt64) -> String { digits(hash >> 54, radix: 32, count: 2) }

  /// Returns the prefix of the names of a URL's records. Another URL may share it, so the key in
  /// the record decides.
  static func prefix(of url: String) -> String { prefix(hash(of: url)) }

  private static func prefix(_ hash: UInt64) -> String { "\(digits(hash, radix: 16, count: 16))-" }

  private static func digits(_ number: UInt64, radix: Int, count: Int) -> String {
    let digits = String(number, radix: radix)
    return String(repeating: "0", count: count - digits.utf8.count) + digits
  }

  static func isRecord(_ name: String) -> Bool {
    let bytes = name.utf8
    guard bytes.count == recordLength, name.hasSuffix(recordSuffix) else { return false }
    return bytes.prefix(16).allSatisfy(isDigit) && bytes.dropFirst(16).first == UInt8(ascii: "-")
      && bytes.dropFirst(17).prefix(64).allSatisfy(isDigit)
  }

  /// Returns an unused name.
  static func temporary() -> String {
    ".\(FileSystem.processID)-\(run)-\(counter.add(1, ordering: .relaxed).newValue).temporary"
  }

  static func isTemporary(_ name: String) -> Bool { name.hasPrefix(".") && name.hasSuffix(".temporary") }

  /// Returns `true` if the process that wrote this temporary file has exited.
  static func isAbandoned(_ name: String) -> Bool {
    let parts = name.dropFirst().split(separator: "-")
    guard parts.count == 3, let process = Int32(parts[0]) else { return false }
    return process == FileSystem.processID ? parts[1] != run : FileSystem.isGone(process: process)
  }

  private static func isScope(_ name: String) -> Bool {
    name.hasSuffix(scopeSuffix) && name.utf8.count == 64 + scopeSuffix.utf8.count
      && name.utf8.prefix(64).allSatisfy(isDigit)
  }

  private static func isBucket(_ name: String) -> Bool {
    name.utf8.count == 2 && name.utf8.allSatisfy { isDigit($0) || (UInt8(ascii: "g")...UInt8(ascii: "v")).contains($0) }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
  }

  static let secretKey = "secret.key"
  private static let scopeSuffix = ".scope"
  private static let recordSuffix = ".record"
  /// The length of a record's name in bytes: two digests, a dash and the suffix.
  private static let recordLength = 16 + 1 + 64 + 7
}

extension String {
  fileprivate func withContiguousUTF8<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
    var text = self
    return text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
  }
}

/// An open file of a record, with its head read and verified.
struct RecordFile: ~Copyable {
  let head: Record.Head
  let status: FileStatus
  private let file: OpenFile
  private let layout: RecordCodec.Layout
  /// The beginning of the file, at least through the head.
  private let bytes: [UInt8]

  /// Opens a record and reads its head.
  ///
  /// - Parameters:
  ///   - file: The open file.
  ///   - count: The number of bytes to read at once. Bytes beyond the head save a second read for
  ///     the body.
  /// - Throws: ``Record/Failure``, ``FilePersistence/Failure``.
  init(_ file: consuming OpenFile, reading count: Int) throws {
    let status = try file.status()
    guard status.isRegular else { throw Record.Failure.corrupt("the path is not a regular file") }
    var bytes = try file.read(min(count, status.size))
    let layout = try RecordCodec.layout(of: bytes, count: status.size)
    if bytes.count < layout.bodyOffset { bytes += try file.read(layout.bodyOffset - bytes.count) }
    head = try RecordCodec.decodeHead(bytes, layout)
    self.status = status
    self.layout = layout
    self.bytes = bytes
    self.file = file
  }

  func record() throws -> Record {
    let read = bytes[layout.bodyOffset...]
    let body = read.count == layout.bodyLength ? Data(read) : try body(after: read)
    try RecordCodec.check(body: body, layout)
    return Record(head: head, body: body)
  }

  private func body(after read: ArraySlice<UInt8>) throws -> Data {
    var body = Data(count: layout.bodyLength)
    let count = try body.withUnsafeMutableBytes { buffer in
      buffer.copyBytes(from: read)
      return try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[read.count...]))
    }
    guard read.count + count == layout.bodyLength else { throw Record.Failure.truncated }
    return body
  }

  /// Sets the time of last use to now, unless that was done within `interval` seconds. A failure
  /// affects only the order of eviction, so it is not thrown.
  func touch(unlessWithin interval: Int) {
    let now = FileTime.now
    let age = now.seconds - status.modified.seconds
    // A time in the future is from a clock that was set back.
    if age >= interval || age < 0 { try? file.touch(now) }
  }
}
