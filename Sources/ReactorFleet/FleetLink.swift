/// The proof that a server receives the others' messages, and that the store accepts writes. A pure
/// value: the caller passes the time.
///
/// A *beat*, or heartbeat, is a write to the store and a message that comes back to its sender.
/// Once the write was answered and the message received, every message from before it was sent has
/// arrived. The proof is a lease that expires by the clock. So each use moves the time on
/// (``advance(to:)``), not only a timer: the process may have been suspended meanwhile.
struct FleetLink: Sendable {
  private struct Beat: Sendable {
    var nonce: UInt64
    var sentAt: Duration
    var isHeard = false
    var isAnswered = false
  }

  private struct Feed: Sendable {
    var isOpen: Bool
    /// The time by which a message must have arrived on it.
    var deadline: Duration
  }

  /// The time after the latest proof for which copies are still used.
  let trust: Duration
  private(set) var status = FleetStatus.off
  /// The time of the latest proof. Messages from before it have arrived.
  private var provedAt: Duration = .zero
  /// The connection for messages; `nil` without one.
  private var feed: Feed?
  /// The beats in flight, the oldest first.
  private var beats: [Beat] = []
  /// The time that the latest received beat took.
  private(set) var messageDelay: Duration?
  /// The error of the latest beat; `nil` if it was answered.
  private var beatError: FleetError?
  /// The error of the latest connection for messages; `nil` if a beat has come back since.
  private var feedError: FleetError?

  static let silence = Duration.milliseconds(2_500)
  /// The time that connecting may take.
  static let connecting = Duration.seconds(5)
  private static let beatLimit = 8

  init(trust: Duration) { self.trust = trust }

  /// The reason why messages do not arrive.
  var error: FleetError? { [.following, .off].contains(status) ? nil : beatError ?? feedError }

  /// Starts without messages from others. The store may be called.
  mutating func start(at now: Duration) { if status == .off { (status, provedAt) = (.blind, now) } }

  mutating func stop() { (status, beats, feed) = (.off, [], nil) }

  /// Expires whatever is due.
  ///
  /// - Returns: `true` if copies are no longer trusted.
  mutating func advance(to now: Duration) -> Bool {
    if status == .following, now >= provedAt + Self.silence { status = .blind }
    guard status == .blind, now >= provedAt + trust else { return false }
    status = .alone
    return true
  }

  // MARK: - The connection for messages

  mutating func opensFeed(at now: Duration) { feed = Feed(isOpen: false, deadline: now + Self.connecting) }

  mutating func openedFeed(at now: Duration) { feed = Feed(isOpen: true, deadline: now + Self.silence) }

  mutating func lostFeed(_ error: FleetError) {
    (feed, beats, feedError) = (nil, [], error)
    if status == .following { status = .blind }
  }

  /// A Boolean value that indicates whether the connection for messages carries nothing, or leads
  /// to a server that proves nothing. It must be replaced, because its failure may never be
  /// reported.
  func isDeaf(at now: Duration) -> Bool {
    feed.map { now >= max($0.deadline, provedAt + Self.silence) } ?? false
  }

  // MARK: - Beats

  /// Records a heartbeat. A heartbeat that is sent without a subscription cannot be received.
  mutating func sendsBeat(_ nonce: UInt64, at now: Duration) {
    guard feed?.isOpen == true else { return }
    beats.append(Beat(nonce: nonce, sentAt: now))
    if beats.count > Self.beatLimit { beats.removeFirst() }
  }

  mutating func failedBeat(_ nonce: UInt64, _ error: FleetError) {
    beats.removeAll { $0.nonce == nonce }
    beatError = error
  }

  /// Records that the store has answered a beat.
  ///
  /// - Returns: `true` if the server follows from now on.
  mutating func answeredBeat(_ nonce: UInt64, at now: Duration) -> Bool {
    beatError = nil
    guard let index = beats.firstIndex(where: { $0.nonce == nonce }) else { return false }
    beats[index].isAnswered = true
    return prove(by: index, at: now)
  }

  /// Records that a beat has come back.
  ///
  /// - Returns: `true` if the server follows from now on.
  mutating func heardBeat(_ nonce: UInt64, at now: Duration) -> Bool {
    guard let index = beats.firstIndex(where: { $0.nonce == nonce }) else { return false }
    beats[index].isHeard = true
    messageDelay = now - beats[index].sentAt
    return prove(by: index, at: now)
  }

  private mutating func prove(by index: Int, at now: Duration) -> Bool {
    let beat = beats[index]
    guard beat.isHeard, beat.isAnswered else { return false }
    beats.removeSubrange(...index)
    // A late heartbeat describes the past.
    guard status != .off, now < beat.sentAt + Self.silence else { return false }
    (provedAt, feedError) = (max(provedAt, beat.sentAt), nil)
    guard status != .following else { return false }
    status = .following
    return true
  }
}
