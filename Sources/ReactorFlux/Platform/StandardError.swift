#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The standard error stream of the process.
enum StandardError {
  static func write(_ line: String) {
    var text = line + "\n"
    text.withUTF8 { bytes in _ = systemWrite(2, bytes.baseAddress, bytes.count) }
  }

  /// Needed because `write` here names the method.
  private static let systemWrite: @Sendable (Int32, UnsafeRawPointer?, Int) -> Int = { descriptor, bytes, count in
    #if canImport(Darwin)
      Darwin.write(descriptor, bytes, count)
    #elseif canImport(Glibc)
      Glibc.write(descriptor, bytes, count)
    #elseif canImport(Musl)
      Musl.write(descriptor, bytes, count)
    #elseif canImport(Android)
      Android.write(descriptor, bytes, count)
    #else
      0
    #endif
  }
}
