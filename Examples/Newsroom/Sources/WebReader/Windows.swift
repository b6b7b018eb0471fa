import NewsClient
import ReactorCore
import ReactorLists
import Synchronization

/// The part of a browser window's state that is not in its address: how far it has scrolled, and
/// its search text.
final class Window: Sendable {
  /// The text of a search, and the number of its page.
  struct Query: Hashable, Sendable {
    var text: String
    var page: Int
  }

  private struct State {
    var list: Pages<[ArticleSummary]>?
    var query: Query?
  }

  private let state = Mutex(State())
  /// The searches of the window, starting with its first search.
  let queries: AsyncStream<Query>
  private let asked: AsyncStream<Query>.Continuation

  init() { (queries, asked) = AsyncStream.makeStream(of: Query.self, bufferingPolicy: .bufferingNewest(1)) }

  /// The front page that the window shows; `nil` on another screen.
  var list: Pages<[ArticleSummary]>? {
    get { state.withLock(\.list) }
    set { state.withLock { $0.list = newValue } }
  }

  var query: Query? { state.withLock(\.query) }

  func look(for query: Query) {
    state.withLock { $0.query = query }
    asked.yield(query)
  }

  func close() { asked.finish() }
}

/// The windows that are open, by the names that they chose.
final class Windows: Sendable {
  private let windows = Mutex<[String: Window]>([:])

  /// A window that has lost its connection comes again under its name.
  func open(_ name: String) -> Window {
    let window = Window()
    windows.withLock { $0[name] = window }
    return window
  }

  func close(_ window: Window, _ name: String) {
    window.close()
    windows.withLock { if $0[name] === window { $0[name] = nil } }
  }

  subscript(name: String?) -> Window? { name.flatMap { name in windows.withLock { $0[name] } } }
}
