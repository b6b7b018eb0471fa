public import HTTPTypes
import Synchronization

/// Opening a stream, and its steps.
extension ChangeFeed {
  /// Opens the stream of a client, behind the position that its request names in `Last-Event-ID`.
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
    let opened = state.withLock {
      state -> Result<(UInt64, greeting: String, position: UInt64, Bool), ChangeFeedError> in
      if let error = refusal(of: user, state, at: now) { return .failure(error) }
      // The place is taken before the greeting is sent: what is requested after it, is newer.
      let seat = state.seats.add(audiences, at: now, onStall: onStall)
      let position = state.log.position(of: lastEventID, isShared: shared != nil)
      let head = state.log.id(of: max(state.log.head, position ?? 0))
      let spread = position == nil ? herdSpread(&state, at: now) : nil
      let hello = ChangeEncoding.hello(
        isResumed: position != nil, head: head, heartbeat: configuration.heartbeat, spread: spread)
      return .success((seat, hello, position ?? state.log.head, position.map { $0 < state.log.head } ?? false))
    }
    let (seat, hello, position, isBehind) = try opened.get()
    startTicker()
    return ChangeStream(
      self, greeting: ChangeEncoding.retry(configuration.retry) + ChangeEncoding.event("hello", hello),
      client: ChangeStream.Client(
        seat: seat, position: position, audiences: audiences, endsAt: now + lifetime, heardAt: .zero,
        isCatchingUp: isBehind))
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
    let step = state.withLock { state -> (bytes: [UInt8]?, reset: [UInt8], id: String, isEnding: Bool)? in
      guard state.seats.contains(client.seat), !isBlind(state, at: now) else { return nil }
      let bytes = state.log.bytes(behind: &client.position, for: client.audiences, atMost: 64 << 10)
      if bytes == nil { client.position = state.log.head }
      state.seats.give(client.seat, at: now)
      let id = state.log.id(of: client.position)
      let reset = ChangeEncoding.reset(id, spread: spread(over: state.seats.count))
      return (bytes, reset, id, state.isEnding)
    }
    guard let (bytes, reset, id, isEnding) = step else { return .end(farewell) }
    if isEnding { return .end((bytes ?? reset) + farewell) }
    // A client that comes back waits for the position of its greeting, whoever's events led there.
    let isDue = now - client.heardAt >= configuration.heartbeat || client.isCatchingUp
    client.isCatchingUp = false
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
