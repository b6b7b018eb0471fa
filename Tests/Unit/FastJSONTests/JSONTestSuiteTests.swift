import FastJSON
import Foundation
import Testing

/// Nicolas Seriot's JSONTestSuite: a parser must accept `y_`, must refuse `n_`, and may do either
/// with `i_`.
private enum Corpus {
  /// The environment's `JSON_TEST_SUITE`, or `shared/json-test-suite` in a folder around this file,
  /// or beside one.
  static let directory: URL? = {
    let manager = FileManager.default
    if let path = ProcessInfo.processInfo.environment["JSON_TEST_SUITE"], manager.fileExists(atPath: path) {
      return URL(fileURLWithPath: path)
    }
    var folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    while folder.path.count > 1 {
      let candidate = folder.appendingPathComponent("shared/json-test-suite")
      if manager.fileExists(atPath: candidate.path) { return candidate }
      folder.deleteLastPathComponent()
    }
    return nil
  }()

  static func files(_ prefix: String) -> [String] {
    guard let path = directory?.path else { return [] }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return names.filter { $0.hasPrefix(prefix) && $0.hasSuffix(".json") }.sorted()
  }

  static func data(_ name: String) throws -> Data {
    let folder = try #require(directory)
    return try Data(contentsOf: folder.appendingPathComponent(name))
  }
}

private let isMissing: Comment = "no shared/json-test-suite above this file, and no JSON_TEST_SUITE"

@Suite(.enabled(if: Corpus.directory != nil, isMissing)) struct `JSONTestSuite` {
  @Test func `JSONTestSuite is complete`() {
    #expect(Corpus.files("y_").count == 95)
    #expect(Corpus.files("n_").count == 188)
    #expect(Corpus.files("i_").count == 35)
  }

  @Test(arguments: Corpus.files("y_")) func `valid texts are accepted`(name: String) throws {
    let data = try Corpus.data(name)
    _ = try FastJSONDecoder().decode(AnyJSON.self, from: data)
    _ = try? FastJSONDecoder().decode(Nothing.self, from: data)
    // Foundation refuses 0e1 as a Double.
    guard !name.contains("duplicated"), name != "y_number_0e1.json" else { return }
    let expected = try JSONDecoder().decode(AnyJSON.self, from: data)
    #expect(try FastJSONDecoder().decode(AnyJSON.self, from: data) == expected)
  }

  @Test(arguments: Corpus.files("n_")) func `invalid texts are refused, whether or not a model reads them`(name: String)
    throws
  {
    let bytes = Array(try Corpus.data(name))
    #expect(isRefused(AnyJSON.self, bytes: bytes))
    #expect(isRefused(Nothing.self, bytes: bytes))
  }

  @Test(arguments: Corpus.files("i_")) func `undefined texts do not crash`(name: String) throws {
    let data = try Corpus.data(name)
    let isSame = try onLargeStack {
      let first = try? FastJSONDecoder().decode(AnyJSON.self, from: data)
      let second = try? FastJSONDecoder().decode(AnyJSON.self, from: data)
      return first == second
    }
    #expect(isSame)
  }

  @Test func `one decoder reads all of it`() throws {
    let decoder = FastJSONDecoder()
    for name in Corpus.files("n_") + Corpus.files("y_") {
      let data = try Corpus.data(name)
      let isAccepted = (try? decoder.decode(AnyJSON.self, from: data)) != nil
      #expect(isAccepted == name.hasPrefix("y_"), "\(name)")
    }
  }
}
