import Synchronization

/// The events of a layer as a sequence. It holds at most ``capacity`` events for a slow reader; what is lost beyond that is
/// told by one ``ReactorEvent/Kind/dropped(_:)`` in its place.
///
/// Observation begins with the iterator and ends with it.
struct ReactorEvents: AsyncSequence, Sendable {
  typealias Element = ReactorEvent
  typealias Failure = Never

  static let capacity = 1_024

  let hub: EventHub

  func makeAsyncIterator() -> Iterator {
    let missed = MissedEvents()
    let (stream, continuation) = AsyncStream.makeStream(
      of: ReactorEvent.self, bufferingPolicy: .bufferingOldest(Self.capacity))
    let token = hub.observe { event in
      if case .dropped = continuation.yield(event) { missed.add(event) }
    }
    return Iterator(stream: stream.makeAsyncIterator(), missed: missed, token: token)
  }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate var stream: AsyncStream<ReactorEvent>.AsyncIterator
    fileprivate let missed: MissedEvents
    fileprivate let token: EventToken
    private var taken = 0

    fileprivate init(stream: AsyncStream<ReactorEvent>.AsyncIterator, missed: MissedEvents, token: EventToken) {
      self.stream = stream
      self.missed = missed
      self.token = token
    }

    mutating func next() async -> ReactorEvent? { await next(isolation: #isolation) }

    mutating func next(isolation actor: isolated (any Actor)?) async -> ReactorEvent? {
      // The buffer keeps the oldest, so what was lost came after everything that it held when it was full.
      if taken >= ReactorEvents.capacity, let event = missed.take() {
        taken = 0
        return event
      }
      taken += 1
      return await stream.next(isolation: actor)
    }
  }
}

/// How many events a slow reader has lost since it was told last.
private final class MissedEvents: Sendable {
  private let state = Mutex<(count: Int, last: ReactorEvent?)>((0, nil))

  func add(_ event: ReactorEvent) {
    state.withLock { $0 = ($0.count + 1, event) }
  }

  func take() -> ReactorEvent? {
    let (count, last) = state.withLock { state in
      defer { state = (0, nil) }
      return state
    }
    return last.map { ReactorEvent(key: $0.key, model: $0.model, kind: .dropped(count)) }
  }
}
