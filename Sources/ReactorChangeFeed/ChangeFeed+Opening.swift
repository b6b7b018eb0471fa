public import HTTPTypes
import Synchronization

/// Opening a stream, and its steps.
extension ChangeFeed {
  /// Opens the stream of a client, behind the position that its request names in `Last-Event-ID`.
  ///
  /// A client whose stream is held back on its way asks for a long poll by `Prefer: wait=25` (RFC
  /// 7240 §4.3). Its stream is one piece: the changes behind the position, as soon as there are
  /// any, and at the latest after this time in seconds, or after two heartbeats. A position that is
  /// not known is answered at once.
  ///
  /// ```swift
  /// do throws(ChangeFeedError) {
  ///   let stream = try feed.open(request.head, user: .init("user:7")) {
  ///     channel.close(promise: nil)
  ///   }
  /// } catch {
  ///   return Response(status: error.response.status, headers: error.response.headerFields)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - request: The request of the client.
  ///   - user: The audience of the client's user, of which
  ///     ``ChangeFeedConfiguration/clientsPerUser`` streams may be open.
  ///   - audiences: The other audiences of the client, besides ``ChangeAudience/everyone``.
  ///   - lifetime: The time after which the stream ends, such as the rest of a token's. Every
  ///     stream ends after ``ChangeFeedConfiguration/lifetime``, and the client reconnects.
  ///   - onStall: Closes the client's connection. The feed calls the closure if the client has not
  ///     taken a piece for ``ChangeFeedConfiguration/patience``, from any isolation.
  ///     A server waits in the write meanwhile, so the feed cannot end it by itself.
  /// - Throws: The reason why no stream was opened: answer with ``ChangeFeedError/response``.
  public func open(
    _ request: HTTPRequest, user: ChangeAudience? = nil, for audiences: Set<ChangeAudience> = [],
    lifetime: Duration? = nil, onStall: @escaping @Sendable () -> Void = {}
  ) throws(ChangeFeedError) -> ChangeStream {
    let lastEventID = HTTPField.Name("Last-Event-ID").flatMap { request.headerFields[$0] } ?? ""
    let random = Double.random(in: 0.8...1.2)
    let lifetime = min(configuration.lifetime * random, lifetime ?? configuration.lifetime * random)
    let audiences = user.map { audiences.union([$0]) } ?? audiences
    let now = elapsed()
    let wait = request.preferredWait.map { min($0, configuration.heartbeat * 2) }
    let opened = state.withLock {
      state -> Result<(UInt64, greeting: [UInt8]?, ChangeStream.Place), ChangeFeedError> in
      if let error = refusal(of: user, state, at: now) { return .failure(error) }
      // The place is taken before the greeting is sent: what is requested after it, is newer.
      let seat = state.seats.add(audiences, at: now, onStall: onStall)
      let position = state.log.position(of: lastEventID, isShared: shared != nil)
      let greeting = wait == nil ? self.greeting(resuming: position, &state, at: now) : nil
      let place = ChangeStream.Place(
        position: position ?? state.log.head, isCatchingUp: position.map { $0 < state.log.head } ?? false,
        poll: wait.map { LongPoll($0, isResumed: position != nil, from: now, tick: tick) })
      return .success((seat, greeting, place))
    }
    let (seat, greeting, place) = try opened.get()
    startTicker()
    return ChangeStream(
      self, greeting: greeting,
      client: ChangeStream.Client(
        seat: seat, place: place, audiences: audiences, endsAt: now + lifetime, heardAt: .zero))
  }

  /// Returns the first event of a stream, or of the answer to a long poll, and the wait before a
  /// reconnection.
  ///
  /// - Parameter position: the client's place; `nil` if it is not in the list.
  func greeting(
    resuming position: UInt64?, _ state: inout State, at now: Duration, wait: Duration? = nil
  ) -> [UInt8] {
    let hello = ChangeEncoding.hello(
      isResumed: position != nil, head: state.log.id(of: max(state.log.head, position ?? 0)),
      heartbeat: configuration.heartbeat, spread: position == nil ? herdSpread(&state, at: now) : nil, wait: wait)
    return ChangeEncoding.retry(configuration.retry) + ChangeEncoding.event("hello", hello)
  }

  /// Returns the time within which a client asks for everything. Of many that come at once, each
  /// makes it longer for the next: twice the time that all so far take, since none knows how many
  /// will follow.
  private func herdSpread(_ state: inout State, at now: Duration) -> Duration? {
    state.herdEnds = max(state.herdEnds, now) + .seconds(1 / max(configuration.refetchRate, 1))
    let spread = (state.herdEnds - now) * 2
    return spread > .milliseconds(50) ? spread : nil
  }

  private func refusal(of user: ChangeAudience?, _ state: State, at now: Duration) -> ChangeFeedError? {
    if isBlind(state, at: now) { return .unavailable }
    if state.seats.count >= configuration.clients { return .tooManyClients(limit: configuration.clients) }
    let limit = configuration.clientsPerUser
    guard let user, state.seats.count(of: user) >= limit else { return nil }
    return .tooManyClientsOfUser(limit: limit)
  }

  /// The next step of a client's stream.
  enum Delivery {
    case bytes([UInt8])
    case wait
    case end([UInt8])
  }

  func next(for client: inout ChangeStream.Client) -> Delivery {
    let now = elapsed()
    let farewell = ChangeEncoding.event("bye")
    guard now < client.endsAt else { return .end(farewell) }
    if let poll = client.place.poll { return answer(to: &client, poll, at: now) ?? .end(farewell) }
    let step = state.withLock { state -> (bytes: [UInt8]?, reset: [UInt8], id: String, isEnding: Bool)? in
      guard state.seats.contains(client.seat), !isBlind(state, at: now) else { return nil }
      let bytes = state.log.bytes(behind: &client.place.position, for: client.audiences, atMost: 64 << 10)
      if bytes == nil { client.place.position = state.log.head }
      state.seats.give(client.seat, at: now)
      let id = state.log.id(of: client.place.position)
      let reset = ChangeEncoding.reset(id, spread: spread(over: state.seats.count))
      return (bytes, reset, id, state.isEnding)
    }
    guard let (bytes, reset, id, isEnding) = step else { return .end(farewell) }
    if isEnding { return .end((bytes ?? reset) + farewell) }
    // A client that comes back waits for the position of its greeting, whoever's events led there.
    let isDue = now - client.heardAt >= configuration.heartbeat || client.place.isCatchingUp
    client.place.isCatchingUp = false
    guard let bytes else {
      client.heardAt = now
      return .bytes(reset)
    }
    if !bytes.isEmpty || isDue {
      client.heardAt = now
      // A block without data moves the position. The events of others have moved it, too.
      return .bytes(bytes.isEmpty ? Array("id: \(id)\n\n".utf8) : bytes)
    }
    return .wait
  }
}
