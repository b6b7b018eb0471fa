public import ReactorCore
import Synchronization
public import Testing

/// The events of a layer, in order. An impossible order is an issue.
///
/// ```swift
/// let recorder = EventRecorder(layer)                 // before the first fetch
/// _ = try await stories.fetch("stories")
/// #expect(recorder.names.first == .memoryMiss)
/// try await recorder.wait(for: .saved)
/// ```
///
/// For each key and model:
///
/// - A response follows a request, and progress happens only between the two. GET and HEAD have one
///   request open at a time.
/// - A retry follows a request, and so does a failure of the exchange.
/// - Only a 304 response to a conditional request confirms a cached value.
/// - Elements are pruned, and duplicate members found, only in parsed bodies.
/// - A saved value was received in a response or saved locally, and each is saved once. Only a
///   local value may have no bytes.
/// - Memory evicts only values that were loaded, received or saved locally before. It returns only
///   values that arrived in these ways since the last removal.
/// - A local write ends a request in flight, with an event.
///
/// After lost events (`ReactorEvent.Kind.dropped(_:)`), the rules no longer apply. The issue names
/// the rule, and lists all events of that key and model.
public final class EventRecorder: Sendable {
  /// A property of a layer that makes rules inapplicable.
  @nonexhaustive public enum Exception: Sendable, Hashable, CaseIterable {
    /// A reactor with custom steps, which report no events for an exchange or a save.
    case ownSteps
    /// Several requests of a key at once: several reactors of one model in the layer, or a GET that
    /// is declared to change something.
    case concurrentRequests
  }

  fileprivate struct Subject: Hashable {
    let key: RecordKey
    let model: String
  }

  fileprivate struct State {
    var events: [ReactorEvent] = []
    var grammars: [Subject: EventGrammar] = [:]
    /// The number of events of each name, for the tasks that wait.
    var tallies: [ReactorEvent.Kind.Name: Tally] = [:]
    var token: ModelLayer.ObservationToken?
    /// A Boolean value that indicates whether no event was lost. Otherwise, the rules do not apply.
    var isWhole = true
  }

  private let exceptions: Set<Exception>
  private let location: SourceLocation
  private let state = Mutex(State())

  /// Starts recording the events of `layer`. Create the recorder before the first fetch.
  ///
  /// - Parameters:
  ///   - layer: The layer to observe, for as long as the recorder lives.
  ///   - exceptions: The properties of the layer that make rules inapplicable.
  ///   - sourceLocation: The location of the issues.
  public convenience init(
    _ layer: ModelLayer, except exceptions: Set<Exception> = [], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    self.init(exceptions, sourceLocation)
    let token = layer.observeEvents { [weak self] in self?.add($0) }
    state.withLock { $0.token = token }
  }

  /// Starts recording the events of `reactor`, and of the reactors that share its layer. Create the
  /// recorder before the first fetch.
  ///
  /// - Parameters:
  ///   - reactor: A reactor of the layer to observe, for as long as the recorder lives.
  ///   - exceptions: The properties of the layer that make rules inapplicable.
  ///   - sourceLocation: The location of the issues.
  public convenience init<Model>(
    _ reactor: Reactor<Model>, except exceptions: Set<Exception> = [],
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    self.init(exceptions, sourceLocation)
    let token = reactor.observeEvents { [weak self] in self?.add($0) }
    state.withLock { $0.token = token }
  }

  private init(_ exceptions: Set<Exception>, _ location: SourceLocation) {
    self.exceptions = exceptions
    self.location = location
  }

  /// All events, in order.
  public var events: [ReactorEvent] { state.withLock { $0.events } }
  /// The kind of each event, in order.
  public var kinds: [ReactorEvent.Kind] { events.map(\.kind) }
  /// The kind of each event without its associated values, in order.
  ///
  /// ```swift
  /// #expect(!recorder.names.contains(.retry))
  /// ```
  public var names: [ReactorEvent.Kind.Name] { events.map(\.kind.name) }

  /// Returns the number of events of this name.
  ///
  /// ```swift
  /// #expect(events.count(.request) == 1)
  /// ```
  public func count(_ name: ReactorEvent.Kind.Name) -> Int { names.count { $0 == name } }

  /// Returns once `count` events of this name have happened, counted from the beginning.
  ///
  /// ```swift
  /// try await events.wait(for: .retry, count: 2)
  /// ```
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  public func wait(for name: ReactorEvent.Kind.Name, count: Int = 1) async throws {
    try await state.withLock { $0.tally(name) }.wait(for: count)
  }

  private func add(_ event: ReactorEvent) {
    let (problem, tally) = state.withLock { ($0.take(event, exceptions), $0.tally(event.kind.name)) }
    if let problem { Issue.record("\(problem)", sourceLocation: location) }
    tally.add(1)
  }
}

extension EventRecorder.State {
  fileprivate mutating func tally(_ name: ReactorEvent.Kind.Name) -> Tally {
    if let tally = tallies[name] { return tally }
    let tally = Tally()
    tallies[name] = tally
    return tally
  }

  /// Records an event. Returns the rule that it violates, with all events that led to it.
  fileprivate mutating func take(_ event: ReactorEvent, _ exceptions: Set<EventRecorder.Exception>) -> String? {
    events.append(event)
    if case .dropped = event.kind { isWhole = false }
    guard isWhole else { return nil }
    let subject = EventRecorder.Subject(key: event.key, model: event.model)
    guard
      let problem = grammars[subject, default: EventGrammar(method: event.key.method, except: exceptions)]
        .take(event.kind)
    else { return nil }
    let sequence = events.filter { $0.key == event.key && $0.model == event.model }
    let lines = sequence.enumerated().map { "\($0.offset + 1). \($0.element.kind)" }.joined(separator: "\n")
    return "the last event of \(event.model), \(event.key) cannot follow the others: \(problem)\n\(lines)"
  }
}
