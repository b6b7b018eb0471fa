import AsyncAlgorithms
import NewsClient
import ReactorCore
import ReactorFlux
import ReactorLive
import ReactorOperators
import ReactorOutbox

/// The events that one page of the browser receives while it shows a screen.
///
/// - `session`, `readingList`, `selection`: the stores, first as they are, then each change.
/// - `dials`: how the API behaves.
/// - `power`: low-power mode.
/// - `offline`: nothing is sent.
/// - `live`: whether the changes of the API arrive.
/// - `outbox`: what the user has written and the API does not have.
/// - `state`: the load states of the screen.
/// - `comments`: the load states of an article's comments.
/// - `over`: somebody has signed in or out, and the page is to look again; it is the last.
@MainActor
struct Feed {
  typealias Events = AsyncSequence<ServerSentEvent, Never> & Sendable

  let reader: NewsReader
  let switches: Switches
  let window: Window

  func events(of screen: some Screen) -> some Events {
    let model = reader.model
    return merge(
      merge(states(of: screen, in: model), comments(of: screen, in: model), outbox(of: model)),
      merge(dials(in: model), power, offline), merge(stores, session, live(in: model)))
  }

  private func states<S: Screen>(of screen: S, in model: NewsModel) -> some Events {
    screen.states(in: model, window).map { ServerSentEvent("state", StateMessage($0, of: S.name)) }
  }

  /// Nothing, for a screen without comments.
  private func comments(of screen: some Screen, in model: NewsModel) -> some Events {
    [screen.article].compactMap(\.self).async
      .flatMap { model.comments.states(for: .comments($0), polling: .seconds(10)) }
      .map { ServerSentEvent("comments", StateMessage($0, of: "comments")) }
  }

  private func outbox(of model: NewsModel) -> some Events {
    model.layer.outbox.states.map { ServerSentEvent("outbox", ChangeMessage.list($0)) }
  }

  private func dials(in model: NewsModel) -> some Events {
    model.dials.states(for: .dials).compactMap { $0.value }.map { ServerSentEvent("dials", $0) }
  }

  private func live(in model: NewsModel) -> some Events {
    [model.layer.live].compactMap(\.self).async.flatMap { $0.statuses }.map(\.isLive).removeDuplicates()
      .map { ServerSentEvent("live", $0) }
  }

  private var power: some Events { switches.power.updates.map { ServerSentEvent("power", $0) } }

  private var offline: some Events { switches.offline.updates.map { ServerSentEvent("offline", $0) } }

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
