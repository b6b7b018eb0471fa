public import ReactorCore
import Synchronization
public import Testing

/// What happened in a layer, in order; an order that cannot be is an issue.
///
/// ```swift
/// let recorder = EventRecorder(layer)                 // before anything is fetched
/// _ = try await stories.fetch("stories")
/// #expect(recorder.names.first == .memoryMiss)
/// try await recorder.wait(for: .saved)
/// ```
///
/// For each key and model:
///
/// - A response follows a request, and progress is made only between the two. Of GET and HEAD one request is open at a time.
/// - A retry, and a failure of the exchange, follow a request.
/// - A copy is confirmed only by a response 304 to a conditional request.
/// - Elements are left out, and duplicate members found, only in what was parsed.
/// - What is saved has come with a response or was saved locally; each once. Only a local value may have no bytes.
/// - Memory evicts only what was loaded, received or saved locally before. It gives only what has
///   come so since the last removal.
/// - A local write ends a request that is under way, and says so.
///
/// Once events were lost (`ReactorEvent.Kind.dropped(_:)`), the rules are not held against the rest. The issue
/// names the rule, and shows all that happened to that key and model.
public final class EventRecorder: Sendable {
  /// What the events of a layer cannot tell.
  @nonexhaustive public enum Exception: Sendable, Hashable, CaseIterable {
    /// A reactor with steps of its own, which tell of nothing: an exchange, a save.
    case ownSteps
    /// More than one request of a key: several reactors of one model in the layer, or a GET that is marked as changing something.
    case concurrentRequests
  }

  fileprivate struct Subject: Hashable {
    let key: RecordKey
    let model: String
  }

  fileprivate struct State {
    var events: [ReactorEvent] = []
    var grammars: [Subject: EventGrammar] = [:]
    /// The count of each, for those that wait.
    var tallies: [ReactorEvent.Kind.Name: Tally] = [:]
    var token: EventToken?
    /// A Boolean value that indicates whether all events were seen: the rules hold for no less.
    var isWhole = true
  }

  private let exceptions: Set<Exception>
  private let location: SourceLocation
  private let state = Mutex(State())

  /// Observes `layer` from here on: to be made before anything is fetched.
  public convenience init(
    _ layer: ModelLayer, except exceptions: Set<Exception> = [], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    self.init(exceptions, sourceLocation)
    let token = layer.observeEvents { [weak self] in self?.add($0) }
    state.withLock { $0.token = token }
  }

  /// Observes `reactor`, and those that share its layer, from here on: to be made before anything is fetched.
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

  /// All, in the order in which they happened.
  public var events: [ReactorEvent] { state.withLock { $0.events } }
  /// Each event's kind.
  public var kinds: [ReactorEvent.Kind] { events.map(\.kind) }
  /// Each event's kind, without its associated values.
  public var names: [ReactorEvent.Kind.Name] { events.map(\.kind.name) }

  /// The number of events of this name.
  public func count(_ name: ReactorEvent.Kind.Name) -> Int { names.count { $0 == name } }

  /// Returns once `count` events of this name have happened, counted from the beginning.
  ///
  /// - Throws: `CancellationError`, at once when the task is cancelled.
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

  /// Gives what is wrong with the event, with all that led to it.
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
    return "an impossible order of events of \(event.model), \(event.key): \(problem)\n\(lines)"
  }
}
