import ReactorCore
import ReactorLive

/// The stream of changes of one of the layers that are shown.
struct StreamRow: Sendable, Encodable {
  enum Phase: String, Sendable, Encodable { case live, catchingUp, connecting, waiting, off }

  struct Step: Sendable, Encodable {
    let number: UInt64
    /// Milliseconds since 1970.
    let at: Double
    let text: String
    let isBad: Bool
  }

  let layer: Int
  let phase: Phase
  var reason: String?
  /// The time of the next request for the stream, in milliseconds since 1970.
  let until: Double?
  let position: String
  /// The time of the last bytes, in milliseconds since 1970.
  let heardAt: Double?
  /// The longest silence that the server has announced, in milliseconds.
  let heartbeat: Double?
  /// The keys that wait for a request or are requested.
  let queued: Int
  let counts: LiveRecord.Counts
  /// The steps since the last frame, oldest first.
  let steps: [Step]

  /// - Parameter now: Milliseconds since 1970.
  init(_ report: LiveReport, layer: Int, now: Double) {
    func time(_ milliseconds: Double) -> Double { milliseconds.rounded(toTenths: ()) }
    self.layer = layer
    (phase, reason, _) = Self.words(report.status, isConnecting: report.isConnecting)
    until = report.wait.map { time(now + $0.milliseconds) }
    position = report.position
    heardAt = report.silence.map { time(now - $0.milliseconds) }
    heartbeat = report.heartbeat.map { time($0.milliseconds) }
    (queued, counts) = (report.queued, report.counts)
    steps = report.steps.map { step, age in
      let (text, isBad) = Self.words(step.kind)
      return Step(number: step.number, at: time(now - age.milliseconds), text: text, isBad: isBad)
    }
  }

  private static func words(_ status: LiveStatus, isConnecting: Bool) -> (Phase, reason: String?, isBad: Bool) {
    switch status {
    case .live: (.live, nil, false)
    case .catchingUp: (isConnecting ? .connecting : .catchingUp, nil, false)
    case .interrupted(let error): (.waiting, error.map(Reason.text) ?? "the server has ended the stream", error != nil)
    case .off(.notObserved): (.off, "nothing is observed", false)
    case .off(.background): (.off, "the app is in the background", false)
    case .off(.ended): (.off, "the server has ended the stream for good (204)", true)
    case .off(.authentication): (.off, "the server refuses the credential", true)
    case .off(.refused(let error)), .off(.unavailable(let error)): (.off, Reason.text(error), true)
    case .off(.notAnEventStream(let type)):
      (.off, "the response is \(type ?? "of no type"), not text/event-stream", true)
    }
  }

  private static func words(_ kind: LiveRecord.Step.Kind) -> (text: String, isBad: Bool) {
    switch kind {
    case .connecting(let isBehind): return (isBehind ? "connects, behind its position" : "connects", false)
    case .status(let status):
      let (phase, reason, isBad) = words(status, isConnecting: false)
      return (phase.text + (reason.map { ": \($0)" } ?? ""), isBad)
    case .hello(let isResumed):
      return ("hello: the server \(isResumed ? "continues" : "does not continue") behind the position", false)
    case .changed(let name, let others):
      return ("changed: \(name)" + (others > 0 ? " and \(others) more" : ""), false)
    case .reset: return ("an event that tells of missed changes, or cannot be read", true)
    case .bye: return ("bye: the server is about to end the stream", false)
    case .ignored: return ("an event that concerns nothing here", false)
    case .gap: return ("gap: all that the stream covers is stale", false)
    case .lagged(let key): return ("a replica has answered with an earlier version of \(key)", true)
    }
  }
}

extension StreamRow.Phase {
  fileprivate var text: String { self == .catchingUp ? "catching up" : rawValue }
}

extension Recorder {
  /// Returns the streams of changes if one has changed since `cursor`, and advances it.
  func streams(_ cursor: inout FeedCursor, _ layers: Layers) -> [StreamRow]? {
    // The versions are read before the reports, so a change in between is sent next time.
    let versions = layers.map(\.layer.live?.version)
    guard versions != cursor.streamVersions else { return nil }
    cursor.streamVersions = versions
    return layers.compactMap { id, layer in
      guard let live = layer.live else { return nil }
      let row = StreamRow(live.report(since: cursor.streamSteps[id] ?? 0), layer: id, now: now)
      cursor.streamSteps[id] = row.steps.last?.number ?? cursor.streamSteps[id]
      return row
    }
  }
}
