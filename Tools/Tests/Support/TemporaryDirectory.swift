package import Foundation

/// A temporary directory that exists while a closure runs, and is removed afterwards.
package enum TemporaryDirectory {
  package static func use<Value>(_ body: (URL) async throws -> Value) async throws -> Value {
    let directory = FileManager.default.temporaryDirectory.appending(
      path: "reactor-test-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(
      at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(at: directory) }
    return try await body(directory)
  }
}
