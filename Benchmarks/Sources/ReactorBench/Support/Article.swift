import Foundation

/// A model as programs have them; about 260 bytes of JSON.
struct Article: Codable, Sendable {
  struct Author: Codable, Sendable {
    var id: Int
    var name: String
  }

  var id: Int
  var title: String
  var author: Author
  var published: Date
  var tags: [String]
  var summary: String
  var minutes: Int
  var score: Double
  var isPremium: Bool
}

extension Article {
  /// Four of them are 1 KB, 200 are 50 KB, 20,000 are 5 MB.
  static func list(_ count: Int, from first: Int = 0) -> [Article] {
    (first..<first + count).map { id in
      Article(
        id: id, title: "Article \(id): the river has risen again",
        author: Author(id: id % 97, name: "Zoë Müller \(id % 97)"),
        published: Date(timeIntervalSinceReferenceDate: 780_000_000 + Double(id) * 60.5), tags: ["local", "weather"],
        summary: "It rained for \(id % 30) days, and \"nobody\" was surprised.", minutes: 1 + id % 12,
        score: Double(id % 1000) / 8, isPremium: id.isMultiple(of: 5))
    }
  }

  static func json(_ count: Int, from first: Int = 0) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return try encoder.encode(list(count, from: first))
  }
}

/// The bodies that most jobs use.
enum Size: String, CaseIterable {
  case small = "1 KB"
  case large = "50 KB"

  var articles: Int { self == .small ? 4 : 200 }
}
