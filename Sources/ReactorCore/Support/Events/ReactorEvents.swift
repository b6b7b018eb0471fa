import Synchronization

/// The events of a layer as a sequence. It buffers at most ``capacity`` events for a slow reader.
/// One ``ReactorEvent/Kind/dropped(_:)`` in their place reports how many were lost beyond that.
///
/// Observation begins with the iterator and ends with it. The sequence ends when the layer and its
/// reactors are released.
struct ReactorEvents: AsyncSequence, Sendable {
  typealias Element = ReactorEvent
  typealias Failure = Never

  static let capacity = 1_024

  /// The part of the hub that does not keep the hub alive. A suspended reader would otherwise
  /// prevent the end.
  private let events: EventHub.Shared

  init(hub: EventHub) { events = hub.shared }

  func makeAsyncIterator() -> Iterator {
    let gaps = EventGaps()
    let (stream, continuation) = AsyncStream.makeStream(
      of: ReactorEvent.self, bufferingPolicy: .bufferingOldest(Self.capacity))
    let token = events.observe {
      switch continuation.yield($0) {
      case .enqueued: gaps.countEnqueued()
      case .dropped(let event): gaps.lose(event)
      default: break
      }
    } end: {
      continuation.finish()
    }
    return Iterator(stream: stream.makeAsyncIterator(), gaps: gaps, token: token)
  }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate var stream: AsyncStream<ReactorEvent>.AsyncIterator
    fileprivate let gaps: EventGaps
    fileprivate let token: ModelLayer.ObservationToken
    /// The number of events read from the stream, not counting reports of a loss.
    private var taken = 0

    fileprivate init(
      stream: AsyncStream<ReactorEvent>.AsyncIterator, gaps: EventGaps, token: ModelLayer.ObservationToken
    ) {
      self.stream = stream
      self.gaps = gaps
      self.token = token
    }

    mutating func next() async -> ReactorEvent? { await next(isolation: #isolation) }

    mutating func next(isolation actor: isolated (any Actor)?) async -> ReactorEvent? {
      // A gap follows the events that were buffered before it, so it is reported before the end.
      if let event = gaps.next(after: taken) { return event }
      taken += 1
      return await stream.next(isolation: actor)
    }
  }
}

/// The losses of a slow reader that are not reported yet. The hub's calls do not overlap.
private final class EventGaps: Sendable {
  private struct Gap {
    /// The number of events that were buffered before the gap.
    let start: Int
    var count: Int
    var last: ReactorEvent
  }

  private let state = Mutex<(kept: Int, gaps: [Gap])>((0, []))

  func countEnqueued() { state.withLock { $0.kept += 1 } }

  func lose(_ event: ReactorEvent) {
    state.withLock { state in
      var gap = Gap(start: state.kept, count: 0, last: event)
      if let open = state.gaps.last, open.start == state.kept { gap.count = state.gaps.removeLast().count }
      if case .dropped(let count) = event.kind { gap.count += count } else { gap.count += 1 }
      state.gaps.append(gap)
    }
  }

  /// Returns a report of the gap after the first `taken` buffered events; `nil` if no event was
  /// dropped there.
  func next(after taken: Int) -> ReactorEvent? {
    let gap = state.withLock { state -> Gap? in
      guard let first = state.gaps.first, first.start <= taken else { return nil }
      return state.gaps.removeFirst()
    }
    return gap.map { ReactorEvent(key: $0.last.key, model: $0.last.model, kind: .dropped($0.count)) }
  }
}
