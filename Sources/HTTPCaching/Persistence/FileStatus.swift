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

// If the compiler has met `timespec` or `stat` first through the toolchain's own module, their
// members belong to that module. A file that imports only Glibc then does not see them. In
// optimized builds of Swift 6.3, this depends on the order of the files.
#if canImport(SwiftOverlayShims)
  import SwiftOverlayShims
#endif

/// The size, type, permissions and modification time of a file.
package struct FileStatus {
  /// The identity of a file. A later file with the same name has a different identity.
  package struct Identity: Equatable {
    var device: UInt64
    var number: UInt64
  }

  package var size: Int
  package var isRegular: Bool
  var isDirectory: Bool
  package var isLink: Bool
  package var permissions: UInt32
  package var identity: Identity
  var modified: FileTime
  private var changed: FileTime

  /// The time of the latest change of its bytes.
  package var modifiedAt: Date { modified.date }
  /// The time of the latest change of its bytes, or of its name where the file system notes that.
  package var changedAt: Date { max(modified, changed).date }
}

extension FileStatus {
  init(_ status: stat) {
    size = Int(status.st_size)
    isRegular = status.st_mode & S_IFMT == S_IFREG
    isDirectory = status.st_mode & S_IFMT == S_IFDIR
    isLink = status.st_mode & S_IFMT == S_IFLNK
    permissions = UInt32(status.st_mode & 0o7777)
    identity = Identity(
      device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(truncatingIfNeeded: status.st_ino))
    #if canImport(Darwin)
      modified = FileTime(status.st_mtimespec)
      changed = FileTime(status.st_ctimespec)
    #else
      modified = FileTime(status.st_mtim)
      changed = FileTime(status.st_ctim)
    #endif
  }
}

/// A modification time of a file, or the wall clock in the same unit.
struct FileTime: Comparable {
  /// The seconds since 1970.
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

  /// Sets the times of access and modification of an open file.
  ///
  /// - Returns: The result of `futimens`.
  func touch(_ descriptor: Int32) -> Int32 {
    var time = timespec()
    time.tv_sec = .init(seconds)
    time.tv_nsec = .init(nanoseconds)
    return futimens(descriptor, [time, time])
  }
}
