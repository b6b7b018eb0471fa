import Foundation
import Synchronization

/// The servers and records whose requests have failed, and what they failed with.
///
/// During an outage, one request at a time looks whether the server is back, and it is not retried:
/// the first after a second, then twice as late each time, up to 30 seconds. Whoever has a stale
/// value that may stand in for the failure gets it meanwhile. Whoever has none gets the error, for
/// at most a second after it happened.
///
/// A pure value, whose caller says the time. A connection that cannot be made or is lost is an
/// outage of the server at once. A status or a timeout is one of the record, and one of the server
/// after five failures in a row.
struct OutageTable: Sendable {
  /// The place of an outage.
  private enum Place: Hashable, Sendable {
    case server(Substring)
    case record(RecordKey)
  }

  private struct Outage: Sendable {
    var error: ReactorError
    let since: Duration
    var failedAt: Duration
    /// The time of the next request that looks whether the server is back.
    var nextProbe: Duration
    /// The number of requests that have failed since the outage began.
    var failedProbes = 0
    /// The time at which the request that is under way began; `nil` if none is.
    var probeBegan: Duration?

    init(_ error: ReactorError, at now: Duration, jitter: Double) {
      (self.error, since, failedAt, nextProbe) = (error, now, now, now)
      backOff(from: now, jitter)
    }

    /// Sets the time of the next probe, up to a quarter earlier so that many processes do not ask
    /// together.
    mutating func backOff(from now: Duration, _ jitter: Double) {
      let pause = min(OutageTable.longestPause, OutageTable.firstPause * (1 << min(failedProbes, 5)))
      nextProbe = now + pause * (1 - 0.25 * jitter)
    }

    /// A probe whose end nobody has reported does not keep the others away for ever.
    func isProbed(at now: Duration) -> Bool { probeBegan.map { now < $0 + OutageTable.longestPause } ?? false }
  }

  /// The answer to a request that is about to be sent.
  enum Admission: Sendable {
    /// Nothing is known to be wrong.
    case send
    /// The request is sent once, and not retried.
    case sendOnce
    case refuse(ReactorError)
  }

  static let firstPause = Duration.seconds(1)
  static let longestPause = Duration.seconds(30)
  /// The time for which a caller without a fallback gets the error of another.
  static let errorIsSharedFor = Duration.seconds(1)
  /// The number of statuses and timeouts in a row that are an outage of the server.
  static let failuresOfServer = 5
  /// The number of outages that are remembered.
  static let limit = 1_000

  private var outages: [Place: Outage] = [:]
  private var failuresInRow: [Substring: Int] = [:]

  /// A Boolean value that indicates whether no request has failed since the last success.
  var isEmpty: Bool { outages.isEmpty && failuresInRow.isEmpty }

  /// Returns the error of the outage that a record is part of; `nil` if there is none.
  func error(of key: RecordKey) -> ReactorError? { place(of: key).flatMap { outages[$0]?.error } }

  /// Returns `true` if the next request is due that looks whether the server is back.
  func isProbeDue(for key: RecordKey, at now: Duration) -> Bool {
    guard let outage = place(of: key).flatMap({ outages[$0] }) else { return false }
    return now >= outage.nextProbe && !outage.isProbed(at: now)
  }

  /// Decides about a request, which counts as under way from now on if it is sent.
  ///
  /// - Parameter isAwaited: `true` if somebody waits for the response who has no fallback.
  mutating func admit(_ key: RecordKey, isAwaited: Bool, at now: Duration) -> Admission {
    guard let place = place(of: key), var outage = outages[place] else { return .send }
    let isDue =
      isAwaited
      ? now >= outage.failedAt + Self.errorIsSharedFor
      : now >= outage.nextProbe && !outage.isProbed(at: now)
    guard isDue else { return .refuse(outage.error) }
    if !outage.isProbed(at: now) {
      outage.probeBegan = now
      outages[place] = outage
    }
    return .sendOnce
  }

  /// A change that listeners hear of.
  enum Change: Sendable, Equatable {
    case began
    /// The outage has ended after so long.
    case ended(after: Duration)
  }

  /// Notes the end of a request, after its retries.
  ///
  /// - Parameters:
  ///   - error: its failure; `nil` if there was none.
  ///   - jitter: a random number in 0...1.
  mutating func ended(_ key: RecordKey, with error: ReactorError?, at now: Duration, jitter: Double) -> Change? {
    switch error?.outcome ?? .answered {
    case .answered: answered(key, at: now)
    case .failed(let ofConnection): failed(key, error, ofConnection, at: now, jitter)
    case .unknown: abandoned(key)
    }
  }

  private mutating func answered(_ key: RecordKey, at now: Duration) -> Change? {
    guard !isEmpty else { return nil }
    let server = Self.server(of: key)
    failuresInRow[server] = nil
    let ended = [Place.server(server), .record(key)].compactMap { outages.removeValue(forKey: $0) }
    return ended.map { now - $0.since }.max().map { .ended(after: $0) }
  }

  private mutating func failed(
    _ key: RecordKey, _ error: ReactorError?, _ isOfConnection: Bool, at now: Duration, _ jitter: Double
  ) -> Change? {
    guard let error else { return nil }
    let server = Self.server(of: key)
    failuresInRow[server, default: 0] += 1
    let isOfServer = isOfConnection || failuresInRow[server] ?? 0 >= Self.failuresOfServer
    let place = place(of: key) ?? (isOfServer ? .server(server) : .record(key))
    guard var outage = outages[place] else {
      makeRoom()
      outages[place] = Outage(error, at: now, jitter: jitter)
      return .began
    }
    outage.failedProbes += 1
    (outage.error, outage.failedAt, outage.probeBegan) = (error, now, nil)
    outage.backOff(from: now, jitter)
    outages[place] = outage
    return nil
  }

  private mutating func abandoned(_ key: RecordKey) -> Change? {
    if let place = place(of: key) { outages[place]?.probeBegan = nil }
    return nil
  }

  /// The outage of a server stands before that of a record.
  private func place(of key: RecordKey) -> Place? {
    if outages.isEmpty { return nil }
    let server = Place.server(Self.server(of: key))
    if outages[server] != nil { return server }
    return outages[.record(key)] == nil ? nil : .record(key)
  }

  /// Returns scheme, host and port of the record's URL.
  private static func server(of key: RecordKey) -> Substring {
    let url = key.url
    guard let scheme = url.range(of: "://") else { return url[...] }
    return url[..<(url[scheme.upperBound...].firstIndex { "/?#".contains($0) } ?? url.endIndex)]
  }

  private mutating func makeRoom() {
    guard outages.count >= Self.limit, let oldest = outages.min(by: { $0.value.failedAt < $1.value.failedAt })
    else { return }
    outages[oldest.key] = nil
    if failuresInRow.count > Self.limit { failuresInRow = [:] }
  }
}

extension ReactorError {
  /// The word of a request about its server.
  fileprivate enum Outcome {
    case answered
    case failed(ofConnection: Bool)
    /// The request was not sent or did not end, or a middleware has failed.
    case unknown
  }

  fileprivate var outcome: Outcome {
    switch self {
    case .network(let error) where RetryPolicy.mayPass(.failure(error)): .failed(ofConnection: true)
    case .timedOut: .failed(ofConnection: false)
    case .server where isNetworkFailure: .failed(ofConnection: false)
    // Without connectivity, ``Reachability`` watches.
    case .network, .noConnectivity, .cancelled, .notCached, .invalidResource, .authentication, .deadlock: .unknown
    case .server, .parser, .persistence: .answered
    }
  }
}

/// The outages of a layer's server; see ``ReactorConfiguration/remembersOutages``.
final class LayerOutages: Sendable {
  private let table = Mutex(OutageTable())
  /// A Boolean value that indicates whether a request has failed, so that a healthy server costs
  /// one load.
  private let mayFail = Atomic(false)
  private let elapsed: @Sendable () -> Duration
  private let jitter: @Sendable () -> Double

  init(_ configuration: ReactorConfiguration) {
    elapsed = Self.stopwatch(configuration.clock)
    let generator = configuration.retry.seed.map(Generator.init)
    jitter = { generator?.next() ?? .random(in: 0...1) }
  }

  private final class Generator: Sendable {
    private let state: Mutex<SplitMix64>
    init(seed: UInt64) { state = Mutex(SplitMix64(seed: seed)) }
    func next() -> Double { state.withLock { .random(in: 0...1, using: &$0) } }
  }

  private static func stopwatch<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }

  /// The time, for ``outage(of:at:)``; `nil` if there is no outage. Read it without a lock: the
  /// clock is user code.
  var now: Duration? { mayFail.load(ordering: .relaxed) ? elapsed() : nil }

  /// Returns the error of the outage that a record is part of, and whether a request is due that
  /// looks whether the server is back; `nil` if there is no outage.
  func outage(of key: RecordKey, at now: Duration?) -> (error: ReactorError, isProbeDue: Bool)? {
    guard let now else { return nil }
    return table.withLock { table in table.error(of: key).map { ($0, table.isProbeDue(for: key, at: now)) } }
  }

  fileprivate func admit(_ key: RecordKey, isAwaited: Bool) -> OutageTable.Admission {
    guard let now else { return .send }
    return table.withLock { $0.admit(key, isAwaited: isAwaited, at: now) }
  }

  fileprivate func ended(_ key: RecordKey, with error: ReactorError?) -> OutageTable.Change? {
    if error == nil, !mayFail.load(ordering: .relaxed) { return nil }
    let (now, jitter) = (elapsed(), jitter())
    return table.withLock { table in
      let change = table.ended(key, with: error, at: now, jitter: jitter)
      mayFail.store(!table.isEmpty, ordering: .relaxed)
      return change
    }
  }
}

/// The part that outages play in one fetch.
final class OutageCheck: Sendable {
  /// Those who wait for the fetch.
  enum Demand: Sendable {
    /// The layer alone, or those who show a value meanwhile.
    case background
    /// Somebody who has no value.
    case awaited
    /// Somebody who asked for the network alone. An outage is noted, and does not matter.
    case insisted
  }

  private enum Phase { case notAsked, sent, refused }

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

  /// Notes the end of the fetch, if its request was sent.
  func ended(with error: ReactorError?) -> OutageTable.Change? {
    guard phase.withLock({ $0 }) == .sent else { return nil }
    return outages.ended(key, with: error)
  }
}
