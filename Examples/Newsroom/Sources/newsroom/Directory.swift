import Foundation

/// The directory in which the API and the reader store their data for a restart.
enum Directory {
  /// Calls `body` with `directory` or, without one, with a temporary directory that is removed
  /// afterwards.
  static func use(_ directory: URL?, _ body: (URL) async throws -> Void) async throws {
    if let directory {
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      return try await body(directory)
    }
    let temporary = FileManager.default.temporaryDirectory.appending(
      path: "newsroom-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(
      at: temporary, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(at: temporary) }
    try await body(temporary)
  }

  /// One program's part of it, accessible only to its user.
  static func part(_ name: String, of directory: URL) throws -> URL {
    let part = directory.appending(path: name, directoryHint: .isDirectory)
    try FileManager.default.createDirectory(
      at: part, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    return part
  }
}
