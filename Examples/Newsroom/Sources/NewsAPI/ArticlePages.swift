/// One page of the results of a search, by its number.
struct ArticlePage: Encodable, Sendable {
  static let size = 12

  /// The searched text, so that a client sees which query the response answers.
  var query: String
  var articles: [ArticleSummary]
  var page: Int
  var pages: Int
  var total: Int

  /// - Parameter number: beyond the last: the last; below the first: the first.
  init(_ all: [ArticleSummary], of query: String, number: Int) {
    self.query = query
    total = all.count
    pages = max(1, (all.count + Self.size - 1) / Self.size)
    page = min(max(1, number), pages)
    articles = Array(all.dropFirst((page - 1) * Self.size).prefix(Self.size))
  }
}

/// One page of the front page, by its cursor: the newest articles, or the articles before another.
///
/// The first page has 12 to 23 articles, and each later one has 12. A new article therefore changes
/// only the first page, eleven times out of twelve: the others have the same cursor, the same
/// articles and the same validator.
struct FrontPage: Sendable {
  static let size = 12

  /// The place of a page in the list.
  enum Cursor: Equatable, Sendable {
    case newest
    case before(Int)
  }

  let articles: [ArticleSummary]
  /// The page of newer articles.
  let previous: Cursor?
  /// The page of older articles.
  let next: Cursor?

  /// - Parameter withdrawn: the articles that are left out. Their cursors stay valid.
  /// - Returns: `nil` if no article has the cursor's id.
  init?(_ all: [ArticleSummary], without withdrawn: Set<Int> = [], at cursor: Cursor) {
    let newest = all.count - Self.size * max(0, all.count / Self.size - 1)
    let range: Range<Int>
    switch cursor {
    case .newest:
      range = 0..<newest
      previous = nil
    case .before(let id):
      guard let index = all.firstIndex(where: { $0.id == id }) else { return nil }
      range = index + 1..<min(all.count, index + 1 + Self.size)
      previous = index < newest ? .newest : .before(all[index - Self.size].id)
    }
    articles = all[range].filter { !withdrawn.contains($0.id) }
    next = range.upperBound < all.count ? all[range].last.map { .before($0.id) } : nil
  }
}
