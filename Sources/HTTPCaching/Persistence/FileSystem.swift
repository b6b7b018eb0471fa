package import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Android)
  import Android
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

// See FileStatus.swift.
#if canImport(SwiftOverlayShims)
  import SwiftOverlayShims
#endif

/// The POSIX calls of a store. An interrupted call is repeated, and a failed one throws.
package struct FileSystem: Sendable {
  /// A result that a test forces on a call.
  package enum Fault {
    /// Fails with this `errno`.
    case error(Int32)
    /// Reads or writes at most this many bytes.
    case atMost(Int)
  }

  /// Returns the fault of a call; `nil` lets the call happen. Only tests set it.
  private let fault: (@Sendable (FilePersistence.Failure.Operation, String) -> Fault?)?

  package init(fault: (@Sendable (FilePersistence.Failure.Operation, String) -> Fault?)? = nil) { self.fault = fault }

  /// Opens a file for reading, and for writing if `writes` is `true`. Returns `nil` if it does not
  /// exist.
  ///
  /// - Parameter appends: A Boolean value that indicates whether every write goes to the end of the
  ///   file.
  package func open(
    _ path: String, writes: Bool = false, appends: Bool = false
  ) throws(FilePersistence.Failure) -> OpenFile? {
    do {
      // Without `O_NONBLOCK`, opening a FIFO in the file's place would wait for a writer.
      let flags = (writes ? O_RDWR : O_RDONLY) | (appends ? O_APPEND : 0) | O_CLOEXEC | O_NONBLOCK
      let descriptor = try call(.open, path) { _ in Int(openFile(path, flags)) }
      return OpenFile(descriptor: Int32(descriptor), path: path, system: self)
    } catch {
      guard error.code == ENOENT else { throw error }
      return nil
    }
  }

  /// Creates a file for writing, and for reading if `reads` is `true`. Only its owner may read it.
  /// Throws if the name exists.
  package func create(_ path: String, reads: Bool = false) throws(FilePersistence.Failure) -> OpenFile {
    let flags = (reads ? O_RDWR : O_WRONLY) | O_CREAT | O_EXCL | O_CLOEXEC
    let descriptor = try call(.create, path) { _ in Int(openFile(path, flags, 0o600)) }
    return OpenFile(descriptor: Int32(descriptor), path: path, system: self)
  }

  /// Renames a file, and replaces a file of the new name.
  package func rename(_ from: String, to path: String) throws(FilePersistence.Failure) {
    _ = try call(.rename, path) { _ in Int(renameFile(from, path)) }
  }

  /// Links a file to a name in another directory, or renames it where the file system has no links.
  /// Nothing happens if the new name exists, or if the file is gone.
  package func link(_ from: String, to path: String) throws(FilePersistence.Failure) {
    do {
      _ = try call(.rename, path) { _ in Int(linkFile(from, path)) }
    } catch {
      guard error.code != EEXIST, error.code != ENOENT, try inspect(path) == nil else { return }
      try rename(from, to: path)
    }
  }

  /// Removes a file.
  ///
  /// - Returns: `true` if there was one.
  @discardableResult package func remove(_ path: String) throws(FilePersistence.Failure) -> Bool {
    try unlessAbsent { () throws(FilePersistence.Failure) in _ = try call(.remove, path) { _ in Int(unlink(path)) } }
  }

  /// Removes a directory if it exists and is empty.
  func removeDirectory(_ path: String) throws(FilePersistence.Failure) {
    do {
      try unlessAbsent { () throws(FilePersistence.Failure) in _ = try call(.remove, path) { _ in Int(rmdir(path)) } }
    } catch {
      guard error.code == ENOTEMPTY || error.code == EEXIST else { throw error }
    }
  }

  /// Creates a directory and its parents, accessible only to the owner. An existing directory, or a
  /// link to one, is left unchanged.
  ///
  /// - Parameters:
  ///   - path: The path of the directory.
  ///   - synchronizes: A Boolean value that indicates whether the name of each new directory must
  ///     survive a power cut.
  package func makeDirectory(_ path: String, synchronizes: Bool) throws(FilePersistence.Failure) {
    let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    do {
      _ = try call(.createDirectory, path) { _ in Int(mkdir(path, 0o700)) }
    } catch {
      switch error.code {
      case EEXIST:
        guard try inspect(path, followsLink: true)?.isDirectory == false else { return }
        throw FilePersistence.Failure(operation: .createDirectory, path: path, code: ENOTDIR)
      case ENOENT where !parent.isEmpty:
        try makeDirectory(parent, synchronizes: synchronizes)
        return try makeDirectory(path, synchronizes: synchronizes)
      default: throw error
      }
    }
    if synchronizes { try synchronizeName(of: path, in: parent.isEmpty ? "/" : parent) }
  }

  private func synchronizeName(of directory: String, in parent: String) throws(FilePersistence.Failure) {
    do {
      try synchronizeDirectory(parent)
    } catch {
      switch (error.operation, error.code) {
      // The parent is not readable, or its file system synchronizes no directories. No later call
      // could do it either.
      case (.open, EACCES), (.synchronize, EINVAL), (.synchronize, ENOTSUP): return
      default:
        // A retry must not take this directory for a synchronized one.
        try? removeDirectory(directory)
        throw error
      }
    }
  }

  /// Synchronizes the names in a directory, so that they survive a power cut.
  package func synchronizeDirectory(_ path: String) throws(FilePersistence.Failure) {
    guard let directory = try open(path) else { return }
    try directory.synchronize()
  }

  /// Returns the status of a file, or `nil` if it does not exist. For a link, it is the link's own
  /// status, or its target's if `followsLink` is `true`.
  package func inspect(_ path: String, followsLink: Bool = false) throws(FilePersistence.Failure) -> FileStatus? {
    var status = stat()
    let isThere = try unlessAbsent { () throws(FilePersistence.Failure) in
      _ = try call(.inspect, path) { _ in Int(followsLink ? stat(path, &status) : lstat(path, &status)) }
    }
    return isThere ? FileStatus(status) : nil
  }

  /// Returns the names in a directory that begin with `prefix`, without `.` and `..`. Returns none
  /// if there is no directory.
  package func list(_ path: String, prefix: String = "") throws(FilePersistence.Failure) -> [String] {
    var stream: DirectoryStream?
    let isThere = try unlessAbsent { () throws(FilePersistence.Failure) in
      _ = try call(.list, path) { _ in
        stream = opendir(path)
        return stream == nil ? -1 : 0
      }
    }
    guard isThere, let stream else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else { break }
      // Often few of many names match. Only these become strings.
      let name: String? = withUnsafePointer(to: &entry.pointee.d_name) {
        let name = UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self)
        return strncmp(name, prefix, prefix.utf8.count) == 0 ? String(cString: name) : nil
      }
      if let name, name != ".", name != ".." { names.append(name) }
    }
    guard errno == 0 else { throw FilePersistence.Failure(operation: .list, path: path, code: errno) }
    return names
  }

  @discardableResult private func unlessAbsent(
    _ body: () throws(FilePersistence.Failure) -> Void
  ) throws(FilePersistence.Failure) -> Bool {
    do {
      try body()
      return true
    } catch {
      guard error.code == ENOENT else { throw error }
      return false
    }
  }

  fileprivate func call(
    _ operation: FilePersistence.Failure.Operation, _ path: String, _ body: (_ atMost: Int) -> Int
  ) throws(FilePersistence.Failure) -> Int {
    let (result, code) = Self.uninterrupted(fault: { fault?(operation, path) }, body)
    guard code == 0 else { throw FilePersistence.Failure(operation: operation, path: path, code: code) }
    return result
  }

  /// Makes one call, and repeats it while signals interrupt it.
  ///
  /// - Parameters:
  ///   - fault: The fault that a test forces on the call.
  ///   - body: The call. It takes the greatest number of bytes to transfer. It returns a negative
  ///     number for a failure, and leaves its code in `errno`.
  /// - Returns: The result of `body`, and the `errno` of its failure or zero.
  package static func uninterrupted(
    fault: () -> Fault?, _ body: (_ atMost: Int) -> Int
  ) -> (result: Int, code: Int32) {
    while true {
      var atMost = Int.max
      var code: Int32 = 0
      switch fault() {
      case .error(let fault): code = fault
      case .atMost(let count): atMost = max(1, count)
      case nil: break
      }
      if code == 0 {
        let result = body(atMost)
        if result >= 0 { return (result, 0) }
        code = errno
      }
      guard code == EINTR else { return (-1, code) }
    }
  }
}

/// An open file. Its descriptor is closed with the value.
package struct OpenFile: ~Copyable {
  /// The file descriptor; negative once it is closed.
  package fileprivate(set) var descriptor: Int32
  let path: String
  fileprivate let system: FileSystem

  deinit { if descriptor >= 0 { closeFile(descriptor) } }

  /// Returns the status of the open file.
  package func status() throws(FilePersistence.Failure) -> FileStatus {
    var status = stat()
    _ = try system.call(.inspect, path) { _ in Int(fstat(descriptor, &status)) }
    return FileStatus(status)
  }

  /// Fills `buffer` from the current position.
  ///
  /// - Returns: The number of bytes read. It is less than the size of `buffer` only at the end of
  ///   the file.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(FilePersistence.Failure) -> Int {
    var count = 0
    while count < buffer.count, let base = buffer.baseAddress {
      let read = try system.call(.read, path) { readFile(descriptor, base + count, min($0, buffer.count - count)) }
      if read == 0 { break }
      count += read
    }
    return count
  }

  /// Reads the next `count` bytes, or up to the end of the file.
  func read(_ count: Int) throws(FilePersistence.Failure) -> [UInt8] {
    var result: Result<Int, FilePersistence.Failure> = .success(0)
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      do throws(FilePersistence.Failure) {
        initialized = try read(into: UnsafeMutableRawBufferPointer(buffer))
      } catch {
        result = .failure(error)
      }
    }
    _ = try result.get()
    return bytes
  }

  /// Reads `count` bytes from `offset` on, or up to the end of the file.
  package func read(_ count: Int, at offset: Int) throws(FilePersistence.Failure) -> [UInt8] {
    _ = try system.call(.read, path) { _ in Int(lseek(descriptor, off_t(offset), SEEK_SET)) }
    return try read(count)
  }

  /// Ends the file after its first `count` bytes.
  package func truncate(to count: Int) throws(FilePersistence.Failure) {
    _ = try system.call(.truncate, path) { _ in Int(ftruncate(descriptor, off_t(count))) }
  }

  /// Acquires the lock of the file, which is released when the file is closed. Does not wait.
  ///
  /// - Returns: `false` if another open file has the lock, in this process or in another.
  package func lock() throws(FilePersistence.Failure) -> Bool {
    do {
      _ = try system.call(.lock, path) { _ in Int(flock(descriptor, LOCK_EX | LOCK_NB)) }
      return true
    } catch {
      guard error.code == EWOULDBLOCK else { throw error }
      return false
    }
  }

  /// Writes bytes at the current position.
  package func write(_ bytes: UnsafeRawBufferPointer) throws(FilePersistence.Failure) {
    var count = 0
    while count < bytes.count, let base = bytes.baseAddress {
      count += try system.call(.write, path) { writeFile(descriptor, base + count, min($0, bytes.count - count)) }
    }
  }

  /// Maps the file into memory. The bytes stay valid when the file is closed or removed, and must
  /// not be cut off.
  package func map() throws(FilePersistence.Failure) -> Data {
    let count = try status().size
    guard count > 0 else { return Data() }
    var start: UnsafeMutableRawPointer?
    _ = try system.call(.read, path) { _ in
      start = mmap(nil, count, PROT_READ, MAP_PRIVATE, descriptor, 0)
      return start == UnsafeMutableRawPointer(bitPattern: -1) ? -1 : 0
    }
    guard let start else { return Data() }
    return Data(bytesNoCopy: start, count: count, deallocator: .custom { munmap($0, $1) })
  }

  /// Synchronizes the file. When this returns, its bytes survive a power cut.
  package func synchronize() throws(FilePersistence.Failure) {
    _ = try system.call(.synchronize, path) { _ in
      #if canImport(Darwin)
        // On Darwin, fsync(2) leaves the bytes in the drive's cache. Not every file system has
        // F_FULLFSYNC.
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
      #endif
      return Int(fsync(descriptor))
    }
  }

  /// Sets the times of access and modification.
  func touch(_ time: FileTime) throws(FilePersistence.Failure) {
    _ = try system.call(.touch, path) { _ in Int(time.touch(descriptor)) }
  }

  /// Closes the file, and throws errors that only closing reports: some file systems report a full
  /// disk here.
  package mutating func close() throws(FilePersistence.Failure) {
    var isClosed = false
    defer { if isClosed { descriptor = -1 } }
    _ = try system.call(.close, path) { _ in
      isClosed = true
      // After EINTR, the descriptor is closed (Linux) or undefined (POSIX). Closing it again could
      // close another file's.
      return closeFile(descriptor) == 0 || errno == EINTR ? 0 : -1
    }
  }
}

extension FileSystem {
  /// Returns the path of a directory, without a slash at its end. Returns `nil` if the URL is not a
  /// directory's on this machine.
  package static func path(of directory: URL) -> String? {
    let path = directory.absoluteURL.path(percentEncoded: false)
    guard directory.isFileURL, !path.utf8.contains(0) else { return nil }
    return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
  }

  static var processID: Int32 { getpid() }

  /// Returns `true` if a process has exited. A process of another user counts as running.
  static func isGone(process: Int32) -> Bool { process > 0 && kill(process, 0) != 0 && errno == ESRCH }

  package static func text(of code: Int32) -> String { String(cString: strerror(code)) }

  package static let isAbsent = ENOENT
  package static let exists = EEXIST
  static let isTooLarge = EFBIG
  package static let isInvalid = EINVAL

  /// The meaning of an `errno` for the advice in an error's description.
  enum Cause {
    case full, denied, notADirectory, tooLarge, invalid, other

    init(_ code: Int32) {
      self =
        switch code {
        case ENOSPC, EDQUOT: .full
        case EACCES, EPERM, EROFS: .denied
        case ENOTDIR: .notADirectory
        case EFBIG: .tooLarge
        case EINVAL: .invalid
        default: .other
        }
    }
  }
}

#if canImport(Darwin)
  private typealias DirectoryStream = UnsafeMutablePointer<DIR>
#else
  private typealias DirectoryStream = OpaquePointer
#endif

// The system calls whose names are also names of methods above.
private func openFile(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 { open(path, flags, mode) }
private func linkFile(_ from: String, _ to: String) -> Int32 { link(from, to) }
private func renameFile(_ from: String, _ to: String) -> Int32 { rename(from, to) }
private func readFile(_ descriptor: Int32, _ into: UnsafeMutableRawPointer, _ count: Int) -> Int {
  read(descriptor, into, count)
}
private func writeFile(_ descriptor: Int32, _ from: UnsafeRawPointer, _ count: Int) -> Int {
  write(descriptor, from, count)
}
@discardableResult private func closeFile(_ descriptor: Int32) -> Int32 { close(descriptor) }
