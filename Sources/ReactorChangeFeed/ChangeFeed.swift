public import HTTPTypes
import Synchronization

/// The server's half of live resources: it tells clients what has changed.
///
/// ```swift
/// let feed = ChangeFeed()
/// router.get("events") { request, context in
///   let stream = try feed.open(request.head, user: .init("user:\(context.user.id)"))
///   let bytes = stream.map { ByteBuffer(bytes: $0) }
///   return Response(status: .ok, headers: ChangeFeed.fields, body: .init(asyncSequence: bytes))
/// }
/// router.put("posts/:id") { request, context in
///   try await store.save(post)
///   feed.publish([.url("/posts/\(post.id)", etag: post.etag)], by: request.head.changeID)
/// }
/// ```
///
/// Publish a change after it is committed: a client asks for it at once.
///
/// A client is a place in the list of changes, and has no queue, so a client that does not read
/// costs no memory. If the list has gone on without it, it is told that it may have missed
/// something.
///
/// Its methods may be called from any isolation.
public final class ChangeFeed: Sendable {
  /// The header fields of the response. `X-Accel-Buffering` is for nginx, which holds events back
  /// otherwise.
  public static let fields: HTTPFields = {
    var fields: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store, no-transform"]
    if let name = HTTPField.Name("X-Accel-Buffering") { fields[name] = "no" }
    return fields
  }()

  let configuration: ChangeFeedConfiguration
  let state: Mutex<State>
  /// The time on the configuration's clock since the feed was created.
  let elapsed: @Sendable () -> Duration

  /// Resumes with the position up to which nothing was for the client; with `nil` for a second
  /// reader of one stream.
  typealias Waiter = CheckedContinuation<UInt64?, Never>

  struct State {
    var log: ChangeLog
    var seats = ChangeSeats<Waiter>()
    var ticker: Task<Void, Never>?
    var isEnding = false
    /// The time at which the clients that ask for everything are done, at the permitted rate.
    var herdEnds: Duration = .zero
    var sharing = ChangeSharing()
  }

  /// The log that several servers share; `nil` for a history of this process.
  let shared: (any SharedChangeLog)?

  /// Creates a feed with an empty history. Clients of an earlier one ask for everything again.
  public convenience init(_ configuration: ChangeFeedConfiguration = ChangeFeedConfiguration()) {
    self.init(configuration, shared: nil)
  }

  /// Creates a feed whose history is shared by several servers, and which works while ``run()``
  /// does.
  ///
  /// - Parameter log: The history. Changes that any feed publishes are told by all.
  public convenience init(
    _ configuration: ChangeFeedConfiguration = ChangeFeedConfiguration(), log: any SharedChangeLog
  ) {
    self.init(configuration, shared: log)
  }

  private init(_ configuration: ChangeFeedConfiguration, shared: (any SharedChangeLog)?) {
    (self.configuration, self.shared) = (configuration, shared)
    let clock = configuration.clock
    elapsed = Self.stopwatch(clock)
    let space = String(UInt64.random(in: .min ... .max), radix: 36)
    state = Mutex(State(log: ChangeLog(space: space, limit: configuration.changes)))
  }

  deinit { state.withLock { $0.ticker?.cancel() } }

  /// Tells clients what has changed.
  ///
  /// ```swift
  /// feed.publish([.url("/posts/7"), .under("/feeds")], to: .init("tenant:acme"))
  /// ```
  ///
  /// - Parameters:
  ///   - targets: What has changed. An empty list tells nothing.
  ///   - id: The request's `changeID`, if a request has made the change. The client that has
  ///     sent the request asks once for what it has changed, and not again for this. A value of
  ///     more than 128 bytes, or with other than printable ASCII, is left out.
  ///   - audience: Who is told. Default: every client.
  ///   - spread: The time within which the clients ask again, each at a random moment. By default,
  ///     it grows with the number of this server's clients, at
  ///     ``ChangeFeedConfiguration/refetchRate``.
  public func publish(
    _ targets: [ChangeTarget], by id: String? = nil, to audience: ChangeAudience = .everyone, spread: Duration? = nil
  ) {
    let id = id.flatMap { id in id.utf8.count <= 128 && id.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? id : nil }
    guard !targets.isEmpty else { return }
    publish(PublishedChange(targets, by: id, spread: spread, to: audience))
  }

  /// Tells every client that it may have missed a change, such as after a restored backup.
  public func reset() { publish(.reset) }

  private func publish(_ change: PublishedChange) {
    guard shared == nil else { return enqueue(change) }
    wake { state in
      state.log.append(change, spread: change.spread ?? spread(of: change, state))
      return (state.seats.wake(change.audience), state.log.head - 1)
    }
  }

  /// Returns the time that the clients of a change take together, at the permitted rate.
  func spread(of change: PublishedChange, _ state: State) -> Duration? {
    spread(over: change.audience == .everyone ? state.seats.count : state.seats.count(of: change.audience))
  }

  func spread(over clients: Int) -> Duration? {
    let spread = Duration.seconds(Double(clients) / max(configuration.refetchRate, 1))
    return spread > .milliseconds(50) ? spread : nil
  }

  /// Ends the streams of an audience with a farewell, such as those of a user who has signed out
  /// or has lost a right.
  ///
  /// ```swift
  /// try await sessions.end(of: user)
  /// feed.disconnect(.init("user:\(user.id)"))
  /// ```
  ///
  /// Call it once your server refuses the old rights: the clients reconnect after a moment. No
  /// change is delivered to the streams that are open now. A request that was authenticated before
  /// and opens its stream after this call is not among them: check the right again after opening.
  public func disconnect(_ audience: ChangeAudience) {
    wake { ($0.seats.removeAll(of: audience), $0.log.head) }
  }

  /// Ends every stream with a farewell. Clients reconnect after a random wait, to this server or
  /// another. Call it before the server stops listening.
  public func shutdown() {
    wake { state in
      state.isEnding = true
      return (state.seats.wake(.everyone), state.log.head)
    }
  }

  /// The number of open streams.
  public var clients: Int { state.withLock(\.seats.count) }

  /// The number of streams that wait for a change.
  var waiting: Int { state.withLock(\.seats.waiting) }

  /// - Parameter change: Returns who is woken, and the position up to which nothing was for them.
  func wake(_ change: (inout State) -> ([Waiter], UInt64)) {
    let (waiters, position) = state.withLock { change(&$0) }
    for waiter in waiters { waiter.resume(returning: position) }
  }

  private static func stopwatch<C: Clock>(_ clock: C) -> @Sendable () -> Duration where C.Duration == Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }
}

extension HTTPRequest {
  /// The id of the write, which ``ChangeFeed/publish(_:by:to:spread:)`` repeats; `nil` without one.
  public var changeID: String? { HTTPField.Name("Change-Id").flatMap { headerFields[$0] } }
}
