import ReactorCore

/// The timeline of one key: what was done for it, step by step, as bars.
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
    /// `nil` while it is under way.
    var end: Double?
    var outcome: Outcome
    var label: String
  }

  /// The latest runs, oldest first.
  ///
  /// - Parameters:
  ///   - events: of one key, in order. Those of several models are several runs.
  ///   - limit: how many runs are given.
  static func runs(of events: [TimelineEvent], limit: Int = 8) -> [Run] {
    var models: [String: Waterfall] = [:]
    for event in events { models[event.model, default: Waterfall()].add(event) }
    return Array(models.values.flatMap(\.runs).sorted { $0.start < $1.start }.suffix(limit))
  }

  /// The last one is the present one.
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
    case .notModified: change(event) { $0.relabel(.network, .notModified, "304") }
    case .parsed: parse(event)
    case .saved: save(.ok, "\(event.count) bytes", event)
    case .saveFailed: save(.failed, event.reason ?? "", event)
    case .notEncoded: save(.failed, "in memory only", event)
    case .failed: finish(.failed, event.reason ?? "", event)
    case .cancelled, .superseded, .removed: finish(.cancelled, event.name.rawValue, event)
    case .progress, .pruned, .duplicateMembers, .memoryHit, .servedStale, .joined, .savedLocally, .invalidated,
      .evicted, .dropped:
      break
    }
  }
}

extension Waterfall {
  private var isRunning: Bool { runs.last?.isRunning ?? false }

  /// Of the present run; of a new one, where the first events of this were forgotten.
  private mutating func change(_ event: TimelineEvent, _ body: (inout Run) -> Void) {
    if runs.isEmpty { begin(event, at: event.at - event.duration) }
    body(&runs[runs.count - 1])
  }

  private mutating func begin(_ event: TimelineEvent, at time: Double) {
    runs.append(Run(model: event.model, start: time))
  }

  /// A caller found nothing in memory: persistence is asked. One that joins what is under way begins nothing.
  private mutating func miss(_ event: TimelineEvent) {
    guard !isRunning else { return }
    begin(event, at: event.at)
    change(event) { run in
      run.append(.memory, event.at, event.at, .miss, "miss")
      run.append(.persistence, event.at, nil, .running, "")
    }
  }

  /// Begins a step that ends with a later event: of what is under way, or of what persistence has said right before.
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

  /// What persistence has said. A stream asks it without a word of memory.
  private mutating func load(_ outcome: Outcome, _ label: String, _ event: TimelineEvent) {
    if !isRunning, runs.last.map({ $0.hasAsked || event.at - $0.latest > Run.gap }) ?? true {
      begin(event, at: event.at - event.duration)
    }
    end(.persistence, outcome, label, event)
  }

  /// Of what has just come, from wherever.
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

  /// It began when what it saves was there.
  private mutating func save(_ outcome: Outcome, _ label: String, _ event: TimelineEvent) {
    if runs.last.map({ event.at - $0.latest > Run.gap }) ?? true { begin(event, at: event.at) }
    change(event) { run in run.append(.save, run.latest, event.at, outcome, label) }
  }

  private mutating func finish(_ outcome: Outcome, _ label: String, _ event: TimelineEvent) {
    guard isRunning else { return }
    change(event) { $0.endOpen(at: event.at, outcome, label) }
  }
}
