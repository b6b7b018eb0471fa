public import Foundation
import HTTPCaching
public import ReactorCore

/// A feed of events that continues after each interruption (WHATWG HTML §9.2).
///
/// ```swift
/// for try await event in EventSource(backend, "events") {
///   show(event.data)
/// }
/// ```
///
/// Each iterator connects with its first `next`. After the end of a connection, the iterator waits
/// and connects again. The request names the last id (`Last-Event-ID`), so a server that remembers
/// events sends the missed ones.
///
/// | Response | Then |
/// | --- | --- |
/// | 2xx with `text/event-stream` | its events |
/// | 204 | the sequence ends |
/// | another type | an error; after an earlier success, a new attempt within 5 minutes |
/// | 401, after `Backend.authentication` has had its turn | an error |
/// | 410 | a new attempt without the id; without one, an error |
/// | 408, 425, 429, 5xx; no connection; the end of the stream | a new attempt |
/// | any other status | an error |
///
/// A network that wants a sign-in answers with a page of another type.
///
/// The wait is random, from zero to a ceiling that doubles with each failure (`RetryPolicy`). The
/// stream's `retry` is the first ceiling. Ten seconds of life reset it. A server may also end each
/// response after an event, as a long poll. Without connectivity, an attempt waits for it.
///
/// A connection that goes silent without an end counts as alive.
///
/// The request is repeated, so its resource must be safe to repeat. For one response, such as the
/// answer of a language model, use `Backend.events(for:)`.
///
/// Cancelling the task that reads ends the sequence without an error.
public struct EventSource: AsyncSequence, Sendable {
  public typealias Element = ServerSentEvent
  public typealias Failure = EventSourceError

  package let backend: Backend
  package let resource: Resource
  package let lastEventID: String
  package let retry: RetryPolicy
  package let clock: any Clock<Duration>
  package let now: @Sendable () -> Date

  /// Creates a source. Nothing is sent before it is read.
  ///
  /// - Parameters:
  ///   - backend: The server, with the middlewares of each request. Its transport must be a
  ///     `StreamingTransport`.
  ///   - resource: The resource to read. It is requested with `Accept: text/event-stream`, unless
  ///     it has the field.
  ///   - lastEventID: The id of the event to continue behind, as an earlier process has saved it.
  ///   - retry: The waits between connections.
  ///     `RetryPolicy.attempts` is the number of failures in a row, after which the last one is
  ///     thrown.
  ///   - clock: The clock behind every wait.
  ///   - now: The wall clock, for a date in `Retry-After`.
  public init(
    _ backend: Backend, _ resource: Resource, lastEventID: String = "", retry: RetryPolicy = .reconnecting,
    clock: any Clock<Duration> = ContinuousClock(), now: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.backend = backend
    self.resource = resource
    self.lastEventID = lastEventID
    self.retry = retry
    self.clock = clock
    self.now = now
  }

  /// Returns a reader, which connects by itself.
  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// The reader of a source. Its release closes the connection.
  public struct Iterator: AsyncIteratorProtocol {
    private let source: EventSource
    private let generator: SplitMix64
    private var reconnection: Reconnection
    private var connection: (items: EventStreamConnection.Items.Iterator, life: @Sendable () -> Duration)?
    private var isOver = false

    fileprivate init(_ source: EventSource) {
      self.source = source
      generator = SplitMix64(seed: source.retry.seed ?? .random(in: 0 ... .max))
      reconnection = Reconnection(source.retry, lastEventID: source.lastEventID)
    }

    /// Returns the next event; `nil` once the server has answered 204 or the task is cancelled.
    ///
    /// - Throws: the error that no new attempt would mend. The next call returns `nil`.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(EventSourceError) -> ServerSentEvent? {
      while !isOver {
        if let outcome = await step(actor) {
          switch outcome {
          case .success(let event): return event
          case .failure(let outcome): try await decide(after: outcome, actor)
          }
        }
      }
      return nil
    }

    /// Returns the next event.
    public mutating func next() async throws(EventSourceError) -> ServerSentEvent? {
      try await next(isolation: #isolation)
    }
  }
}

extension EventSource.Iterator {
  private enum Step { case success(ServerSentEvent), failure(Reconnection.Outcome) }

  /// Makes a connection, or reads an item of the present one. Returns `nil` for an item that is no
  /// event.
  private mutating func step(_ actor: isolated (any Actor)?) async -> Step? {
    guard let (reader, life) = connection else { return await connect(actor).map { .failure($0) } }
    var items = reader
    // Released at the end of the stream, before the wait.
    connection = nil
    do throws(EventSourceError) {
      guard let item = try await items.next(isolation: actor) else { return .failure(.ended(nil, life: life())) }
      connection = (items, life)
      reconnection.received(item)
      if case .event(let event) = item { return .success(event) }
      return nil
    } catch {
      return .failure(.ended(error, life: life()))
    }
  }

  /// Makes a connection. Returns its outcome if it has ended already.
  private mutating func connect(_ actor: isolated (any Actor)?) async -> Reconnection.Outcome? {
    do throws(EventSourceError) {
      let made = try await source.backend.connect(
        toEventsOf: source.resource, lastEventID: reconnection.lastEventID, clock: source.clock)
      guard made.response.status != .noContent else { return .noContent }
      reconnection.connected()
      connection = (made.items.makeAsyncIterator(), source.clock.elapsed())
      return nil
    } catch {
      return .refused(error)
    }
  }

  private mutating func decide(
    after outcome: Reconnection.Outcome, _ actor: isolated (any Actor)?
  ) async throws(EventSourceError) {
    guard !Task.isCancelled else { return isOver = true }
    var generator = generator
    let random = Double.random(in: 0...1, using: &generator)
    switch reconnection.decision(after: outcome, now: source.now(), random: random) {
    case .end: isOver = true
    case .fail(let error):
      isOver = true
      throw error
    case .reconnect(let delay):
      do { try await source.pause(for: delay) } catch { isOver = true }
    }
  }
}

extension EventSource {
  /// Waits, for connectivity too. Its return ends the wait, since a person waits for the events.
  ///
  /// - Throws: `CancellationError`.
  func pause(for delay: Duration) async throws {
    if isReachable { try await clock.sleep(for: delay) }
    guard !isReachable else { return }
    for await isReachable in backend.reachability.changes where isReachable { return }
    // A stream that ended reports no more changes.
    try Task.checkCancellation()
  }

  private var isReachable: Bool {
    WebOrigin(backend.baseURL)?.isLoopback == true || backend.reachability.isReachable
  }
}

extension Clock where Duration == Swift.Duration {
  /// Returns a closure that returns the time since this call.
  func elapsed() -> @Sendable () -> Duration {
    let start = now
    return { start.duration(to: self.now) }
  }
}
