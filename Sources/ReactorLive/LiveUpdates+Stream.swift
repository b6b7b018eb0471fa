import Foundation
import HTTPCaching
import ReactorCore
import ServerSentEvents
import Synchronization

/// The connection: its request, its events and its end.
extension LiveUpdates {
  func connect(_ number: UInt64, _ request: LiveRequest) {
    let task = TaskHandle(priority: nil)
    let old = state.withLock { state -> TaskHandle? in
      // A later change has replaced it already.
      guard state.live.connection == number else { return task }
      defer { state.connection = (task, number) }
      return state.connection?.task
    }
    old?.cancel()
    guard old !== task else { return }
    task.attach(
      spawnApart(on: executor) { [weak self, open] in
        do throws(ReactorError) {
          let response = try await open(request)
          let isStream = response.isEventStream
          let head: LiveState.Head =
            response.status == 204 ? .ended : isStream ? .stream : .other(contentType: response.contentType)
          let place = response.lastEventID
          self?.update { state, time in state.opened(number, head, behind: place, at: time) }
          guard isStream, response.status != 204 else { return }
          try await Self.read(response) { events, parser in
            self?.apply(events, parser, number)
          } unreadable: {
            self?.state.withLock { $0.live.becameUnreadable(number) }
          }
          self?.update { state, time in state.ended(number, nil, at: time) }
        } catch {
          self?.ended(number, error)
        }
      })
  }

  /// Reads a stream to its end. It retains no updates, so that their release ends it.
  private static func read(
    _ response: LiveResponse, apply: ([ServerSentEvent], EventStreamParser) -> Void, unreadable: () -> Void
  ) async throws(ReactorError) {
    // Without the place of the request, which may be of a history that is over.
    var parser = EventStreamParser()
    do {
      for try await bytes in response.body {
        var events: [ServerSentEvent] = []
        var failure: EventSourceError?
        do throws(EventSourceError) {
          try parser.feed(bytes) { (event: ServerSentEvent) in events.append(event) }
        } catch { failure = error }
        apply(events, parser)
        guard let failure else { continue }
        unreadable()
        throw failure
      }
    } catch {
      throw ReactorError(error, wrap: ReactorError.network)
    }
  }

  /// Applies the events of one piece of the stream. Changes that it tells in a row are one mark.
  private func apply(_ events: [ServerSentEvent], _ parser: EventStreamParser, _ number: UInt64) {
    var ids: Set<String> = []
    let signals = events.map { event in (signal(of: event).withoutIDs(&ids), event.id) }
    let position = parser.lastEventID
    let time = elapsed()
    state.withLock { state in
      guard state.live.connection == number else { return }
      for (signal, _) in signals { state.record.note(signal, at: time) }
    }
    update { state, time in
      if let retry = parser.retry { state.asksToWait(number, retry) }
      var actions: [LiveState.Action] = []
      for (signal, id) in signals { actions += state.received(number, signal, id: id, at: time) }
      state.heard(number, position: position, at: time)
      return actions.joined
    }
    if !ids.isEmpty { layer?.wereTold(ids) }
  }

  private func signal(of event: ServerSentEvent) -> LiveSignal {
    if let naming = mapping.naming {
      guard let reference = naming(event) else { return .gap() }
      return .changed(reader.url(reference).map { [LiveChange(url: $0, etag: nil, by: nil)] } ?? [], spread: .zero)
    }
    guard let reading = mapping.reading else { return reader.signal(of: event) }
    guard let layer else { return .nothing }
    let effects: [LiveEffect]?
    // An event that cannot be read may have named anything.
    do { effects = try reading(event) } catch { return .gap() }
    guard let effects else { return .gap() }
    var changes: [LiveChange] = []
    for effect in effects {
      guard let change = layer.change(effect) else { return .gap() }
      if let last = changes.indices.last, changes[last].join(change) { continue }
      changes.append(change)
    }
    return changes.isEmpty ? .nothing : .changed(changes, spread: .zero)
  }

  private func ended(_ number: UInt64, _ error: ReactorError) {
    var (status, pause): (Int?, Duration?) = (nil, nil)
    if case .server(let response, _) = error {
      status = response.status.code
      pause = layer.flatMap { RetryPolicy.retryAfter(in: response.headerFields, now: $0.configuration.now()) }
    }
    update { state, time in state.ended(number, error, status: status, pause: pause, at: time) }
  }
}

extension LayerContext {
  /// Returns the change that an effect tells; `nil` for a gap.
  fileprivate func change(_ effect: LiveEffect) -> LiveChange? {
    switch effect {
    case .gap: return nil
    case .stale(.resource(let resource), let etag?, let by):
      let set = set(of: [.resource(resource)])
      return set.urls.first.map { LiveChange(url: $0, etag: etag, by: by) } ?? LiveChange(set, by: by)
    case .stale(let set, _, let by): return LiveChange(self.set(of: [set]), by: by)
    case .gone(let resource, let by):
      var change = LiveChange(self.set(of: [.resource(resource)]), by: by)
      change.isGone = true
      return change
    case .value(let resource, let body, let from, let etag): return change(resource, .body(body), from, etag)
    case .merge(let resource, let patch, let from, let etag): return change(resource, .merge(patch), from, etag)
    }
  }

  private func change(_ resource: Resource, _ content: ToldValue.Content, _ from: String, _ etag: String) -> LiveChange
  {
    let set = set(of: [.resource(resource)])
    guard let url = set.urls.first else { return LiveChange(set) }
    var change = LiveChange(url: url, etag: etag, by: nil)
    change.value = ToldValue(url, content, from: from, etag: etag)
    return change
  }
}

extension [LiveState.Action] {
  /// The actions, with marks in a row made one: a burst costs one pass through memory.
  fileprivate var joined: [LiveState.Action] {
    var joined: [LiveState.Action] = []
    for action in self {
      guard case .mark(let change, let spread) = action, case .mark(var earlier, let before)? = joined.last else {
        joined.append(action)
        continue
      }
      // First removed, so that the union copies nothing.
      joined.removeLast()
      let isJoined = earlier.join(change)
      joined.append(.mark(earlier, spread: isJoined ? Swift.max(spread, before) : before))
      if !isJoined { joined.append(action) }
    }
    return joined
  }
}
