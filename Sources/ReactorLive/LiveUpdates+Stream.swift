import Foundation
import HTTPCaching
import ReactorCore
import ServerSentEvents
import Synchronization

/// The connection: its request, its events and its end.
extension LiveUpdates {
  func connect(_ number: UInt64, _ lastEventID: String) {
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
          let response = try await open(lastEventID)
          let isStream = response.isEventStream
          let head: LiveState.Head =
            response.status == 204 ? .ended : isStream ? .stream : .other(contentType: response.contentType)
          self?.update { state, time in state.opened(number, head, at: time) }
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
    let signals = events.map { (signal(of: $0), $0.id) }
    let position = parser.lastEventID
    update { state, time in
      if let retry = parser.retry { state.asksToWait(number, retry) }
      var actions: [LiveState.Action] = []
      for (signal, id) in signals { actions += state.received(number, signal, id: id, at: time) }
      state.heard(number, position: position, at: time)
      return actions.joined
    }
  }

  private func signal(of event: ServerSentEvent) -> LiveSignal {
    guard let reading = mapping.reading else { return reader.signal(of: event) }
    guard let layer else { return .nothing }
    let effects: [LiveEffect]?
    // An event that cannot be read may have named anything.
    do { effects = try reading(event) } catch { return .gap }
    guard let effects else { return .gap }
    var sets: [ResourceSet] = []
    for effect in effects {
      switch effect {
      case .gap: return .gap
      case .stale(let set): sets.append(set)
      }
    }
    return sets.isEmpty ? .nothing : .changed(layer.set(of: sets), spread: .zero)
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

extension [LiveState.Action] {
  /// The actions, with marks in a row made one: a burst costs one pass through memory.
  fileprivate var joined: [LiveState.Action] {
    var joined: [LiveState.Action] = []
    for action in self {
      if case .mark(let set, let spread) = action, case .mark(var earlier, let before)? = joined.last {
        // First removed, so that the union copies nothing.
        joined.removeLast()
        earlier.formUnion(set)
        joined.append(.mark(earlier, spread: Swift.max(spread, before)))
      } else {
        joined.append(action)
      }
    }
    return joined
  }
}
