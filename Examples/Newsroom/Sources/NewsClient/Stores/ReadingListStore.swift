public import ReactorFlux

extension Event where Payload == [ArticleSummary] {
  static var readingListChanged: Event { Event("readingListChanged") }
}

/// The articles that the user saved to read later.
public final class ReadingListStore: PlainStore {
  public let context = StoreContext()
  public private(set) var articles: [ArticleSummary] = []

  public init() {}

  public static let handlers: [ActionHandler<ReadingListStore>] = [
    .on(.readingListChanged) { store, action in
      store.articles = action.payload ?? store.articles
      store.emitChange(error: action.error)
    },
    .on(.signedOut) { store, _ in
      store.articles = []
      store.emitChange()
    },
  ]
}
