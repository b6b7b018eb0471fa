import Foundation

/// The data of the demo's server: 200 articles, three of them malformed.
enum NewsAPI {
  static let articleCount = 200
  /// The indices of the malformed articles: no title, an id that is text, and an author without a
  /// name.
  static let malformed = [16, 100, 162]

  /// The articles as a JSON array.
  static let articles = Data("[\n\((0..<articleCount).map(article).joined(separator: ",\n"))\n]".utf8)
  /// The same array in `{"data": {"articles": […]}}`.
  static let envelope = Data(#"{"data": {"articles": "#.utf8) + articles + Data("}}".utf8)

  static func article(_ index: Int) -> String {
    let id = index == 100 ? #""one hundred and one""# : "\(index + 1)"
    let title = index == 16 ? "" : #""title": "Headline \#(index + 1)", "#
    let name = index == 162 ? "" : #""name": "Reporter \#(index % 12 + 1)", "#
    let author = #"{"id": \#(index % 12 + 1), \#(name)"desk": {"name": "\#(desks[index % desks.count])"}}"#
    return #"  {"id": \#(id), \#(title)"author": \#(author)}"#
  }

  private static let desks = ["World", "Science", "Culture", "Sport"]
}
