import AsyncAlgorithms
import NewsClient
import ReactorCore
import ReactorFlux
import ReactorOperators

/// All that one page of the browser is told, from the moment it looks at a screen.
///
/// - `session`, `readingList`, `selection`: the stores, first as they are, then each change.
/// - `dials`: how the API behaves.
/// - `power`: low-power mode.
/// - `state`: the load states of the screen.
/// - `over`: somebody has signed in or out, and the page is to look anew; it is the last.
@MainActor
struct Feed {
  typealias Events = AsyncSequence<ServerSentEvent, Never> & Sendable

  let reader: NewsReader
  let power: PowerSwitch

  func events(of screen: some Screen) -> some Events {
    let model = reader.model
    return merge(merge(states(of: screen, in: model), stores), merge(dials(in: model), powerSaving), session)
  }

  private func states<S: Screen>(of screen: S, in model: NewsModel) -> some Events {
    screen.states(in: model).map { ServerSentEvent("state", StateMessage($0, of: S.name)) }
  }

  private func dials(in model: NewsModel) -> some Events {
    model.dials.states(for: .dials).compactMap { $0.value }.map { ServerSentEvent("dials", $0) }
  }

  private var powerSaving: some Events { power.updates.map { ServerSentEvent("power", $0) } }

  private var stores: some Events {
    let (list, selection) = (reader.readingList, reader.selection)
    return merge(
      list.changes.map { _ in await ServerSentEvent("readingList", list.articles) }
        .startWith(ServerSentEvent("readingList", list.articles)),
      selection.changes.map { _ in await ServerSentEvent("selection", selection.article) }
        .startWith(ServerSentEvent("selection", selection.article)))
  }

  private var session: some Events {
    let store = reader.session
    let user = store.user
    return store.changes.compactMap { _ in await store.user == user ? nil : ServerSentEvent("over", true) }
      .startWith(ServerSentEvent("session", user))
  }
}
