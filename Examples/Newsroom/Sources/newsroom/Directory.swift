import Foundation

/// Where the reader's store is.
enum Directory {
  /// Calls `body` with `directory` or, without one, with a temporary directory that is removed afterwards.
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
}
