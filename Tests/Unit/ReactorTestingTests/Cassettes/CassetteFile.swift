import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting

/// A cassette's file in a separate directory, which is deleted with it.
final class CassetteFile: Sendable {
  private let directory = FileManager.default.temporaryDirectory.appending(path: "cassette-\(UUID().uuidString)")
  var url: URL { directory.appending(path: "folder/api.json") }

  deinit { try? FileManager.default.removeItem(at: directory) }

  var text: String {
    get throws { String(decoding: try Data(contentsOf: url), as: UTF8.self) }
  }

  func write(_ text: String) throws {
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }
}

extension Transport {
  /// Sends to `https://api.test`.
  func ask(
    _ path: String, _ method: HTTPRequest.Method = .get, fields: HTTPFields = [:], body: String? = nil
  ) async throws -> (HTTPResponse, Data) {
    let request = HTTPRequest(
      method: method, scheme: "https", authority: "api.test", path: path, headerFields: fields)
    return try await send(request, body: body.map { Data($0.utf8) }) { _ in }
  }
}

extension Cassette {
  /// Of GETs, each with its answer.
  static func of(_ answers: KeyValuePairs<String, String>) -> Cassette {
    Cassette(
      exchanges: answers.map { path, answer in
        Exchange(
          request: Request(url: "https://api.test\(path)"),
          outcome: .response(Response(status: 200, body: Data(answer.utf8))))
      })
  }
}
