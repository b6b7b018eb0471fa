import NewsClient
import ReactorCore
import ReactorLists

/// The front page: it loads more as the user scrolls, in both directions, and stays up to date
/// while it is visible.
struct FrontPageScreen: Screen {
  typealias Content = FrontPage

  static let name = "list"
  /// The article that the first page follows; `nil` for the newest articles.
  let before: Article.ID?

  func states(in model: NewsModel, _ window: Window) -> AsyncMapSequence<
    PageStates<[ArticleSummary]>, LoadState<FrontPage>
  > {
    let list = model.frontPage(from: before.map { .articles(before: $0) } ?? .articles)
    window.list = list
    return list.states.map { state in state.map { FrontPage($0) } }
  }

  func refresh(in model: NewsModel, _ window: Window?) async throws { try await window?.list?.refresh() }
}

/// The pages of the front page that are held, as one list.
struct FrontPage: Encodable, Sendable {
  var articles: [ArticleSummary]
  var hasOlder: Bool
  var hasNewer: Bool
  var isLoadingOlder: Bool
  var isLoadingNewer: Bool
  /// The failure of the latest attempt to load older articles.
  var olderError: String?

  init(_ list: PageList<[ArticleSummary]>) {
    articles = list.members
    hasOlder = list.hasNext
    hasNewer = list.hasPrevious
    isLoadingOlder = list.isLoadingNext
    isLoadingNewer = list.isLoadingPrevious
    olderError = list.nextError.map(ErrorText.of)
  }
}
