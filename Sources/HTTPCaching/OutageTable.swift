import Foundation

/// The servers and records whose requests have failed, and what they failed with.
///
/// ```swift
/// var outages = OutageTable<URLError>()
/// let isDown = URLError(.cannotConnectToHost)
/// _ = outages.ended(key, with: .failed(isDown, ofConnection: true), at: now, jitter: 0.5)
/// if case .refuse(let error) = outages.admit(key, isAwaited: true, at: now) { throw error }
/// ```
///
/// For a cache in front of a server that may be down: ask ``admit(_:isAwaited:at:)`` before a
/// request is sent, and report each outcome to ``ended(_:with:at:jitter:)``.
///
/// During an outage, one request at a time checks whether the server is back, with exponential
/// backoff from one second up to 30. It is not retried. Callers that accept a stale value on
/// failure get it meanwhile. Callers without one get the error, for at most a second after it
/// happened.
///
/// A pure value, whose caller says the time. A connection that cannot be made or is lost is an
/// outage of the server at once. A status or a timeout is one of the record, and one of the server
/// after five failures in a row.
public struct OutageTable<Failure: Error>: Sendable {
  /// The place of an outage.
  private enum Place: Hashable, Sendable {
    case server(String)
    /// The digest of a key, so that the length of a URL does not count.
    case record(String)
  }

  private struct Outage: Sendable {
    var error: Failure
    let since: Duration
    var failedAt: Duration
    /// The time of the next request that looks whether the server is back.
    var nextProbe: Duration
    /// The number of requests that have failed since the outage began.
    var failedProbes = 0
    /// The time at which the request that is under way began; `nil` if no request is under way.
    var probeBegan: Duration?

    init(_ error: Failure, at now: Duration, jitter: Double) {
      (self.error, since, failedAt, nextProbe) = (error, now, now, now)
      backOff(from: now, jitter)
    }

    /// Sets the time of the next probe, up to a quarter earlier so that many processes do not ask
    /// together.
    mutating func backOff(from now: Duration, _ jitter: Double) {
      let pause = min(OutageLimits.longestPause, OutageLimits.firstPause * (1 << min(failedProbes, 5)))
      nextProbe = now + pause * (1 - 0.25 * jitter)
    }

    /// A probe whose outcome was never reported does not block other probes for ever.
    func isProbed(at now: Duration) -> Bool { probeBegan.map { now < $0 + OutageLimits.longestPause } ?? false }
  }

  /// The answer to a request that is about to be sent.
  public indirect enum Admission: Sendable {
    /// Nothing is known to be wrong.
    case send
    /// The request is sent once, and not retried.
    case sendOnce
    /// The server is known to fail. The request is not sent.
    case refuse(Failure)
  }

  private var outages: [Place: Outage] = [:]
  private var failuresInRow: [String: Int] = [:]

  /// Creates a table that knows of no failure.
  public init() {}

  /// A Boolean value that indicates whether no request has failed since the last success.
  public var isEmpty: Bool { outages.isEmpty && failuresInRow.isEmpty }

  /// Returns the error of the outage that affects a record; `nil` if its server is not known to be
  /// down.
  public func error(of key: RecordKey) -> Failure? { place(of: key).flatMap { outages[$0]?.error } }

  /// Returns `true` if the next probe of the server is due.
  public func isProbeDue(for key: RecordKey, at now: Duration) -> Bool {
    guard let outage = place(of: key).flatMap({ outages[$0] }) else { return false }
    return now >= outage.nextProbe && !outage.isProbed(at: now)
  }

  /// Decides about a request, which counts as under way from now on if it is sent.
  ///
  /// - Parameters:
  ///   - key: The record that the request is for.
  ///   - isAwaited: `true` if a caller without a fallback waits for the response.
  ///   - now: The time, from any start.
  public mutating func admit(_ key: RecordKey, isAwaited: Bool, at now: Duration) -> Admission {
    guard let place = place(of: key), var outage = outages[place] else { return .send }
    let isDue =
      isAwaited
      ? now >= outage.failedAt + OutageLimits.errorIsSharedFor
      : now >= outage.nextProbe && !outage.isProbed(at: now)
    guard isDue else { return .refuse(outage.error) }
    if !outage.isProbed(at: now) {
      outage.probeBegan = now
      outages[place] = outage
    }
    return .sendOnce
  }

  /// A change that is reported.
  public enum Change: Sendable, Equatable {
    /// An outage has begun.
    case began
    /// The outage ended after this time.
    case ended(after: Duration)
  }

  /// The end of a request.
  public indirect enum Outcome: Sendable {
    /// The server answered, and works.
    case answered
    /// There was no connection, it was lost, or the server answered with a failure that may pass.
    case failed(Failure, ofConnection: Bool)
    /// The request was not sent, or its last waiter left.
    case unknown
  }

  /// Records the outcome of a request, after its retries.
  ///
  /// - Parameters:
  ///   - key: The record that the request was for.
  ///   - outcome: The end.
  ///   - now: The time, from any start.
  ///   - jitter: A random number in 0...1.
  public mutating func ended(
    _ key: RecordKey, with outcome: Outcome, at now: Duration, jitter: Double
  ) -> Change? {
    switch outcome {
    case .answered: answered(key, at: now)
    case .failed(let error, let isOfConnection): failed(key, error, isOfConnection, at: now, jitter)
    case .unknown: abandoned(key)
    }
  }

  private mutating func answered(_ key: RecordKey, at now: Duration) -> Change? {
    guard !isEmpty else { return nil }
    let server = Self.server(of: key)
    failuresInRow[server] = nil
    let ended = [Place.server(server), .record(key.digest)].compactMap { outages.removeValue(forKey: $0) }
    return ended.map { now - $0.since }.max().map { .ended(after: $0) }
  }

  private mutating func failed(
    _ key: RecordKey, _ error: Failure, _ isOfConnection: Bool, at now: Duration, _ jitter: Double
  ) -> Change? {
    let server = Self.server(of: key)
    failuresInRow[server, default: 0] += 1
    let isOfServer = isOfConnection || failuresInRow[server] ?? 0 >= OutageLimits.failuresOfServer
    let place = place(of: key) ?? (isOfServer ? .server(server) : .record(key.digest))
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

  /// The outage of a server takes precedence over the outage of a record.
  private func place(of key: RecordKey) -> Place? {
    if outages.isEmpty { return nil }
    let server = Place.server(Self.server(of: key))
    if outages[server] != nil { return server }
    let record = Place.record(key.digest)
    return outages[record] == nil ? nil : record
  }

  /// Returns scheme, host and port of the record's URL.
  private static func server(of key: RecordKey) -> String {
    let url = key.url
    guard let scheme = url.range(of: "://") else { return url }
    return String(url[..<(url[scheme.upperBound...].firstIndex { "/?#".contains($0) } ?? url.endIndex)])
  }

  private mutating func makeRoom() {
    guard outages.count >= OutageLimits.outages, let oldest = outages.min(by: { $0.value.failedAt < $1.value.failedAt })
    else { return }
    outages[oldest.key] = nil
    if failuresInRow.count > OutageLimits.outages { failuresInRow = [:] }
  }
}

private enum OutageLimits {
  static let firstPause = Duration.seconds(1)
  static let longestPause = Duration.seconds(30)
  /// The time for which a caller without a fallback gets the error of another.
  static let errorIsSharedFor = Duration.seconds(1)
  /// The number of statuses and timeouts in a row that are an outage of the server.
  static let failuresOfServer = 5
  /// The number of outages that are remembered.
  static let outages = 1_000
}
