import ReactorCore

/// The timeline of one key: its steps as bars.
///
/// ```
/// memory       ▏miss
/// persistence  ▐█▌ stale
/// network         ▐███▌ 503   ░░░   ▐████▌ 304
/// parsing                               ▐▌
/// save                                   ▐▌
/// ```
///
/// A pure function of the key's events: ``runs(of:limit:)``.
struct Waterfall {
  enum Lane: String, Sendable, Encodable { case memory, persistence, network, parsing, save }

  enum Outcome: String, Sendable, Encodable {
    case running, ok, miss, stale, failed, notModified, waiting, paused, cancelled
  }

  struct Bar: Sendable, Hashable, Encodable {
    let lane: Lane
    /// Milliseconds since the run began.
    let start: Double
    /// Milliseconds since the run began; `nil` while the step is in progress.
    var end: Double?
    var outcome: Outcome
    var label: String
  }

  /// Returns the latest runs, oldest first.
  ///
  /// - Parameters:
  ///   - events: The events of one key, in order. Events of different models belong to different
  ///     runs.
  ///   - limit: The maximum number of runs.
  static func runs(of events: [TimelineEvent], limit: Int = 8) -> [Run] {
    var models: [String: Waterfall] = [:]
    for event in events { models[event.model, default: Waterfall()].add(event) }
    return Array(models.values.flatMap(\.runs).sorted { $0.start < $1.start }.suffix(limit))
  }

  /// The runs of one model. The last one is the current run.
  private var runs: [Run] = []

  private mutating func add(_ event: TimelineEvent) {
    switch event.name {
    case .memoryMiss: miss(event)
    case .request: step(.network, .running, event.flag ? "conditional" : "", event)
    case .paused: step(.network, .paused, "offline", event)
    case .retry: retry(event)
    case .persistenceHit:
      load(event.flag ? .ok : .stale, event.flag ? "fresh" : "stale", event)
    case .persistenceMiss: load(.miss, "miss", event)
    case .loadFailed: load(.failed, event.reason ?? "", event)
    case .response: response(event)
    case .sharedHit:
      step(.network, .running, "", event)
      change(event) { $0.relabel(.network, .ok, "shared") }
    case .valueReceived:
      step(.network, .running, "", event)
      change(event) { $0.relabel(.network, .ok, "told") }
    case .notModified: change(event) { $0.relabel(.network, .notModified, "304") }
    case .parsed: parse(event)
    case .saved: save(.ok, "\(event.count) bytes", event)
    case .saveFailed: save(.failed, event.reason ?? "", event)
    case .notEncoded: save(.failed, "in memory only", event)
    case .failed, .failedInOutage: finish(.failed, event.reason ?? "", event)
    case .cancelled, .superseded, .removed: finish(.cancelled, event.name.rawValue, event)
    case .progress, .pruned, .duplicateMembers, .memoryHit, .servedStale, .joined, .savedLocally, .saveIsLate,
      .methodReplaced, .equivalentHit, .deprecated, .invalidated, .evicted, .outageBegan, .outageEnded, .dropped,
      .drafted, .draftEnded, .outbox, .replicaLagged:
      break
    }
  }
}

extension Waterfall {
  private var isRunning: Bool { runs.last?.isRunning ?? false }

  /// Changes the current run. Starts one if its first events are no longer recorded.
  private mutating func change(_ event: TimelineEvent, _ body: (inout Run) -> Void) {
    if runs.isEmpty { begin(event, at: event.at - event.duration) }
    body(&runs[runs.count - 1])
  }

  private mutating func begin(_ event: TimelineEvent, at time: Double) {
    runs.append(Run(model: event.model, start: time))
  }

  /// Starts a run with a memory miss and a persistence look-up. A caller that joins a flight starts
  /// nothing.
  private mutating func miss(_ event: TimelineEvent) {
    guard !isRunning else { return }
    begin(event, at: event.at)
    change(event) { run in
      run.append(.memory, event.at, event.at, .miss, "miss")
      run.append(.persistence, event.at, nil, .running, "")
    }
  }

  /// Starts a step that a later event ends. It belongs to the run in progress, or follows a
  /// persistence result that has just arrived.
  private mutating func step(_ lane: Lane, _ outcome: Outcome, _ label: String, _ event: TimelineEvent) {
    let follows = runs.last.map { event.at - $0.latest <= Run.gap && !$0.hasAsked } ?? false
    if !isRunning && !follows { begin(event, at: event.at) }
    change(event) { run in
      run.close(at: event.at)
      run.append(lane, event.at, nil, outcome, label)
    }
  }

  private mutating func end(_ lane: Lane, _ outcome: Outcome, _ label: String, _ event: TimelineEvent) {
    change(event) { $0.end(lane, event.at - event.duration, event.at, outcome, label) }
  }

  /// Ends the persistence look-up. Starts a run if no run is current, since a stream reads
  /// persistence without a memory miss.
  private mutating func load(_ outcome: Outcome, _ label: String, _ event: TimelineEvent) {
    if !isRunning, runs.last.map({ $0.hasAsked || event.at - $0.latest > Run.gap }) ?? true {
      begin(event, at: event.at - event.duration)
    }
    end(.persistence, outcome, label, event)
  }

  /// Appends the parsing of bytes that have just arrived from the network or from persistence.
  private mutating func parse(_ event: TimelineEvent) {
    let began = event.at - event.duration
    if !isRunning, runs.last.map({ began - $0.latest > Run.gap }) ?? true { begin(event, at: began) }
    end(.parsing, .ok, "\(event.count) bytes", event)
  }

  private mutating func response(_ event: TimelineEvent) {
    let outcome: Outcome = event.status == 304 ? .notModified : (200..<300).contains(event.status) ? .ok : .failed
    end(.network, outcome, "\(event.status), \(event.count) bytes", event)
  }

  private mutating func retry(_ event: TimelineEvent) {
    change(event) { run in
      run.endOpen(at: event.at, .failed, event.reason ?? "")
      run.append(.network, event.at, nil, .waiting, "attempt \(event.count) in \(Int(event.duration)) ms")
    }
  }

  /// Appends a save that starts at the end of the run's latest step.
  private mutating func save(_ outcome: Outcome, _ label: String, _ event: TimelineEvent) {
    if runs.last.map({ event.at - $0.latest > Run.gap }) ?? true { begin(event, at: event.at) }
    change(event) { run in run.append(.save, run.latest, event.at, outcome, label) }
  }

  private mutating func finish(_ outcome: Outcome, _ label: String, _ event: TimelineEvent) {
    guard isRunning else { return }
    change(event) { $0.endOpen(at: event.at, outcome, label) }
  }
}
