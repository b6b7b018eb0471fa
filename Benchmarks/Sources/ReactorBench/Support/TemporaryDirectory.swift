import Foundation

/// A directory on disk that is deleted with this object.
final class TemporaryDirectory: Sendable {
  let url: URL

  init() throws {
    url = URL.temporaryDirectory.appending(path: "reactor-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String) -> String { url.appending(path: name).path(percentEncoded: false) }
}
