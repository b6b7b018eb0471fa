extension Waterfall {
  /// What one flight did, from the first step to the last.
  struct Run: Sendable, Hashable, Encodable {
    let model: String
    /// Milliseconds since 1970.
    let start: Double
    private(set) var bars: [Bar] = []
    /// Milliseconds; `nil` while it is under way.
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

  /// Milliseconds after which what follows is another run.
  static let gap = 1_000.0

  var isRunning: Bool { bars.contains { $0.end == nil } }
  /// A Boolean value that indicates whether the network was asked in it, or something saved.
  var hasAsked: Bool { bars.contains { $0.lane == .network || $0.lane == .save } }
  /// Milliseconds since 1970 of the end of its last step.
  var latest: Double { start + (bars.map { $0.end ?? $0.start }.max() ?? 0) }

  /// - Parameter end: `nil` for what is under way.
  mutating func append(_ lane: Lane, _ start: Double, _ end: Double?, _ outcome: Outcome, _ label: String) {
    let from = max(0, start - self.start)
    bars.append(
      Waterfall.Bar(
        lane: lane, start: from, end: end.map { max(from, $0 - self.start) }, outcome: outcome, label: label))
    measure()
  }

  /// Ends the lane's step; one whose beginning was not told is as long as it says itself.
  mutating func end(_ lane: Lane, _ start: Double, _ end: Double, _ outcome: Outcome, _ label: String) {
    guard let index = bars.lastIndex(where: { $0.lane == lane && $0.end == nil }) else {
      return append(lane, start, end, outcome, label)
    }
    close(index, at: end, outcome, label)
  }

  /// Ends every open step as it is.
  mutating func close(at time: Double) {
    for index in bars.indices where bars[index].end == nil {
      let outcome = bars[index].outcome
      close(index, at: time, outcome == .running ? .ok : outcome, bars[index].label)
    }
  }

  /// Ends every open step so.
  mutating func endOpen(at time: Double, _ outcome: Outcome, _ label: String) {
    for index in bars.indices where bars[index].end == nil { close(index, at: time, outcome, label) }
  }

  /// What the lane's last step was, as it turns out.
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
