import ReactorOutbox

/// The sequences of writes. A comment that the API refuses or delays holds no other article up.
extension Lane {
  static let readingList: Lane = "reading-list"

  static func comments(of article: Article.ID) -> Lane { Lane(rawValue: "comments/\(article)") }
}
