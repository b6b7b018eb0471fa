public import ReactorFlux

extension Event where Payload == Article.ID {
  public static var articleOpened: Event { Event("articleOpened") }
}

/// The article that was opened last, in any window.
public final class SelectionStore: PlainStore {
  public let context = StoreContext()
  public private(set) var article: Article.ID?

  public init() {}

  public static let handlers: [ActionHandler<SelectionStore>] = [
    .on(.articleOpened) { store, action in store.select(action.payload) },
    .on(.signedIn) { store, action in if action.error == nil { store.select(nil) } },
    .on(.signedOut) { store, _ in store.select(nil) },
  ]

  private func select(_ article: Article.ID?) {
    guard self.article != article else { return }
    self.article = article
    emitChange()
  }
}
