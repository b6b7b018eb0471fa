import Foundation
import ReactorTesting
import Synchronization

@testable import HTTPCaching

/// A disk below a directory whose power is cut: files keep for certain what was synchronised of
/// them, directories the names that they had when they were.
final class PowerCut: Sendable {
  private struct Disk {
    var calls = 0
    var failing = 0
    /// By the file's number. What was synchronised, and what was written, of files that have no
    /// name any more too.
    var synchronized: [UInt64: Data] = [:]
    var written: [UInt64: Data] = [:]
    /// By path: what is there for certain.
    var names: [String: UInt64] = [:]
    /// One of each file and directory that had a number here: while it is open, no other gets the
    /// number.
    var open: [UInt64: FileHandle] = [:]
  }

  private let disk = Mutex(Disk())
  private let root: String
  private let lies: Bool

  /// - Parameter lies: Whether it says of what it was only told to synchronise that it has.
  init(_ directory: URL, lies: Bool = false) {
    root = directory.path(percentEncoded: false)
    self.lies = lies
  }

  /// Begins again with what is there; everything stops at the `call`-th call.
  func arm(at call: Int) {
    disk.withLock { disk in
      disk = Disk(failing: call)
      for path in paths() {
        guard let number = number(path, &disk) else { continue }
        disk.names[path] = number
        disk.synchronized[number] = contents(path)
      }
    }
  }

  var calls: Int { disk.withLock(\.calls) }

  /// The calls of a store on this disk.
  var system: FileSystem {
    FileSystem { operation, path in
      self.disk.withLock { disk in
        disk.calls += 1
        guard disk.calls < disk.failing else { return .error(EIO) }
        switch operation {
        case .synchronize where !self.lies: self.synchronize(path, &disk)
        // The file that had the name keeps its bytes, in case the name becomes its own again.
        case .rename, .remove: self.keep(path, &disk)
        default: break
        }
        return nil
      }
    }
  }

  private func synchronize(_ path: String, _ disk: inout Disk) {
    guard isDirectory(path) else {
      if let number = number(path, &disk) { disk.synchronized[number] = contents(path) }
      return
    }
    for old in disk.names.keys where (old as NSString).deletingLastPathComponent == path { disk.names[old] = nil }
    for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
      disk.names["\(path)/\(name)"] = number("\(path)/\(name)", &disk)
    }
  }

  private func keep(_ path: String, _ disk: inout Disk) {
    if let number = number(path, &disk) { disk.written[number] = contents(path) }
  }

  /// Leaves what a disk may hold after the cut: for each name, the file that it certainly had or
  /// the file that it has; of each file, for each sector of 512 bytes and for the length, what was
  /// synchronised or what was written.
  func cut(_ generator: inout SeededGenerator) {
    let disk = disk.withLock { $0 }
    // A directory is decided before what is in it.
    for path in Set(paths()).union(disk.names.keys).sorted() {
      let (current, certain) = (number(path), disk.names[path])
      let left = Bool.random(using: &generator) ? current : certain
      if isDirectory(path) {
        if certain == nil, left == nil { try? FileManager.default.removeItem(atPath: path) }
        continue
      }
      let written = left.flatMap { $0 == current ? contents(path) : disk.written[$0] }
      try? FileManager.default.removeItem(atPath: path)
      guard let left, written != nil || disk.synchronized[left] != nil else { continue }
      let bytes = mix(disk.synchronized[left] ?? Data(), written ?? disk.synchronized[left] ?? Data(), &generator)
      _ = FileManager.default.createFile(atPath: path, contents: bytes)
    }
  }

  private func mix(_ old: Data, _ new: Data, _ generator: inout SeededGenerator) -> Data {
    guard old != new else { return new }
    let length = Int.random(in: min(old.count, new.count)...max(old.count, new.count), using: &generator)
    var bytes = Data(count: Bool.random(using: &generator) ? new.count : length)
    for start in stride(from: 0, to: bytes.count, by: 512) {
      let from = Bool.random(using: &generator) ? new : old
      let part = from.dropFirst(start).prefix(min(512, bytes.count - start))
      bytes.replaceSubrange(start..<start + part.count, with: part)
    }
    return bytes
  }
}

extension PowerCut {
  private func paths() -> [String] {
    let names = FileManager.default.enumerator(atPath: root)
    return (names?.compactMap { $0 as? String } ?? []).map { "\(root)/\($0)" } + [root]
  }

  /// Returns the number of a file that the disk refers to by it from now on.
  private func number(_ path: String, _ disk: inout Disk) -> UInt64? {
    guard let number = number(path) else { return nil }
    if disk.open[number] == nil { disk.open[number] = FileHandle(forReadingAtPath: path) }
    return number
  }

  private func number(_ path: String) -> UInt64? {
    var status = stat()
    return lstat(path, &status) == 0 ? UInt64(status.st_ino) : nil
  }

  private func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  private func contents(_ path: String) -> Data? { FileManager.default.contents(atPath: path) }
}
