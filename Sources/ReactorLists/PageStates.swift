public import ReactorCore

/// The states of a list: an asynchronous sequence that starts when it is iterated.
///
/// Each iterator is a subscription, which loads the first page as the policy of the list says. A
/// slow reader gets only the latest state: never an older one, and none twice. It ends when the
/// iterating task is cancelled, and the subscription also when the iterator is released.
///
/// States are yielded on the caller's executor. The sequence retains its list.
public struct PageStates<Page: Sendable>: AsyncSequence, Sendable {
  public typealias Element = LoadState<PageList<Page>>
  public typealias Failure = Never

  let pages: Pages<Page>

  /// The state of the list now. Reading it neither suspends, subscribes nor fetches.
  public var current: LoadState<PageList<Page>> { pages.current() }

  public func makeAsyncIterator() -> Iterator { Iterator(subscription: PageSubscription(pages)) }

  /// One subscription; releasing the iterator ends it.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let subscription: PageSubscription<Page>

    public mutating func next(isolation actor: isolated (any Actor)?) async -> LoadState<PageList<Page>>? {
      await subscription.next()
    }
  }
}

/// Two sequences are equal if they are of the same list.
extension PageStates: Equatable {
  public static func == (a: PageStates, b: PageStates) -> Bool { a.pages === b.pages }
}

private final class PageSubscription<Page: Sendable>: Sendable {
  private let pages: Pages<Page>
  private let id: UInt64

  init(_ pages: Pages<Page>) {
    self.pages = pages
    id = pages.subscribe()
  }

  deinit { pages.unsubscribe(id) }

  func next() async -> LoadState<PageList<Page>>? { await pages.next(id) }
}

extension LiveResource {
  /// Follows the states of a list. Its `refresh()` refreshes the list.
  ///
  /// ```swift
  /// let feed = LiveResource(posts.pages(from: "feed?limit=20"))
  /// ```
  public convenience init<Page: Sendable>(_ pages: Pages<Page>) where Model == PageList<Page> {
    self.init(pages.states) { try? await pages.refresh() }
  }
}
