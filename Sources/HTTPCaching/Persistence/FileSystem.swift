import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Android)
  import Android
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The POSIX calls that a store needs: an interrupted one is made again, a failed one is thrown.
package struct FileSystem: Sendable {
  /// The result that a test forces on a call.
  package enum Fault {
    case error(Int32)
    /// Reads and writes at most so many bytes.
    case atMost(Int)
  }

  /// Asked before each call; `nil` lets the call happen. Only tests set it.
  private let fault: (@Sendable (FilePersistenceError.Operation, String) -> Fault?)?

  package init(fault: (@Sendable (FilePersistenceError.Operation, String) -> Fault?)? = nil) { self.fault = fault }

  /// The file for reading, and for writing where `writes`; `nil` where there is none.
  package func open(_ path: String, writes: Bool = false) throws(FilePersistenceError) -> OpenFile? {
    do {
      // Without O_NONBLOCK, opening a FIFO that somebody put there would wait for a writer.
      let flags = (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK
      let descriptor = try call(.open, path) { _ in Int(openFile(path, flags)) }
      return OpenFile(descriptor: Int32(descriptor), path: path, system: self)
    } catch {
      guard error.code == ENOENT else { throw error }
      return nil
    }
  }

  /// A new file for writing that only its owner may read; a file of that name is an error.
  package func create(_ path: String) throws(FilePersistenceError) -> OpenFile {
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
    let descriptor = try call(.create, path) { _ in Int(openFile(path, flags, 0o600)) }
    return OpenFile(descriptor: Int32(descriptor), path: path, system: self)
  }

  package func rename(_ from: String, to path: String) throws(FilePersistenceError) {
    _ = try call(.rename, path) { _ in Int(renameFile(from, path)) }
  }

  /// Gives the file another name, in another directory, and lets it keep the one that it has where the
  /// file system can do that. Nothing happens where something has that name, or the file is gone.
  func link(_ from: String, to path: String) throws(FilePersistenceError) {
    do {
      _ = try call(.rename, path) { _ in Int(linkFile(from, path)) }
    } catch {
      guard error.code != EEXIST, error.code != ENOENT, try inspect(path) == nil else { return }
      try rename(from, to: path)
    }
  }

  /// - Returns: whether there was one.
  @discardableResult package func remove(_ path: String) throws(FilePersistenceError) -> Bool {
    try unlessAbsent { () throws(FilePersistenceError) in _ = try call(.remove, path) { _ in Int(unlink(path)) } }
  }

  /// Removes the directory if it is empty.
  func removeDirectory(_ path: String) throws(FilePersistenceError) {
    do {
      try unlessAbsent { () throws(FilePersistenceError) in _ = try call(.remove, path) { _ in Int(rmdir(path)) } }
    } catch {
      guard error.code == ENOTEMPTY || error.code == EEXIST else { throw error }
    }
  }

  /// Makes the directory and those above it, for the owner alone. One that is there, or a link to one, stays as it is.
  ///
  /// - Parameter synchronizes: whether each new directory's name must survive a power cut.
  package func makeDirectory(_ path: String, synchronizes: Bool) throws(FilePersistenceError) {
    let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    do {
      _ = try call(.createDirectory, path) { _ in Int(mkdir(path, 0o700)) }
    } catch {
      switch error.code {
      case EEXIST:
        guard try inspect(path, followsLink: true)?.isDirectory == false else { return }
        throw FilePersistenceError(operation: .createDirectory, path: path, code: ENOTDIR)
      case ENOENT where !parent.isEmpty:
        try makeDirectory(parent, synchronizes: synchronizes)
        return try makeDirectory(path, synchronizes: synchronizes)
      default: throw error
      }
    }
    if synchronizes { try synchronizeName(of: path, in: parent.isEmpty ? "/" : parent) }
  }

  private func synchronizeName(of directory: String, in parent: String) throws(FilePersistenceError) {
    do {
      try synchronizeDirectory(parent)
    } catch {
      switch (error.operation, error.code) {
      // The parent may not be read, or its file system synchronises no directory: no later call could do it either.
      case (.open, EACCES), (.synchronize, EINVAL), (.synchronize, ENOTSUP): return
      default:
        // Whoever tries again must not take it for one that was synchronised.
        try? removeDirectory(directory)
        throw error
      }
    }
  }

  /// Makes what happened to the directory's names survive a power cut.
  func synchronizeDirectory(_ path: String) throws(FilePersistenceError) {
    guard let directory = try open(path) else { return }
    try directory.synchronize()
  }

  /// The status of a link itself, or of what it leads to where `followsLink`; `nil` where there is nothing.
  package func inspect(_ path: String, followsLink: Bool = false) throws(FilePersistenceError) -> FileStatus? {
    var status = stat()
    let isThere = try unlessAbsent { () throws(FilePersistenceError) in
      _ = try call(.inspect, path) { _ in Int(followsLink ? stat(path, &status) : lstat(path, &status)) }
    }
    return isThere ? FileStatus(status) : nil
  }

  /// The names in the directory that begin with `prefix`, `.` and `..` left out; none where there is no directory.
  package func list(_ path: String, prefix: String = "") throws(FilePersistenceError) -> [String] {
    var stream: DirectoryStream?
    let isThere = try unlessAbsent { () throws(FilePersistenceError) in
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
      // Of many names few are wanted at times: only these become strings.
      let name: String? = withUnsafePointer(to: &entry.pointee.d_name) {
        let name = UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self)
        return strncmp(name, prefix, prefix.utf8.count) == 0 ? String(cString: name) : nil
      }
      if let name, name != ".", name != ".." { names.append(name) }
    }
    guard errno == 0 else { throw FilePersistenceError(operation: .list, path: path, code: errno) }
    return names
  }

  @discardableResult private func unlessAbsent(
    _ body: () throws(FilePersistenceError) -> Void
  ) throws(FilePersistenceError) -> Bool {
    do {
      try body()
      return true
    } catch {
      guard error.code == ENOENT else { throw error }
      return false
    }
  }

  fileprivate func call(
    _ operation: FilePersistenceError.Operation, _ path: String, _ body: (_ atMost: Int) -> Int
  ) throws(FilePersistenceError) -> Int {
    let (result, code) = Self.uninterrupted(fault: { fault?(operation, path) }, body)
    guard code == 0 else { throw FilePersistenceError(operation: operation, path: path, code: code) }
    return result
  }

  /// Makes one call, as often as a signal interrupts it.
  ///
  /// - Parameters:
  ///   - fault: the result that a test forces on the call.
  ///   - body: gets how many bytes it may move; returns less than zero for a failure that is in `errno`.
  /// - Returns: the result of `body`, and the `errno` of its failure, or zero.
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

/// A file's descriptor, closed with it.
package struct OpenFile: ~Copyable {
  /// Less than zero once it is closed.
  package fileprivate(set) var descriptor: Int32
  let path: String
  fileprivate let system: FileSystem

  deinit { if descriptor >= 0 { closeFile(descriptor) } }

  package func status() throws(FilePersistenceError) -> FileStatus {
    var status = stat()
    _ = try system.call(.inspect, path) { _ in Int(fstat(descriptor, &status)) }
    return FileStatus(status)
  }

  /// Fills `buffer` from where the last read ended.
  ///
  /// - Returns: how many bytes there were; fewer than it holds only at the file's end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(FilePersistenceError) -> Int {
    var count = 0
    while count < buffer.count, let base = buffer.baseAddress {
      let read = try system.call(.read, path) { readFile(descriptor, base + count, min($0, buffer.count - count)) }
      if read == 0 { break }
      count += read
    }
    return count
  }

  /// The next `count` bytes, or those that are left.
  func read(_ count: Int) throws(FilePersistenceError) -> [UInt8] {
    var result: Result<Int, FilePersistenceError> = .success(0)
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      do throws(FilePersistenceError) {
        initialized = try read(into: UnsafeMutableRawBufferPointer(buffer))
      } catch {
        result = .failure(error)
      }
    }
    _ = try result.get()
    return bytes
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(FilePersistenceError) {
    var count = 0
    while count < bytes.count, let base = bytes.baseAddress {
      count += try system.call(.write, path) { writeFile(descriptor, base + count, min($0, bytes.count - count)) }
    }
  }

  /// Returns when the bytes would survive a power cut.
  func synchronize() throws(FilePersistenceError) {
    _ = try system.call(.synchronize, path) { _ in
      #if canImport(Darwin)
        // fsync(2) on Darwin leaves the bytes in the drive's cache; not every file system has F_FULLFSYNC.
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
      #endif
      return Int(fsync(descriptor))
    }
  }

  /// Sets the time of modification.
  func touch(_ time: FileTime) throws(FilePersistenceError) {
    _ = try system.call(.touch, path) { _ in Int(time.touch(descriptor)) }
  }

  /// Closes it, and says what only closing tells: some file systems report a full disk here.
  mutating func close() throws(FilePersistenceError) {
    var isClosed = false
    defer { if isClosed { descriptor = -1 } }
    _ = try system.call(.close, path) { _ in
      isClosed = true
      // After EINTR the descriptor is gone (Linux) or undefined (POSIX); closing it again could close another's.
      return closeFile(descriptor) == 0 || errno == EINTR ? 0 : -1
    }
  }
}

/// A file's size, kind, permissions and time.
package struct FileStatus {
  /// Tells one file from another that has its name later.
  package struct Identity: Equatable {
    var device: UInt64
    var number: UInt64
  }

  var size: Int
  package var isRegular: Bool
  var isDirectory: Bool
  package var isLink: Bool
  package var permissions: UInt32
  package var identity: Identity
  var modified: FileTime
}

extension FileStatus {
  fileprivate init(_ status: stat) {
    size = Int(status.st_size)
    isRegular = status.st_mode & S_IFMT == S_IFREG
    isDirectory = status.st_mode & S_IFMT == S_IFDIR
    isLink = status.st_mode & S_IFMT == S_IFLNK
    permissions = UInt32(status.st_mode & 0o7777)
    identity = Identity(
      device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(truncatingIfNeeded: status.st_ino))
    #if canImport(Darwin)
      modified = FileTime(status.st_mtimespec)
    #else
      modified = FileTime(status.st_mtim)
    #endif
  }
}

extension FileSystem {
  static var processID: Int32 { getpid() }

  /// Returns whether there is no such process: one of another user counts as there.
  static func isGone(process: Int32) -> Bool { process > 0 && kill(process, 0) != 0 && errno == ESRCH }

  static func text(of code: Int32) -> String { String(cString: strerror(code)) }

  static let isAbsent = ENOENT
  static let exists = EEXIST
  static let isTooLarge = EFBIG
  static let isInvalid = EINVAL

  /// The meaning of an `errno` for whoever chose the directory.
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

// The calls whose names the methods above have too.
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

// Where the compiler has met `timespec` through the toolchain's own module first, its members are that module's, and are seen by
// nobody who imports Glibc alone: optimized builds of Swift 6.3 depend on the order of their files for that.
#if canImport(SwiftOverlayShims)
  import SwiftOverlayShims
#endif

/// A file's time of modification, or the wall clock in the same unit.
struct FileTime: Comparable {
  /// Since 1970.
  var seconds: Int
  var nanoseconds: Int

  static var now: FileTime {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return FileTime(time)
  }

  init(_ time: timespec) {
    seconds = Int(time.tv_sec)
    nanoseconds = Int(time.tv_nsec)
  }

  var date: Date { Date(timeIntervalSince1970: Double(seconds) + Double(nanoseconds) / 1e9) }

  static func < (a: FileTime, b: FileTime) -> Bool { (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds) }

  /// Gives a file this time of access and of modification.
  ///
  /// - Returns: as `futimens`.
  func touch(_ descriptor: Int32) -> Int32 {
    var time = timespec()
    time.tv_sec = .init(seconds)
    time.tv_nsec = .init(nanoseconds)
    return futimens(descriptor, [time, time])
  }
}
