#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The file of one store's state: a line with the version, the length and a checksum, and then the
/// encoded state.
struct StateFile: Sendable {
  /// The content of a file.
  struct Content: Equatable {
    var version: Int
    var state: [UInt8]
  }

  /// A file whose content differs from what was written.
  struct Damaged: Error, CustomStringConvertible {
    var description: String { "the file is truncated, or is not the file of a store" }
  }

  /// A call of the system that failed.
  struct Refused: Error, CustomStringConvertible {
    let call: String
    let code = errno
    var description: String { "\(call) failed: \(String(cString: strerror(code))) (\(code))" }
  }

  let path: String

  /// - Parameter name: The name of the store. Characters that a file's name may not have are
  ///   encoded.
  init(directory: String, name: String) {
    path = "\(directory)/\(name.utf8.map(Self.spelled).joined()).state"
  }

  private static func spelled(_ byte: UInt8) -> String {
    let character = Character(Unicode.Scalar(byte))
    let isPlain = character.isASCII && (character.isLetter || character.isNumber || "-_".contains(character))
    return isPlain ? String(character) : "%" + String(byte, radix: 16)
  }

  /// Returns the content; `nil` if there is no file.
  ///
  /// - Throws: ``Damaged`` or ``Refused``.
  func load() throws -> Content? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw Refused(call: "open")
    }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = part.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw Refused(call: "read") }
      guard count > 0 else { return try Self.content(of: bytes) }
      bytes += part[..<count]
    }
  }

  /// Replaces the file. A crash at any moment leaves the old content or the new one, whole.
  ///
  /// - Throws: ``Refused``. The old content is then still there.
  func save(_ content: Content) throws {
    try makeDirectory()
    let new = path + ".new"
    let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Refused(call: "open") }
    do {
      defer { close(descriptor) }
      try Self.bytes(of: content).withUnsafeBytes { try Self.writeAll($0, to: descriptor) }
      guard fsync(descriptor) == 0 else { throw Refused(call: "fsync") }
    } catch {
      unlink(new)
      throw error
    }
    guard rename(new, path) == 0 else { throw Refused(call: "rename") }
  }

  /// Renames the file, so that it is not overwritten.
  ///
  /// - Returns: The new path.
  /// - Throws: ``Refused``.
  func setAside(as suffix: String) throws -> String {
    let first = "\(path).\(suffix)"
    var aside = first
    var number = 1
    while access(aside, F_OK) == 0 {
      number += 1
      aside = "\(first)-\(number)"
    }
    guard rename(path, aside) == 0 else { throw Refused(call: "rename") }
    return aside
  }

  private func makeDirectory() throws {
    var directory = ""
    for part in path.split(separator: "/").dropLast() {
      directory += directory.isEmpty && !path.hasPrefix("/") ? part : "/\(part)"
      guard mkdir(directory, 0o700) == 0 || errno == EEXIST || errno == EISDIR || access(directory, F_OK) == 0 else {
        throw Refused(call: "mkdir")
      }
    }
  }

  private static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Refused(call: "write") }
      rest = rest.dropFirst(count)
    }
  }
}

extension StateFile {
  private static let format = "reactor-store-1"

  private static func bytes(of content: Content) -> [UInt8] {
    let state = content.state
    let line = "\(format) \(content.version) \(state.count) \(checksum(of: state[...]))\n"
    return Array(line.utf8) + state
  }

  private static func content(of bytes: [UInt8]) throws -> Content {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { throw Damaged() }
    let fields = String(decoding: bytes[..<end], as: UTF8.self).split(separator: " ")
    let state = bytes[(end + 1)...]
    guard fields.count == 4, fields[0] == format, let version = Int(fields[1]), Int(fields[2]) == state.count,
      UInt64(fields[3]) == checksum(of: state)
    else { throw Damaged() }
    return Content(version: version, state: Array(state))
  }

  /// FNV-1a, which finds a file that was cut off or has changed.
  private static func checksum(of bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}
