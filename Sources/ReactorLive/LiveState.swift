import ReactorCore

/// The state of a stream of changes. It decides when to connect, what an event makes stale, and
/// what counts as missed. It calls no other code: its methods return actions, which the shell
/// performs.
struct LiveState: Sendable {
  enum Action: Sendable {
    case connect(UInt64, LiveRequest)
    /// Ends the connections up to this number.
    case disconnect(UInt64)
    case mark(LiveChange, spread: Duration)
    /// Everything that the stream covers may have changed.
    case markCovered(spread: Duration)
  }

  enum Phase {
    case idle
    case connecting(since: Duration)
    case open(Connection)
    case waiting(until: Duration, ReactorError?)
    case off(LiveStatus.Reason)
  }

  /// An open stream.
  struct Connection {
    let openedAt: Duration
    var heardAt: Duration
    var heartbeat: Duration?
    /// The server has sent `hello`, or sends none.
    var isGreeted: Bool
    /// The position at which everything missed was repeated; `nil` once it was.
    var replaysUntil: LivePosition?
    /// The time for which the server waits for a change, if the response ends after it.
    var wait: Duration?
    var hasEvents = false
    var isLeaving = false
  }

  private let opens: LiveConfiguration.Opening
  let grace: Duration
  /// `true` for the format of changes.
  let isGreeting: Bool
  private let resumes: Bool
  /// `true` if a response says behind which place it resumes.
  private let namesPlace: Bool
  private let heartbeat: Duration?
  let random: SplitMix64

  var phase = Phase.idle
  /// The number of the latest connection. What an earlier one reports is dropped.
  var connection: UInt64 = 0
  var lastEventID = ""
  private var position: LivePosition? { isGreeting ? LivePosition(lastEventID) : nil }
  private var isObserved = false
  private(set) var isReachable = true
  private var isClearing = false
  /// `false` while the place of an earlier process is being read.
  private(set) var isRestored: Bool
  private var lingersUntil: Duration?
  var failures = 0
  var retry: Duration = .seconds(2)
  private var wasLive = false
  /// The time at which the app has left the foreground; `nil` in the foreground.
  private var leftAt: Duration?
  /// The app is in the background, and the stream is closed for that.
  private var isAway = false
  /// The server has caused the latest interruption, and so may have all clients ask at once.
  var isOfServer = false
  /// The time until which an interruption leaves the polling intervals as they are.
  var graceUntil: Duration?
  var polls = LongPolls()
  /// The time at which the latest request was sent, and the time for which the server may hold its
  /// answer back; `nil` for a stream.
  var (startedAt, wait): (Duration, Duration?) = (.zero, nil)
  /// The time until which the answer to the last long poll counts as a sign of life.
  var liveUntil: Duration?

  /// The time in which a server sends the head of its response, and again that in which it sends
  /// `hello`.
  static let greeting: Duration = .seconds(10)
  /// The time after which a stream counts as good, so that the next failure is a first one.
  static let steady: Duration = .seconds(10)
  /// The longest wait before a reconnection, and before one after responses that are no streams.
  static let (longestWait, longestForeignWait): (Duration, Duration) = (.seconds(60), .seconds(300))
  /// The time for which a stream stays open in the background.
  static let departure: Duration = .seconds(5)
  /// The time within which clients ask again after a gap that the server has caused.
  static let gapSpread: Duration = .seconds(2)

  /// - Parameter isRestored: `false` if ``restored(_:at:)`` will be called.
  init(
    _ configuration: LiveConfiguration, _ mapping: LiveMapping, isRestored: Bool = true, random: SplitMix64
  ) {
    self.isRestored = isRestored
    (opens, grace) = (configuration.opens, configuration.offlineGrace)
    (isGreeting, resumes, heartbeat) = (mapping.reading == nil, mapping.resumes, mapping.heartbeat)
    namesPlace = mapping.naming != nil
    self.random = random
  }

  var status: LiveStatus {
    switch phase {
    case .idle: .off(.notObserved)
    case .connecting: liveUntil == nil ? .catchingUp : .live
    case .open(let open) where !open.isGreeted: liveUntil == nil ? .catchingUp : .live
    case .open(let open): open.replaysUntil == nil ? .live : .catchingUp
    case .waiting(_, let error): liveUntil == nil ? .interrupted(error) : .live
    case .off(let reason): .off(reason)
    }
  }

  /// A Boolean value that indicates whether a stream is open, of which more may come soon.
  var isOpen: Bool { if case .open = phase { true } else { liveUntil != nil } }

  /// The time for the head of a response. Another format's server may send it with its first event;
  /// without a heartbeat, the transport's time limit is the only one.
  private var connecting: Duration? {
    isGreeting ? Self.greeting + (wait ?? .zero) : heartbeat.map { max(Self.greeting, $0 * 2.5) }
  }

  /// The time until which the greeting of an open stream has to come.
  private func greetingLimit(of open: Connection) -> Duration {
    wait.map { startedAt + $0 + Self.greeting } ?? open.openedAt + Self.greeting
  }

  /// A Boolean value that indicates whether covered streams poll rarely.
  var limitsPolling: Bool { status.isLive || graceUntil != nil }

  /// The time at which ``time(_:)`` is due next; `nil` for never.
  var deadline: Duration? {
    var times = [lingersUntil, graceUntil, liveUntil, isAway ? nil : leftAt.map { $0 + Self.departure }]
    switch phase {
    case .waiting(let time, _): if isReachable { times.append(time) }
    case .open(let open):
      if !open.isGreeted { times.append(greetingLimit(of: open)) }
      if let heartbeat = open.heartbeat { times.append(open.heardAt + heartbeat * 2.5) }
    case .connecting(let since): times.append(connecting.map { since + $0 })
    case .idle, .off: break
    }
    return times.compactMap(\.self).min()
  }
}

extension LiveState {
  /// Opens the stream for the first observer, and lets it linger after the last.
  mutating func observed(_ isObserved: Bool, at time: Duration) -> [Action] {
    self.isObserved = isObserved
    guard !isObserved else {
      lingersUntil = nil
      if case .idle = phase { return connect(at: time) }
      return []
    }
    guard case .whileObserved(let linger) = opens, lingersUntil == nil else { return [] }
    if case .idle = phase { return [] }
    lingersUntil = time + linger
    return self.time(time)
  }

  /// Continues at the place of an earlier process; empty for none. The stream is opened only now.
  mutating func restored(_ id: String, at time: Duration) -> [Action] {
    guard !isRestored else { return [] }
    (isRestored, lastEventID) = (true, id)
    guard isObserved, case .idle = phase else { return [] }
    return connect(at: time)
  }

  /// Lets the time pass.
  mutating func time(_ time: Duration) -> [Action] {
    if let until = graceUntil, time >= until { graceUntil = nil }
    if let until = liveUntil, time >= until { liveUntil = nil }
    if let until = lingersUntil, time >= until { return close() }
    if let leftAt, !isAway, time >= leftAt + Self.departure { return goAway() }
    switch phase {
    case .waiting(let until, _) where time >= until && isReachable: return connect(at: time)
    case .connecting(let since) where connecting.map { time >= since + $0 } ?? false:
      return [.disconnect(connection)] + heldBack(at: time)
    case .open(let open) where !open.isGreeted && time >= greetingLimit(of: open):
      return [.disconnect(connection)] + heldBack(at: time)
    case .open(let open) where open.heartbeat.map { time >= open.heardAt + $0 * 2.5 } ?? false:
      return [.disconnect(connection)] + interrupt(.timedOut, at: time)
    default: return []
    }
  }

  mutating func reachable(_ isReachable: Bool, at time: Duration) -> [Action] {
    let returned = isReachable && !self.isReachable
    self.isReachable = isReachable
    guard returned else { return [] }
    polls.changedNetwork()
    switch phase {
    case .waiting, .off(.notAnEventStream):
      return connectAnew(at: time)
    default: return []
    }
  }

  /// The app goes to the background, where the system may suspend it at any time.
  mutating func left(at time: Duration) { leftAt = leftAt ?? time }

  /// The app is in the foreground again. After more than a moment, the old connection may be dead
  /// without an error.
  mutating func returned(at time: Duration) -> [Action] {
    guard let leftAt else { return [] }
    self.leftAt = nil
    guard isAway || time >= leftAt + Self.departure else { return [] }
    isAway = false
    switch phase {
    case .off(.background), .connecting, .open, .waiting: return reconnect(at: time)
    case .idle: return isObserved ? connectAnew(at: time) : []
    case .off: return []
    }
  }

  private mutating func goAway() -> [Action] {
    isAway = true
    // A refusal stays the reason.
    if case .off = phase { return [] }
    if case .idle = phase { return [] }
    let lingersUntil = lingersUntil
    let actions = close()
    (self.lingersUntil, phase) = (lingersUntil, .off(.background))
    return actions
  }

  /// Connects as a client that has caused its interruption by itself.
  private mutating func connectAnew(at time: Duration) -> [Action] {
    (failures, isOfServer) = (0, false)
    return connect(at: time)
  }

  /// Opens the stream now, whatever has ended it. An open one is replaced: it may be dead.
  mutating func reconnect(at time: Duration) -> [Action] {
    guard !isClearing, isObserved || lingersUntil != nil || opens == .always else { return [] }
    // A program that asks for it in the background has a moment for it.
    if leftAt != nil { (leftAt, isAway) = (time, false) }
    return [.disconnect(connection)] + connectAnew(at: time)
  }

  /// Opens a stream that was refused for its credential. One that is being opened begins anew: it
  /// may have been signed with the credential before.
  mutating func signedIn(at time: Duration) -> [Action] {
    switch phase {
    case .off(.authentication), .connecting: reconnect(at: time)
    default: []
    }
  }

  /// Ends the stream and forgets its position, since everything is being removed.
  mutating func clear() -> [Action] {
    (isClearing, isRestored, lastEventID, wasLive) = (true, true, "", false)
    return close()
  }

  mutating func cleared(at time: Duration) -> [Action] {
    isClearing = false
    guard isObserved || opens == .always && connection > 0, case .idle = phase else { return [] }
    return connect(at: time)
  }

  mutating func connect(at time: Duration) -> [Action] {
    guard !isClearing, isRestored, !isAway else { return [] }
    connection += 1
    (phase, startedAt, wait) = (.connecting(since: time), time, isGreeting ? polls.wait : nil)
    return [.connect(connection, LiveRequest(lastEventID: lastEventID, wait: wait))]
  }

  private mutating func close() -> [Action] {
    (lingersUntil, graceUntil, liveUntil, failures, isOfServer) = (nil, nil, nil, 0, false)
    connection += 1
    phase = .idle
    return [.disconnect(connection)]
  }
}

extension LiveState {
  /// The head of a response.
  enum Head: Sendable {
    case stream
    case ended
    case other(contentType: String?)
  }

  /// - Parameter place: the place behind which the server says it resumes; `nil` if it says none.
  mutating func opened(
    _ number: UInt64, _ head: Head, behind place: String? = nil, at time: Duration
  ) -> [Action] {
    guard number == connection, case .connecting = phase else { return [] }
    switch head {
    case .ended: return turnOff(.ended)
    case .other(let type):
      guard wasLive else { return turnOff(.notAnEventStream(type)) }
      // The page of a network that wants a sign-in.
      return [.disconnect(connection)] + interrupt(nil, longest: Self.longestForeignWait, at: time)
    case .stream: break
    }
    phase = .open(Connection(openedAt: time, heardAt: time, heartbeat: heartbeat, isGreeted: !isGreeting))
    guard !isGreeting else { return [] }
    becameLive()
    let isResumed = resumes && !lastEventID.isEmpty && (!namesPlace || place == lastEventID)
    return !isResumed ? [.markCovered(spread: isOfServer ? Self.gapSpread : .zero)] : []
  }

  /// A sign of life, with the position that the stream has reached; empty if it has told none.
  mutating func heard(_ number: UInt64, position id: String, at time: Duration) {
    guard number == connection, case .open(var open) = phase else { return }
    open.heardAt = time
    guard !id.isEmpty else { return phase = .open(open) }
    if isGreeting {
      guard open.isGreeted, let new = LivePosition(id), isBehind(new) else { return phase = .open(open) }
    }
    lastEventID = id
    if let end = open.replaysUntil, let position, position.space != end.space || position.number >= end.number {
      open.replaysUntil = nil
      becameLive()
    }
    phase = .open(open)
  }

  mutating func received(_ number: UInt64, _ signal: LiveSignal, id: String, at time: Duration) -> [Action] {
    guard number == connection, case .open(var open) = phase else { return [] }
    open.heardAt = time
    // A server that greets and closes is no long poll.
    if case .hello = signal {} else { open.hasEvents = true }
    var actions: [Action] = []
    switch signal {
    case .hello(let hello):
      // An answer to a long poll may come in pieces.
      if liveUntil != nil { beginGrace(at: time) }
      actions = greeted(hello, &open)
    case .changed(var changes, let spread):
      guard !isGreeting || isNew(id) else { break }
      // Another history, whose earlier changes are not known.
      if let position, let new = LivePosition(id), new.space != position.space {
        actions = [.markCovered(spread: Self.gapSpread)]
      } else {
        // What is repeated may be older than what was fetched meanwhile.
        if !status.isLive {
          for index in changes.indices { (changes[index].value, changes[index].isGone) = (nil, false) }
        }
        actions = changes.filter { !$0.isEmpty }.map { .mark($0, spread: spread) }
      }
    case .gap(let spread): actions = [.markCovered(spread: max(spread ?? .zero, Self.gapSpread))]
    case .leaving: open.isLeaving = true
    case .nothing: break
    }
    phase = .open(open)
    // After its effects: a position whose effects were lost would be a lost change.
    heard(number, position: id, at: time)
    if status.isLive { becameLive() }
    return actions
  }

  private mutating func greeted(_ hello: LiveHello, _ open: inout Connection) -> [Action] {
    (open.isGreeted, open.wait, liveUntil) = (true, hello.wait, nil)
    open.heartbeat = hello.heartbeat ?? heartbeat
    if hello.wait == nil { greetedStream() }
    if hello.isResumed, let position, let head = hello.head, head.space == position.space,
      head.number >= position.number
    {
      if position.number < head.number { open.replaysUntil = head }
      return []
    }
    // The server has taken the client's place in its history before `hello`, so that a request
    // that is sent from now on sees every change that the stream will not tell.
    lastEventID = hello.head?.id ?? ""
    // After a gap that the server has caused, all its clients would ask at once.
    return [.markCovered(spread: isOfServer ? max(hello.spread ?? .zero, Self.gapSpread) : .zero)]
  }

  /// The stream cannot be read on. Its place is forgotten, since the server would repeat what is
  /// behind it.
  mutating func becameUnreadable(_ number: UInt64) {
    if number == connection { lastEventID = "" }
  }

  /// Returns `true` for an event that was not applied yet.
  private func isNew(_ id: String) -> Bool {
    guard let new = LivePosition(id) else { return true }
    return isBehind(new)
  }

  private func isBehind(_ new: LivePosition) -> Bool {
    guard let position else { return true }
    return new.space != position.space || new.number > position.number
  }

  private mutating func becameLive() {
    (wasLive, graceUntil) = (true, nil)
  }
}
