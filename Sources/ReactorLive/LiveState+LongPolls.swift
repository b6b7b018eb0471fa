import ReactorCore

/// The choice between a stream and long polls, which get through what holds a response back until
/// its end.
struct LongPolls: Sendable {
  /// The streams in a row whose head or greeting did not come in time.
  private var silences = 0
  /// The time from which on a stream is tried again; `nil` while streams are used.
  private var streamsFrom: Duration?
  private var preferred: Duration = Self.longestWait
  /// The time from which on the longest wait is tried again; `nil` while it is used.
  private var shortUntil: Duration?
  /// `true` if the wait was shortened since the last answer. One outage may cost several polls.
  private var wasShortened = false
  /// `false` until the first long poll after a silence was answered.
  private var isAnswered = false

  /// The longest and the shortest time for which the server may hold an answer back.
  static let (longestWait, shortestWait): (Duration, Duration) = (.seconds(25), .seconds(5))
  /// The time after which a stream is tried again.
  static let term: Duration = .seconds(600)

  /// The time for which the next request lets the server wait; `nil` for a stream. The first answer
  /// comes at once, so that the layer knows that it has missed nothing.
  var wait: Duration? { streamsFrom == nil ? nil : isAnswered ? preferred : .zero }

  /// Notes a stream whose head or greeting did not come in time.
  ///
  /// - Returns: `true` for the second one in a row, or the first one after long polls. Long polls
  ///   are used from now on.
  mutating func fellSilent(at time: Duration) -> Bool {
    silences += 1
    guard silences > 1 else { return false }
    (streamsFrom, isAnswered) = (time + Self.term, false)
    return true
  }

  /// Notes a stream that was greeted.
  mutating func streamed() { (silences, streamsFrom) = (0, nil) }

  /// Notes an answer to a long poll. Once it is time, the next request is for a stream.
  mutating func answered(at time: Duration) {
    (isAnswered, wasShortened) = (true, false)
    if let until = shortUntil, time >= until { (preferred, shortUntil) = (Self.longestWait, nil) }
    if let from = streamsFrom, time >= from { tryStream() }
  }

  /// Notes a long poll that has failed. If it had no answer in time, the network or the server may
  /// be at fault rather than something that holds responses back, so a stream is tried after the
  /// next answer, or else after the next failure.
  ///
  /// - Parameter duration: the time from the request to its failure.
  mutating func failed(_ error: ReactorError?, after duration: Duration, at time: Duration) {
    guard let from = streamsFrom else { return }
    if time >= from { tryStream() }
    let isUnanswered = if case .timedOut? = error { true } else { false }
    // The transport, or a server between, may allow less time.
    if isAnswered, !wasShortened, isUnanswered || duration >= Self.shortestWait && error?.isOfGateway == true {
      preferred = max(preferred / 2, Self.shortestWait)
      (wasShortened, shortUntil) = (true, time + Self.term)
    }
    if isUnanswered, streamsFrom != nil { streamsFrom = time }
  }

  /// Another network may hold nothing back.
  mutating func changedNetwork() {
    (preferred, shortUntil) = (Self.longestWait, nil)
    if streamsFrom != nil { tryStream() }
  }

  private mutating func tryStream() { (silences, streamsFrom) = (1, nil) }
}

extension LiveState {
  /// A Boolean value that indicates whether the greeting of the present connection has come.
  var isGreeted: Bool { if case .open(let open) = phase { open.isGreeted } else { false } }

  /// The response is a stream, whether one was asked for or not.
  mutating func greetedStream() {
    polls.streamed()
    wait = nil
  }

  /// Gives up a connection whose head or greeting did not come in time.
  mutating func heldBack(at time: Duration) -> [Action] {
    guard isGreeting, wait == nil, polls.fellSilent(at: time), isReachable else {
      return interrupt(.timedOut, at: time)
    }
    beginGrace(at: time)
    return connect(at: time)
  }

  /// Asks again after the answer to a long poll: at once, if the server took its time and had
  /// nothing to tell. A change may concern everybody who waits, and all would ask at once.
  ///
  /// - Parameter limit: the time for which the server waits at most.
  mutating func polled(_ open: Connection, _ limit: Duration, at time: Duration) -> [Action] {
    isOfServer = true
    if open.replaysUntil == nil { liveUntil = open.heartbeat.map { open.heardAt + $0 * 2.5 } }
    polls.answered(at: time)
    // A server that has nothing to tell and does not wait is no long poll.
    let limit = min(limit, wait ?? limit)
    let isGood = open.hasEvents || wait == .zero || time - startedAt >= max(limit / 2, .seconds(1))
    if isGood { failures = 0 }
    // While a poll rests, nothing is heard.
    let rest = min(retry, .seconds(2)) * random.share()
    let next = isGood ? max(time, (open.hasEvents ? time : startedAt) + rest) : time + backoff()
    connection += 1
    phase = .waiting(until: next, nil)
    return next <= time && isReachable ? connect(at: time) : []
  }
}

extension ReactorError {
  /// A Boolean value that indicates whether something between client and server may have given up.
  fileprivate var isOfGateway: Bool {
    switch self {
    case .network: true
    case .server(let response, _): [408, 502, 504].contains(response.status.code)
    default: false
    }
  }
}
