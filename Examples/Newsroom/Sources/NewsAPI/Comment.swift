import Foundation

/// A reader's words below an article.
struct Comment: Codable, Sendable {
  /// Given by the server: 1, 2, 3 and so on.
  var id: Int
  var article: Int
  var author: User
  var text: String
  var written: Date
  /// The client's own name for it, so that it knows it again in a list.
  var reference: String?
}

/// A comment as a client sends it.
struct NewComment: Decodable, Sendable {
  static let longest = 500

  var text: String
  var reference: String?

  /// The text without space around it.
  ///
  /// - Throws: ``Problem`` if it is empty or too long.
  var accepted: String {
    get throws {
      let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
      guard !text.isEmpty else { throw Self.refusal("A comment needs some words.") }
      guard text.count <= Self.longest else {
        throw Self.refusal("A comment has at most \(Self.longest) characters. This one has \(text.count).")
      }
      return text
    }
  }

  private static func refusal(_ detail: String) -> Problem {
    Problem(title: "The comment was not accepted.", field: "text", detail: detail)
  }
}
