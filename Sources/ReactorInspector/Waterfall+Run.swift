extension Waterfall {
  /// The steps of one flight, from the first to the last.
  struct Run: Sendable, Hashable, Encodable {
    let model: String
    /// Milliseconds since 1970.
    let start: Double
    private(set) var bars: [Bar] = []
    /// Milliseconds; `nil` while the run is in progress.
    private(set) var duration: Double? = 0

    init(model: String, start: Double) {
      self.model = model
      self.start = start
    }
  }
}

extension Waterfall.Run {
  typealias Lane = Waterfall.Lane
  typealias Outcome = Waterfall.Outcome

  /// The pause in milliseconds after which a step begins another run.
  static let gap = 1_000.0

  var isRunning: Bool { bars.contains { $0.end == nil } }
  /// A Boolean value that indicates whether the run contains a request or a save.
  var hasAsked: Bool { bars.contains { $0.lane == .network || $0.lane == .save } }
  /// The end of the latest step, in milliseconds since 1970.
  var latest: Double { start + (bars.map { $0.end ?? $0.start }.max() ?? 0) }

  /// - Parameter end: `nil` for a step in progress.
  mutating func append(_ lane: Lane, _ start: Double, _ end: Double?, _ outcome: Outcome, _ label: String) {
    let from = max(0, start - self.start)
    bars.append(
      Waterfall.Bar(
        lane: lane, start: from, end: end.map { max(from, $0 - self.start) }, outcome: outcome, label: label))
    measure()
  }

  /// Ends the open step of the lane. If its start was not recorded, the step gets the event's own
  /// duration.
  mutating func end(_ lane: Lane, _ start: Double, _ end: Double, _ outcome: Outcome, _ label: String) {
    guard let index = bars.lastIndex(where: { $0.lane == lane && $0.end == nil }) else {
      return append(lane, start, end, outcome, label)
    }
    close(index, at: end, outcome, label)
  }

  /// Ends every open step with its present outcome, or `.ok` if it was running.
  mutating func close(at time: Double) {
    for index in bars.indices where bars[index].end == nil {
      let outcome = bars[index].outcome
      close(index, at: time, outcome == .running ? .ok : outcome, bars[index].label)
    }
  }

  /// Ends every open step with the given outcome.
  mutating func endOpen(at time: Double, _ outcome: Outcome, _ label: String) {
    for index in bars.indices where bars[index].end == nil { close(index, at: time, outcome, label) }
  }

  /// Replaces the outcome and the label of the lane's latest step.
  mutating func relabel(_ lane: Lane, _ outcome: Outcome, _ label: String) {
    guard let index = bars.lastIndex(where: { $0.lane == lane }) else { return }
    bars[index].outcome = outcome
    bars[index].label = label
  }

  private mutating func close(_ index: Int, at time: Double, _ outcome: Outcome, _ label: String) {
    bars[index].end = max(bars[index].start, time - start)
    bars[index].outcome = outcome
    bars[index].label = label
    measure()
  }

  private mutating func measure() { duration = isRunning ? nil : latest - start }
}
