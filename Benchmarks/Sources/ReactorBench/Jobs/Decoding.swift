import FastJSON
import Foundation

/// `FastJSONDecoder` on texts of several shapes, and `FastJSONEncoder`. The limit is Foundation's
/// coder on the same bytes, so a ratio of 0.2 is five times as fast.
enum Decoding: Benchmark {
  static let name = "decoding"
  static let question = "JSON of several shapes into models, beside JSONDecoder"

  static func measure(_ bench: Bench) async throws {
    for (count, target) in [(20_000, 0.2), (200, 0.2), (4, 0.2)] {
      let data = try Article.json(count)
      try await compare(bench, "\(count) articles, \(size(data))", [Article].self, data, target)
    }
    try await anew(bench)
    for count in [200, 4] { try await encode(bench, count) }
    try await compare(bench, "nested, optionals, escapes", [Comment].self, try nested(400), 0.25)
    try await compare(bench, "arrays of coordinates", Track.self, try track(52_000), 0.125)
    try await compare(bench, "snake_case and ISO dates", [Delivery].self, try deliveries(6_000), 0.125) { decoder in
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      decoder.dateDecodingStrategy = .iso8601
    }
  }

  private static func compare<Model: Decodable>(
    _ bench: Bench, _ name: String, _ type: Model.Type, _ data: Data, _ target: Double,
    _ configure: (JSONDecoder) -> Void = { _ in }
  ) async throws {
    let foundation = JSONDecoder()
    configure(foundation)
    let decoder = FastJSONDecoder(foundation)
    try await bench.compare("decoding, \(name)", to: "JSONDecoder", target: .ratio(target)) { count in
      for _ in 0..<count { blackHole(try decoder.decode(type, from: data)) }
    } limit: { count in
      for _ in 0..<count { blackHole(try foundation.decode(type, from: data)) }
    }
  }

  private static func anew(_ bench: Bench) async throws {
    let data = try Article.json(4)
    try await bench.compare(
      "decoding, 4 articles, a new decoder each", to: "JSONDecoder, a new one each", target: .ratio(0.25)
    ) { count in
      for _ in 0..<count { blackHole(try FastJSONDecoder().decode([Article].self, from: data)) }
    } limit: { count in
      for _ in 0..<count { blackHole(try JSONDecoder().decode([Article].self, from: data)) }
    }
  }

  /// What is saved: sorted keys, so that the bytes are the same.
  private static func encode(_ bench: Bench, _ count: Int) async throws {
    let articles = Article.list(count)
    let foundation = JSONEncoder()
    foundation.outputFormatting = .sortedKeys
    let encoder = FastJSONEncoder(foundation)
    try await bench.compare("encoding, \(count) articles", to: "JSONEncoder", target: .ratio(0.25)) { count in
      for _ in 0..<count { blackHole(try encoder.encode(articles)) }
    } limit: { count in
      for _ in 0..<count { blackHole(try foundation.encode(articles)) }
    }
  }

  static func grow(_ growth: Growth) async throws {
    try await growth.curve("decoding", of: "articles", expected: 1, sizes: [1, 10, 100, 1_000, 20_000]) { size in
      let (decoder, data) = (FastJSONDecoder(), try Article.json(size))
      return { count in for _ in 0..<count { blackHole(try decoder.decode([Article].self, from: data)) } }
    }
    try await growth.curve("decoding, one object", of: "members", expected: 1, sizes: [100, 1_000, 10_000, 100_000]) {
      size in
      let members = (0..<size).map { "\"member\($0)\":\($0)" }.joined(separator: ",")
      let (decoder, data) = (FastJSONDecoder(), Data("{\(members)}".utf8))
      return { count in for _ in 0..<count { blackHole(try decoder.decode([String: Int].self, from: data)) } }
    }
    try await growth.curve("decoding, unions", of: "elements", expected: 1, sizes: [20, 200, 2_000, 20_000]) { size in
      let (decoder, data) = (
        FastJSONDecoder(), Data("[\(Array(repeating: "{\"id\":1}", count: size).joined(separator: ","))]".utf8)
      )
      return { count in for _ in 0..<count { blackHole(try decoder.decode([Union].self, from: data)) } }
    }
  }

  private static func size(_ data: Data) -> String {
    data.count < 1_000_000 ? "\((data.count + 500) / 1_000) KB" : "\(Table.fixed(Double(data.count) / 1e6, 1)) MB"
  }
}

// MARK: Shapes

extension Decoding {
  /// A value that is a number, a text or an object, in the order in which they are tried.
  private enum Union: Decodable {
    struct Named: Decodable { var id: Int }
    case number(Int), text(String), named(Named)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let number = try? container.decode(Int.self) {
        self = .number(number)
      } else if let text = try? container.decode(String.self) {
        self = .text(text)
      } else {
        self = .named(try container.decode(Named.self))
      }
    }
  }

  private struct Comment: Codable {
    struct Person: Codable {
      var name: String
      var mail: String?
      var picture: String?
    }

    struct Mark: Codable {
      var kind: String
      var by: Person?
    }

    var id: Int
    var text: String
    var by: Person
    var parent: Int?
    var edited: Double?
    var marks: [Mark]
    var answers: [Comment]
  }

  private static let paragraphs = """
    The river has risen again, they say, and \"nobody\" was surprised; what else would it do?\n\nIt rained for a week,
    so the meadow is a lake now.\tThe path behind the mill (C:\\path) is closed.\n
    """

  /// About 480 KB.
  private static func nested(_ count: Int) throws -> Data {
    func comment(_ id: Int, _ depth: Int) -> Comment {
      let person = Comment.Person(
        name: "Zoë \"Z\" Müller", mail: id % 2 == 0 ? "z\(id)@example.org" : nil,
        picture: id % 5 == 0 ? "https://example.org/\(id).png" : nil)
      return Comment(
        id: id, text: paragraphs + "\"\(id)\" and so on", by: person, parent: id % 3 == 0 ? id : nil,
        edited: id % 4 == 0 ? Double(id) * 0.5 : nil,
        marks: [Comment.Mark(kind: "up", by: id % 2 == 0 ? person : nil)],
        answers: depth > 0 ? [comment(id + 1, depth - 1)] : [])
    }
    return try JSONEncoder().encode((0..<count).map { comment($0, 2) })
  }

  private struct Track: Codable {
    var name: String
    var coordinates: [[Double]]
  }

  /// About 2 MB.
  private static func track(_ count: Int) throws -> Data {
    let coordinates = (0..<count).map { number -> [Double] in
      let step = Double(number)
      return [-122.419416 + step * 1.0000371e-5, 37.774929 - step * 0.9999713e-5]
    }
    return try JSONEncoder().encode(Track(name: "a way", coordinates: coordinates))
  }

  private struct Delivery: Codable {
    var orderNumber: Int
    var customerName: String
    var createdAt: Date
    var deliveredAt: Date?
    var totalPrice: Double
    var isExpress: Bool
    var shippingAddressLine: String
  }

  /// About 1.5 MB.
  private static func deliveries(_ count: Int) throws -> Data {
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    encoder.dateEncodingStrategy = .iso8601
    let deliveries = (0..<count).map { number -> Delivery in
      let created = Date(timeIntervalSince1970: 1_790_000_000 + Double(number))
      return Delivery(
        orderNumber: number, customerName: "Customer \(number)", createdAt: created,
        deliveredAt: number % 3 == 0 ? nil : created.addingTimeInterval(100_000), totalPrice: Double(number) * 0.99,
        isExpress: number % 2 == 0, shippingAddressLine: "Street \(number), 1000\(number % 10) City")
    }
    return try encoder.encode(deliveries)
  }
}
