import Foundation

/// Finds the screen of a page's address: `/`, `/?before=3`, `/articles/3`, `/authors/2`,
/// `/search?q=fog`, `/reading-list`.
enum ScreenLocation {
  /// `nil`: none.
  static func screen(at location: String) -> (any Screen)? {
    guard var parts = URLComponents(string: location) else { return nil }
    // A form writes a space so (URL Standard §5.2).
    parts.percentEncodedQuery = parts.percentEncodedQuery?.replacing("+", with: "%20")
    let query = Dictionary((parts.queryItems ?? []).map { ($0.name, $0.value ?? "") }) { _, last in last }
    let page = query["page"].flatMap(Int.init) ?? 1
    switch parts.path.split(separator: "/").map(String.init) {
    case []: return FrontPageScreen(before: query["before"].flatMap(Int.init))
    case ["search"]: return SearchScreen(query: Window.Query(text: query["q"] ?? "", page: page))
    case ["reading-list"]: return ReadingListScreen()
    case let names where names.count == 2:
      guard let id = Int(names[1]) else { return nil }
      return names[0] == "articles" ? ArticleScreen(id: id) : names[0] == "authors" ? AuthorScreen(id: id) : nil
    default: return nil
    }
  }
}
