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
