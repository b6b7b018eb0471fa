import Foundation

/// One file for each key: the limit for code that keeps bytes in files.
enum RawFiles {
  struct Failure: Error {
    let code: Int32
  }

  /// open, fstat, read, close.
  static func load(_ path: String) throws -> Data {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Failure(code: errno) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Failure(code: errno) }
    var data = Data(count: Int(status.st_size))
    let count = data.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
    guard count == data.count else { throw Failure(code: errno) }
    return data
  }

  /// A new file, renamed over the old one: a reader sees the one or the other.
  static func save(_ data: Data, to path: String) throws {
    let temporary = path + ".new"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Failure(code: errno) }
    let count = data.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    close(descriptor)
    guard count == data.count, rename(temporary, path) == 0 else { throw Failure(code: errno) }
  }
}
