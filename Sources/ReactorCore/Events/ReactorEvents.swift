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

    fileprivate init(stream: AsyncStream<ReactorEvent>.AsyncIterator, missed: MissedEvents, token: EventToken) {
      self.stream = stream
      self.missed = missed
      self.token = token
    }

    mutating func next() async -> ReactorEvent? { await next(isolation: #isolation) }

    mutating func next(isolation actor: isolated (any Actor)?) async -> ReactorEvent? {
      if let event = missed.take() { return event }
      let event = await stream.next(isolation: actor)
      missed.noteTaken()
      return event
    }
  }
}

/// How many events a slow reader has lost since it was told last, and when to tell it.
private final class MissedEvents: Sendable {
  private struct State {
    var count = 0
    var last: ReactorEvent?
    /// How many buffered events come before the loss: the buffer keeps the oldest, so all that it held when it was full.
    var before = 0
  }

  private let state = Mutex(State())

  func add(_ event: ReactorEvent) {
    state.withLock { state in
      if state.count == 0 { state.before = ReactorEvents.capacity }
      state.count += 1
      state.last = event
    }
  }

  func noteTaken() {
    state.withLock { if $0.before > 0 { $0.before -= 1 } }
  }

  /// The loss, once everything before it was taken.
  func take() -> ReactorEvent? {
    state.withLock { state in
      guard state.before == 0, let last = state.last else { return nil }
      defer { state = State() }
      return ReactorEvent(key: last.key, model: last.model, kind: .dropped(state.count))
    }
  }
}
