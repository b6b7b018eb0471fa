import HTTPCaching

/// The observed keys that have changed on the server, each once, in the order of their changes.
///
/// A key that changes while it is requested is requested once more, no sooner than an interval and
/// twice the duration of its last request after the start of that one.
struct RefetchQueue: Sendable {
  private struct Waiting: Sendable {
    var due: Duration
    var order: UInt64
  }

  private struct Running: Sendable {
    var startedAt: Duration
    /// It has changed since its request began.
    var isAgain = false
  }

  private let concurrency: Int
  private let interval: Duration
  private var waiting: [RecordKey: Waiting] = [:]
  private var running: [RecordKey: Running] = [:]
  /// The time before which a key is not requested again.
  private var restsUntil: [RecordKey: Duration] = [:]
  private var failures: [RecordKey: Int] = [:]
  private var order: UInt64 = 0

  /// The longest wait after a request that has failed.
  static let longestWait: Duration = .seconds(60)

  init(concurrency: Int, interval: Duration) {
    self.concurrency = max(concurrency, 1)
    self.interval = interval
  }

  /// The keys that wait or are requested.
  var count: Int { waiting.count + running.count }

  /// The time at which ``next(at:)`` may return keys; `nil` if only an end can change that.
  var deadline: Duration? { running.count < concurrency ? waiting.values.map(\.due).min() : nil }

  /// Adds keys that have changed, to be requested at `time` or later.
  mutating func add(_ keys: [RecordKey], at time: Duration) {
    for key in keys {
      failures[key] = nil
      if running[key] != nil {
        running[key]?.isAgain = true
      } else if let earlier = waiting[key] {
        waiting[key]?.due = min(earlier.due, max(time, restsUntil[key] ?? .zero))
      } else {
        insert(key, due: max(time, restsUntil[key] ?? .zero))
      }
    }
  }

  private mutating func insert(_ key: RecordKey, due: Duration) {
    order += 1
    waiting[key] = Waiting(due: due, order: order)
  }

  /// Begins the requests that are due.
  mutating func next(at time: Duration) -> [RecordKey] {
    restsUntil = restsUntil.filter { $0.value > time }
    let free = concurrency - running.count
    guard free > 0, !waiting.isEmpty else { return [] }
    let due = waiting.filter { $0.value.due <= time }.sorted { $0.value.order < $1.value.order }.prefix(free)
    for (key, _) in due {
      waiting[key] = nil
      running[key] = Running(startedAt: time)
    }
    return due.map(\.key)
  }

  /// Ends a request.
  ///
  /// - Parameters:
  ///   - isOutdated: `true` if what the key's streams show is still known to be out of date.
  ///   - hasFailed: `true` if the request failed in a way that may pass.
  mutating func ended(_ key: RecordKey, isOutdated: Bool, hasFailed: Bool, at time: Duration) {
    guard let run = running.removeValue(forKey: key) else { return }
    let rest = run.startedAt + max(interval, (time - run.startedAt) * 2)
    restsUntil[key] = rest
    guard isOutdated || run.isAgain else { return failures[key] = nil }
    guard hasFailed || !run.isAgain else {
      failures[key] = nil
      return insert(key, due: rest)
    }
    // Also where a response leaves the key out of date, and nothing has changed meanwhile.
    let count = failures[key, default: 0]
    failures[key] = count + 1
    insert(key, due: max(rest, time + min(.seconds(1 << min(count, 6)), Self.longestWait)))
  }

  /// Ends the waits of keys whose last request failed.
  mutating func retryFailed(at time: Duration) {
    for key in failures.keys { waiting[key]?.due = max(time, restsUntil[key] ?? .zero) }
    failures = [:]
  }

  /// Gives up a key whose request failed for good.
  mutating func drop(_ key: RecordKey, at time: Duration) {
    let isAgain = running[key]?.isAgain == true
    failures[key] = nil
    ended(key, isOutdated: false, hasFailed: false, at: time)
    if !isAgain { waiting[key] = nil }
  }

  mutating func removeAll() {
    // A request that is under way ends by itself.
    for key in running.keys { running[key]?.isAgain = false }
    (waiting, failures, restsUntil) = ([:], [:], [:])
  }
}
