import NewsClient
import ReactorCore

struct ReadingListScreen: ResourceScreen {
  typealias Content = [ArticleSummary]

  static let name = "reading-list"

  var resource: Resource { .readingList }

  func reactor(in model: NewsModel) -> Reactor<[ArticleSummary]> { model.readingList }
}
