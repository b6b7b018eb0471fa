/// The proof that a server hears the others, and that the store takes changes. A pure value: the
/// caller says the time.
///
/// A *beat* is a write to the store, and a message that comes back to its sender. It proves
/// something once it has both been answered and been heard: every message from before it was sent
/// has arrived. The proof is a lease, which ends by the clock. So the time goes on at each use
/// (``advance(to:)``), and not only when a timer fires: a process may have been stopped meanwhile.
struct FleetLink: Sendable {
  private struct Beat: Sendable {
    var nonce: UInt64
    var sentAt: Duration
    var isHeard = false
    var isAnswered = false
  }

  private struct Feed: Sendable {
    var isOpen: Bool
    /// The time at which something must have been heard on it.
    var deadline: Duration
  }

  /// The time for which copies are used as before after the latest proof.
  let trust: Duration
  private(set) var status = FleetStatus.off
  /// The time of the latest proof. Messages from before it have arrived.
  private var provedAt: Duration = .zero
  /// The connection for messages; `nil` without one.
  private var feed: Feed?
  /// The beats that are under way, the oldest first.
  private var beats: [Beat] = []
  /// The time from sending the latest beat that was heard until then.
  private(set) var messageDelay: Duration?
  /// The error of the latest beat; `nil` if it was answered.
  private var beatError: FleetError?
  /// The error of the latest connection for messages; `nil` if a beat was heard since.
  private var feedError: FleetError?

  static let silence = Duration.milliseconds(2_500)
  /// The time for which a connection may be under way.
  static let connecting = Duration.seconds(5)
  private static let beatLimit = 8

  init(trust: Duration) { self.trust = trust }

  /// The reason for which the others are not heard.
  var error: FleetError? { [.following, .off].contains(status) ? nil : beatError ?? feedError }

  /// Starts without messages from others. The store may be called.
  mutating func start(at now: Duration) { if status == .off { (status, provedAt) = (.blind, now) } }

  mutating func stop() { (status, beats, feed) = (.off, [], nil) }

  /// Ends what has run out.
  ///
  /// - Returns: `true` if copies are not trusted any more.
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
  /// to a server that proves nothing. It must be replaced, because its end may never be reported.
  func isDeaf(at now: Duration) -> Bool {
    feed.map { now >= max($0.deadline, provedAt + Self.silence) } ?? false
  }

  // MARK: - Beats

  /// Notes a beat. One that is sent without a connection for messages cannot be heard.
  mutating func sendsBeat(_ nonce: UInt64, at now: Duration) {
    guard feed?.isOpen == true else { return }
    beats.append(Beat(nonce: nonce, sentAt: now))
    if beats.count > Self.beatLimit { beats.removeFirst() }
  }

  mutating func failedBeat(_ nonce: UInt64, _ error: FleetError) {
    beats.removeAll { $0.nonce == nonce }
    beatError = error
  }

  /// The store has carried a beat out.
  ///
  /// - Returns: `true` if the server follows from now on.
  mutating func answeredBeat(_ nonce: UInt64, at now: Duration) -> Bool {
    beatError = nil
    guard let index = beats.firstIndex(where: { $0.nonce == nonce }) else { return false }
    beats[index].isAnswered = true
    return prove(by: index, at: now)
  }

  /// A beat has come back.
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
    // One that comes late says what was, and not what is.
    guard status != .off, now < beat.sentAt + Self.silence else { return false }
    (provedAt, feedError) = (max(provedAt, beat.sentAt), nil)
    guard status != .following else { return false }
    status = .following
    return true
  }
}
