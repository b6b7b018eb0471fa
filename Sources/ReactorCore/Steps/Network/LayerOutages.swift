import HTTPCaching
import Synchronization

/// The outages of a layer's server; see ``ReactorConfiguration/remembersOutages``.
final class LayerOutages: Sendable {
  private let table = Mutex(OutageTable<ReactorError>())
  /// A Boolean value that indicates whether a request has failed, so that a healthy server costs
  /// one load.
  private let mayFail = Atomic(false)
  private let elapsed: @Sendable () -> Duration
  private let jitter: @Sendable () -> Double

  init(_ configuration: ReactorConfiguration) {
    elapsed = configuration.clock.stopwatch()
    let generator = configuration.retry.seed.map(Generator.init)
    jitter = { generator?.next() ?? .random(in: 0...1) }
  }

  private final class Generator: Sendable {
    private let state: Mutex<SplitMix64>
    init(seed: UInt64) { state = Mutex(SplitMix64(seed: seed)) }
    func next() -> Double { state.withLock { .random(in: 0...1, using: &$0) } }
  }

  /// The time, for ``outage(of:at:)``; `nil` if there is no outage. Read it without a lock: the
  /// clock is user code.
  var now: Duration? { mayFail.load(ordering: .relaxed) ? elapsed() : nil }

  /// Returns the error of the outage that a record is part of, and whether a probe of the server is
  /// due; `nil` without an outage.
  func outage(of key: RecordKey, at now: Duration?) -> (error: ReactorError, isProbeDue: Bool)? {
    guard let now else { return nil }
    return table.withLock { table in table.error(of: key).map { ($0, table.isProbeDue(for: key, at: now)) } }
  }

  fileprivate func admit(_ key: RecordKey, isAwaited: Bool) -> OutageTable<ReactorError>.Admission {
    guard let now else { return .send }
    return table.withLock { $0.admit(key, isAwaited: isAwaited, at: now) }
  }

  fileprivate func ended(
    _ key: RecordKey, with outcome: OutageTable<ReactorError>.Outcome
  ) -> OutageTable<ReactorError>.Change? {
    if case .answered = outcome, !mayFail.load(ordering: .relaxed) { return nil }
    let (now, jitter) = (elapsed(), jitter())
    return table.withLock { table in
      let change = table.ended(key, with: outcome, at: now, jitter: jitter)
      mayFail.store(!table.isEmpty, ordering: .relaxed)
      return change
    }
  }
}

/// The part that outages play in one fetch.
final class OutageCheck: Sendable {
  /// The kind of callers that wait for the fetch.
  enum Demand: Sendable {
    /// No caller, or only callers that show a value meanwhile.
    case background
    /// A caller without a value.
    case awaited
    /// A caller under ``FetchPolicy/networkOnly``. An outage is noted, but does not stop the
    /// request.
    case insisted
  }

  private enum Phase { case notAsked, sent, unsigned, refused }

  private let outages: LayerOutages
  private let key: RecordKey
  private let demand: Demand
  private let phase = Mutex(Phase.notAsked)

  init(_ outages: LayerOutages, _ key: RecordKey, _ demand: Demand) {
    (self.outages, self.key, self.demand) = (outages, key, demand)
  }

  /// Decides about a request that is about to be sent.
  ///
  /// - Returns: `true` if it may be retried.
  /// - Throws: the error of the outage.
  func admit() throws(ReactorError) -> Bool {
    let admission = demand == .insisted ? .send : outages.admit(key, isAwaited: demand == .awaited)
    let error: ReactorError? = if case .refuse(let error) = admission { error } else { nil }
    phase.withLock { $0 = error == nil ? .sent : .refused }
    if let error { throw error }
    return if case .send = admission { true } else { false }
  }

  /// A Boolean value that indicates whether nothing was sent, because of an outage.
  var wasRefused: Bool { phase.withLock { $0 } == .refused }

  /// Notes the end of an attempt. Without a credential, it says nothing about the server: the
  /// refresh may have failed at another one.
  func attempted(_ exchange: LatestExchange) {
    phase.withLock { $0 = if case .unsigned = exchange { .unsigned } else { .sent } }
  }

  /// Notes the end of the fetch, if its request was sent.
  func ended(with error: ReactorError?) -> OutageTable<ReactorError>.Change? {
    switch phase.withLock({ $0 }) {
    case .notAsked, .refused: nil
    case .unsigned: outages.ended(key, with: .unknown)
    case .sent: outages.ended(key, with: error?.outcome ?? .answered)
    }
  }
}

extension ReactorError {
  /// The word of a failed request about its server.
  var outcome: OutageTable<ReactorError>.Outcome {
    switch self {
    case .network(let error) where RetryPolicy.mayPass(.failure(error)): .failed(self, ofConnection: true)
    case .timedOut: .failed(self, ofConnection: false)
    case .server where isNetworkFailure: .failed(self, ofConnection: false)
    // Without connectivity, ``Reachability`` watches.
    case .network, .noConnectivity, .cancelled, .notCached, .invalidResource, .authentication, .deadlock,
      .streamingUnsupported:
      .unknown
    case .server, .parser, .persistence: .answered
    }
  }
}
