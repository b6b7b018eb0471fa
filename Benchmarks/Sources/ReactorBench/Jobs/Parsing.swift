import FastJSON
import Foundation
import ReactorCore

/// The parser beside the decoder that it uses: it finds the value at a path, can say where in the
/// bytes something is wrong, and leaves bad elements out of an array.
///
/// The limit is `FastJSONDecoder` on the same bytes; for the array with bad elements, into a type
/// that catches each element's error.
enum Parsing: Benchmark {
  static let name = "parsing"
  static let question = "5 MB of articles, whole, and pruned with 1 % bad"

  static func measure(_ bench: Bench) async throws {
    let (good, bad) = (try Article.json(20_000), try spoilt(20_000))
    let decoder = FastJSONDecoder()
    let parser = Parser<[Article]>.json()
    try expect(try parser.parse(bad).prunedCount == 200, "1 % is pruned")
    try await bench.compare(
      "parsing, \(size(good)), whole", to: "FastJSONDecoder", target: .ratio(1.05)
    ) { count in
      for _ in 0..<count { blackHole(try parser.parse(good)) }
    } limit: { count in
      for _ in 0..<count { blackHole(try decoder.decode([Article].self, from: good)) }
    }
    try await bench.compare(
      "parsing, \(size(bad)), 1 % bad, pruned", to: "FastJSONDecoder, each element's error caught", target: .ratio(1.15)
    ) { count in
      for _ in 0..<count { blackHole(try parser.parse(bad)) }
    } limit: { count in
      for _ in 0..<count { blackHole(try decoder.decode([Caught].self, from: bad).compactMap(\.article)) }
    }
  }

  static func grow(_ growth: Growth) async throws {
    let parser = Parser<[Article]>.json()
    try await growth.curve("parsing, whole", of: "articles", expected: 1, sizes: [1, 10, 100, 1_000, 20_000]) { size in
      let data = try Article.json(size)
      return { count in for _ in 0..<count { blackHole(try parser.parse(data)) } }
    }
    try await growth.curve("parsing, 1 % bad, pruned", of: "articles", expected: 1, sizes: [100, 1_000, 20_000]) {
      size in
      let data = try spoilt(size)
      return { count in for _ in 0..<count { blackHole(try parser.parse(data)) } }
    }
  }

  /// Every hundredth has a text where a number is to be.
  private static func spoilt(_ count: Int) throws -> Data {
    let good = String(decoding: try Article.json(count), as: UTF8.self)
    var text = ""
    for (index, element) in good.split(separator: "\"minutes\":", omittingEmptySubsequences: false).enumerated() {
      if index > 0 { text += index.isMultiple(of: 100) ? "\"minutes\":\"\"" : "\"minutes\":" }
      text += index.isMultiple(of: 100) && index > 0 ? element.drop { $0.isNumber } : element
    }
    return Data(text.utf8)
  }

  private static func size(_ data: Data) -> String { "\(Table.fixed(Double(data.count) / 1e6, 1)) MB" }

  private struct Caught: Decodable {
    let article: Article?

    init(from decoder: any Decoder) throws { article = try? Article(from: decoder) }
  }
}
