import HTTPCaching

/// The observed keys that have changed on the server, each once, in the order of their changes.
///
/// A key that changes while it is requested is requested once more, no sooner than an interval and
/// twice the duration of its last request after the start of that one.
struct RefetchQueue: Sendable {
  /// The time from which a key may be requested, and its order among keys of the same time.
  fileprivate struct Turn: Sendable {
    var key: RecordKey
    var time: Duration
    var order: UInt64
  }

  private struct Running: Sendable {
    var startedAt: Duration
    /// It has changed since its request began.
    var isAgain = false
  }

  private let concurrency: Int
  private let interval: Duration
  private var waiting: [RecordKey: Turn] = [:]
  /// The turns of the waiting keys, and former turns of theirs. The first one is of a waiting key.
  private var turns = TurnHeap()
  private var running: [RecordKey: Running] = [:]
  /// The time before which a key is not requested again.
  private var restsUntil: [RecordKey: Duration] = [:]
  /// The number of rests from which on the ended ones are forgotten.
  private var restLimit = 64
  private var failures: [RecordKey: Int] = [:]
  /// The requests in a row that were answered by a replica that lags.
  private var lags: [RecordKey: Int] = [:]
  private var order: UInt64 = 0

  /// The waits after answers of a replica that lags. Then the key waits for its next change.
  static let lagWaits: [Duration] = [.milliseconds(250), .seconds(1), .seconds(4)]
  /// The longest wait after a request that has failed.
  static let longestWait: Duration = .seconds(60)

  init(concurrency: Int, interval: Duration) {
    self.concurrency = max(concurrency, 1)
    self.interval = interval
  }

  /// The keys that wait or are requested.
  var count: Int { waiting.count + running.count }

  /// The time at which ``next(at:)`` may return keys; `nil` if only an end can change that.
  var deadline: Duration? { running.count < concurrency ? turns.first?.time : nil }

  /// Adds keys that have changed, to be requested at `time` or later.
  mutating func add(_ keys: [RecordKey], at time: Duration) {
    for key in keys {
      (failures[key], lags[key]) = (nil, nil)
      if running[key] != nil {
        running[key]?.isAgain = true
      } else {
        insert(key, due: max(time, restsUntil[key] ?? .zero))
      }
    }
  }

  /// Lets a key wait, unless it waits for an earlier turn already.
  private mutating func insert(_ key: RecordKey, due time: Duration) {
    if let earlier = waiting[key], earlier.time <= time { return }
    order += 1
    let turn = Turn(key: key, time: time, order: order)
    waiting[key] = turn
    turns.insert(turn)
  }

  /// Begins the requests that are due.
  mutating func next(at time: Duration) -> [RecordKey] {
    var keys: [RecordKey] = []
    while running.count < concurrency, let turn = turns.first, turn.time <= time {
      running[turn.key] = Running(startedAt: time)
      remove(turn.key)
      keys.append(turn.key)
    }
    return keys
  }

  /// Ends the wait of a key.
  private mutating func remove(_ key: RecordKey) {
    waiting[key] = nil
    while let turn = turns.first, waiting[turn.key]?.order != turn.order { turns.removeFirst() }
  }

  /// Ends a request.
  ///
  /// - Parameters:
  ///   - isOutdated: `true` if what the key's streams show is still known to be out of date.
  ///   - hasFailed: `true` if the request failed in a way that may pass.
  mutating func ended(_ key: RecordKey, isOutdated: Bool, hasFailed: Bool, at time: Duration) {
    guard let run = running.removeValue(forKey: key) else { return }
    let rest = run.startedAt + max(interval, (time - run.startedAt) * 2)
    note(rest, of: key, at: time)
    guard isOutdated || run.isAgain else { return (failures[key], lags[key]) = (nil, nil) }
    guard hasFailed || !run.isAgain else {
      failures[key] = nil
      return insert(key, due: rest)
    }
    // Also where a response leaves the key out of date, and nothing has changed meanwhile.
    let count = failures[key, default: 0]
    failures[key] = count + 1
    insert(key, due: max(rest, time + min(.seconds(1 << min(count, 6)), Self.longestWait)))
  }

  /// Ends a request whose answer is from before the change: a replica of the server lags.
  ///
  /// - Returns: `false` if the key is not requested again before its next change.
  mutating func endedLagging(_ key: RecordKey, at time: Duration) -> Bool {
    guard let run = running.removeValue(forKey: key) else { return true }
    let rest = run.startedAt + max(interval, (time - run.startedAt) * 2)
    note(rest, of: key, at: time)
    failures[key] = nil
    if run.isAgain {
      insert(key, due: rest)
      return true
    }
    return waitForReplica(key, at: max(time, rest - Self.lagWaits[0]))
  }

  /// A response that the queue has not requested is from before the change of its key.
  mutating func lagged(_ key: RecordKey, at time: Duration) {
    guard running[key] == nil, waiting[key] == nil else { return }
    _ = waitForReplica(key, at: time)
  }

  private mutating func waitForReplica(_ key: RecordKey, at time: Duration) -> Bool {
    let count = lags[key, default: 0]
    guard count < Self.lagWaits.count else { return false }
    lags[key] = count + 1
    insert(key, due: time + Self.lagWaits[count])
    return true
  }

  private mutating func note(_ rest: Duration, of key: RecordKey, at time: Duration) {
    restsUntil[key] = rest
    guard restsUntil.count > restLimit else { return }
    restsUntil = restsUntil.filter { $0.value > time }
    restLimit = max(64, restsUntil.count * 2)
  }

  /// Ends the waits of keys whose last request failed.
  mutating func retryFailed(at time: Duration) {
    for key in failures.keys.sorted(by: { $0.identity < $1.identity }) where waiting[key] != nil {
      insert(key, due: max(time, restsUntil[key] ?? .zero))
    }
    failures = [:]
  }

  /// Gives up a key whose request failed for good.
  mutating func drop(_ key: RecordKey, at time: Duration) {
    let isAgain = running[key]?.isAgain == true
    (failures[key], lags[key]) = (nil, nil)
    ended(key, isOutdated: false, hasFailed: false, at: time)
    if !isAgain { remove(key) }
  }

  mutating func removeAll() {
    // A request that is under way ends by itself.
    for key in running.keys { running[key]?.isAgain = false }
    (waiting, failures, lags, restsUntil, turns) = ([:], [:], [:], [:], TurnHeap())
  }
}

/// A binary heap of turns, the earliest first.
private struct TurnHeap: Sendable {
  private var turns: [RefetchQueue.Turn] = []

  var first: RefetchQueue.Turn? { turns.first }

  mutating func insert(_ turn: RefetchQueue.Turn) {
    turns.append(turn)
    var index = turns.count - 1
    while index > 0, isBefore(index, (index - 1) / 2) {
      turns.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  mutating func removeFirst() {
    guard turns.count > 1, let last = turns.popLast() else { return turns = [] }
    turns[0] = last
    var index = 0
    while let next = [index * 2 + 1, index * 2 + 2].filter({ $0 < turns.count }).min(by: isBefore),
      isBefore(next, index)
    {
      turns.swapAt(index, next)
      index = next
    }
  }

  private func isBefore(_ a: Int, _ b: Int) -> Bool {
    (turns[a].time, turns[a].order) < (turns[b].time, turns[b].order)
  }
}
