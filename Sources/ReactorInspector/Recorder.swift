import Foundation
import ReactorCore
import ReactorLive
import Synchronization

/// The record behind an ``Inspector``: recent events, and weak references to the layers.
final class Recorder: Sendable {
  private struct Shown: Sendable {
    let id: Int
    weak var layer: ModelLayer?
    let token: ModelLayer.ObservationToken
  }

  private struct State {
    var shown: [Shown] = []
    var lastID = 0
    /// Increases with each layer that is added or deallocated.
    var revision = 0
    var ledger = Ledger()
    var flux = FluxLog()
    var hasFlux = false
  }

  private let state = Mutex(State())
  private let date: @Sendable () -> Date

  init(now: @escaping @Sendable () -> Date) { date = now }

  /// Milliseconds since 1970.
  var now: Double { date().milliseconds }

  func show(_ layer: ModelLayer) {
    let isShown = layers().layers.contains { $0.layer === layer }
    guard !isShown else { return }
    layer.live?.beginInspection()
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    let token = layer.observeEvents { [weak self] in self?.record($0, of: id) }
    state.withLock { state in
      state.shown.append(Shown(id: id, layer: layer, token: token))
      state.revision += 1
    }
  }

  private func record(_ event: ReactorEvent, of layer: Int) {
    let at = now
    state.withLock { $0.ledger.record(event, of: layer, at: at) }
  }

  func beginFlux() { state.withLock { $0.hasFlux = true } }

  func record(_ entry: FluxLog.Entry) { state.withLock { $0.flux.append(entry) } }
}

extension Recorder {
  typealias Layers = [(id: Int, layer: ModelLayer)]

  /// Returns the layers that are alive, and forgets the others.
  func layers() -> (layers: Layers, revision: Int) {
    let (layers, revision, gone) = state.withLock { state in
      let layers = state.shown.compactMap { shown in shown.layer.map { (id: shown.id, layer: $0) } }
      var gone: [Shown] = []
      if layers.count < state.shown.count {
        gone = state.shown.filter { $0.layer == nil }
        state.shown.removeAll { $0.layer == nil }
        for shown in gone { state.ledger.forget(layer: shown.id) }
        state.revision += 1
      }
      return (layers, state.revision, gone)
    }
    // Releasing a token ends its observation, which must not happen under the lock.
    withExtendedLifetime(gone) {}
    return (layers, revision)
  }

  /// Returns the key with the page's identifier `id`, or `nil` if it is no longer known.
  func subject(_ id: String) -> (subject: Subject, layer: ModelLayer)? {
    let layers = layers().layers
    let remembered = state.withLock { $0.ledger.histories.keys.first { $0.id == id } }
    for (layerID, layer) in layers {
      if let remembered, remembered.layer == layerID { return (remembered, layer) }
      let known = layer.keys.lazy.map { Subject(layer: layerID, key: $0) }
      if let subject = known.first(where: { $0.id == id }) { return (subject, layer) }
    }
    return nil
  }

  func detail(_ id: String) -> KeyDetail? {
    guard let (subject, layer) = subject(id) else { return nil }
    let history = state.withLock { $0.ledger.histories[subject] }
    return KeyDetail(subject, layer.statuses(of: [subject.key]), history, now: now)
  }
}

extension Recorder {
  /// Returns the changes since `cursor`, and advances it. Returns `nil` if nothing has changed.
  func frame(_ cursor: inout FeedCursor) -> Frame? {
    let (layers, revision) = layers()
    let isFirst = cursor.revision != revision
    if isFirst { begin(&cursor, layers, revision) } else { consume(&cursor, layers) }
    let isOffline = layers.contains { $0.layer.isOffline }
    let news = news(&cursor)
    let (writes, streams) = (writes(&cursor, layers), streams(&cursor, layers))
    let batch = cursor.consumePending(Frame.rows)
    let hasNews = !batch.isEmpty || !news.events.isEmpty || !news.actions.isEmpty
    let hasChanged = hasNews || writes != nil || streams != nil
    guard isFirst || hasChanged || isOffline != cursor.isOffline else { return nil }
    cursor.isOffline = isOffline
    return Frame(
      now: now.rounded(toTenths: ()), isFirst: isFirst, isOffline: isOffline, layers: layers.count,
      hasFlux: news.hasFlux, rows: rows(batch, layers), totals: news.totals, seconds: news.seconds,
      events: news.events, actions: news.actions, writes: writes, streams: streams)
  }

  private func begin(_ cursor: inout FeedCursor, _ layers: Layers, _ revision: Int) {
    cursor = FeedCursor()
    cursor.revision = revision
    let (remembered, number) = state.withLock { (Array($0.ledger.histories.keys), $0.ledger.lastNumber) }
    cursor.listed = number
    var known = Set(remembered)
    for (id, layer) in layers {
      // The watch begins before the listing, so a change during the listing is sent again.
      cursor.watches[id] = layer.watchKeys()
      known.formUnion(layer.keys.map { Subject(layer: id, key: $0) })
    }
    cursor.first = known.sorted { $0.key.url > $1.key.url }
  }

  private func consume(_ cursor: inout FeedCursor, _ layers: Layers) {
    for (id, layer) in layers {
      guard let watch = cursor.watches[id] else { continue }
      let changed = watch.consume() ?? layer.keys
      cursor.pending.formUnion(changed.map { Subject(layer: id, key: $0) })
    }
  }

  private struct News {
    var totals: Activity.Counts
    var seconds: [Activity.Second]
    var events: [Frame.LoggedEvent]
    var actions: [FluxLog.Entry]
    var hasFlux: Bool
  }

  /// Returns the recorded events since `cursor`, and advances it. Keys with new events get new
  /// rows, even if no memory holds them.
  private func news(_ cursor: inout FeedCursor) -> News {
    let seen = cursor
    let (entries, number, news) = state.withLock { state in
      let entries = state.ledger.all.suffix(Ledger.events) { $0.event.number > seen.event }
      let news = News(
        totals: state.ledger.activity.totals, seconds: state.ledger.activity.seconds(since: seen.second), events: [],
        actions: state.flux.since(seen.action), hasFlux: state.hasFlux)
      return (entries, state.ledger.lastNumber, news)
    }
    cursor.event = number
    cursor.action = news.actions.last?.number ?? cursor.action
    cursor.second = news.seconds.last?.at ?? cursor.second
    cursor.pending.formUnion(entries.lazy.filter { $0.event.number > seen.listed }.map(\.subject))
    var result = news
    result.events = entries.suffix(Frame.events).map { entry in
      Frame.LoggedEvent(id: entry.subject.id, key: entry.subject.key.description, event: entry.event)
    }
    return result
  }

  private func rows(_ subjects: [Subject], _ layers: Layers) -> [KeyRow] {
    let last = state.withLock { state in
      Dictionary(
        uniqueKeysWithValues: subjects.compactMap { subject in
          state.ledger.histories[subject]?.events.last.map { (subject, $0) }
        })
    }
    return layers.flatMap { id, layer in
      let own = subjects.filter { $0.layer == id }
      let statuses = Dictionary(grouping: layer.statuses(of: own.map(\.key)), by: \.key)
      return own.map { KeyRow($0, statuses[$0.key] ?? [], last: last[$0]) }
    }
  }
}
