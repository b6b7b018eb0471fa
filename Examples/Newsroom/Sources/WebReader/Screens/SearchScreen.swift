import NewsClient
import ReactorCore
import ReactorOperators

/// The results of a search. While the user keeps typing, the results of the previous text stay
/// until new ones arrive.
struct SearchScreen: Screen {
  typealias Content = ArticlePage

  static let name = "search"
  let query: Window.Query

  func states(in model: NewsModel, _ window: Window) -> some AsyncSequence<LoadState<ArticlePage>, Never> & Sendable {
    window.look(for: query)
    return window.queries.map { LoadState(value: $0) }.dependentStates(keepsPreviousValue: true) { query in
      model.searches.states(for: .search(query.text, page: query.page))
    }
  }

  func refresh(in model: NewsModel, _ window: Window?) async throws {
    let query = window?.query ?? query
    _ = try await model.searches.fetchFromNetwork(.search(query.text, page: query.page))
  }
}
