import Foundation
import HTTPCaching
import Synchronization

/// The connection to the other servers, and its shutdown.
extension Fleet {
  /// Shares responses with the other servers, and follows their changes, until the task is
  /// cancelled. If the store is unreachable or accepts no writes, the method tries again and does
  /// not throw.
  ///
  /// ```swift
  /// let sharing = Task { try await fleet.run() }
  /// defer { sharing.cancel() }
  /// try await server.run()
  /// ```
  ///
  /// The method fits `Service` of swift-service-lifecycle. Before it returns, it releases its
  /// leases and sends the queued invalidations, if the store takes them within a second.
  ///
  /// - Throws: `FleetError.misconfigured(_:)` at once, if ``FleetConfiguration/largestBody`` is
  ///   more than the store can return. Nothing is then shared.
  public func run() async throws {
    guard configuration.largestBody <= store.largestBody else {
      throw FleetError.misconfigured(
        "largestBody is \(configuration.largestBody) bytes, and the store returns at most \(store.largestBody)")
    }
    let now = elapsed
    withState { $0.start(at: now) }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.listen() }
      group.addTask { await self.regularly { await self.beat() } }
      group.addTask { await self.regularly { await self.renewLeases() } }
      await group.waitForAll()
    }
    withState { $0.stop() }
    tell()
    await limitedEnd()
  }

  /// Sends the queued fences and releases the leases, with retries, for at most a second.
  private func limitedEnd() async {
    let signal = FleetSignal()
    let work = spawn {
      while self.withState({ $0.hasUnsent }), !Task.isCancelled {
        if self.withState({ $0.beginsSending() }) { await self.sendPending() }
        guard self.withState({ $0.hasUnsent }) else { break }
        try? await self.configuration.clock.sleep(for: .milliseconds(25))
      }
      for ticket in self.withState({ $0.leases.keys.sorted { $0.version < $1.version } }) {
        // A lease that is not released expires by itself.
        try? await self.store.release(ticket, .abandoned)
      }
      signal.send()
    }
    let timer = send(signal, after: .seconds(1))
    // This task is already cancelled, so another one waits.
    await spawn { await signal.wait() }.value
    timer.cancel()
    work.cancel()
  }

  private func listen() async {
    var failures = 0
    while !Task.isCancelled {
      let start = elapsed
      let end = FleetSignal()
      feedEnd.value = end
      withState { $0.opensFeed(at: start) }
      let error = await follow(until: end)
      guard !Task.isCancelled else { return }
      withState { $0.lostFeed(error) }
      tell()
      failures = elapsed - start > .seconds(5) ? 0 : failures + 1
      // 50 to 500 milliseconds.
      let pause = Duration.milliseconds(min(500, 50 << min(failures, 4))) * (0.5 + configuration.random() / 2)
      try? await configuration.clock.sleep(for: pause)
    }
  }

  /// Receives messages until the connection is lost, or no longer carries any.
  private func follow(until end: FleetSignal) async -> FleetError {
    await withTaskGroup(of: FleetError.self) { group in
      group.addTask { [store, node] in
        do throws(FleetError) {
          try await store.follow(node) { [weak self] in self?.hear($0) }
          return .unavailable("the connection for messages was lost")
        } catch { return error }
      }
      group.addTask {
        await end.wait()
        return .unavailable("the connection for messages delivers no messages")
      }
      defer { group.cancelAll() }
      return await group.next() ?? .unavailable("the connection for messages was lost")
    }
  }

  private func hear(_ message: FleetMessage) {
    let now = elapsed
    switch message {
    case .following:
      withState { $0.openedFeed(at: now) }
      spawn { await self.beat() }
    case .beat(let nonce):
      withState { $0.heardBeat(nonce, at: now) }
      tell()
      // A fence that was not acknowledged may be queued although this server lost no message.
      if withState({ $0.beginsSending() }) { spawn { await self.sendPending() } }
    case .stored(let record, let version):
      for signal in withState({ $0.stored(record, version) }) { signal.send() }
    case .released(let record):
      for signal in withState({ $0.wake(record) }) { signal.send() }
    case .fenced(let url, let version): withState { $0.fence(url, version, at: now) }
    case .renewed(let scope, let generation): withState { $0.renewed(scope, generation) }
    }
  }

  /// Runs `body` once per heartbeat interval. Leases are renewed in time, however long a heartbeat
  /// takes.
  private func regularly(_ body: () async -> Void) async {
    while !Task.isCancelled {
      await body()
      do { try await configuration.clock.sleep(for: configuration.beat) } catch { return }
    }
  }

  /// Sends a heartbeat, and checks whether the earlier ones came back.
  private func beat() async {
    let (began, nonce) = (elapsed, UInt64.random(in: 0...UInt64.max))
    let scopes = withState { state in
      state.forgetScopes(at: began)
      state.sendsBeat(nonce, at: began)
      return state.scopes.followed
    }
    // Even while the breaker is open, since a heartbeat closes it.
    var pulse: FleetHeartbeat?
    do throws(FleetError) { pulse = try await store.beat(node, nonce: nonce, scopes: scopes) } catch {
      withState { $0.failedBeat(nonce, error) }
    }
    let now = elapsed
    let replayed = withState { [pulse] state -> [FleetState.Floor] in
      state.forgetFloors(at: now)
      guard let pulse else { return [] }
      state.breaker.succeeded(at: now)
      let replayed = state.learn(pulse, of: scopes, since: began)
      state.answeredBeat(nonce, at: now)
      return replayed
    }
    tell()
    if withState({ $0.isDeaf(at: now) }) { feedEnd.value.send() }
    if pulse != nil, withState({ $0.beginsSending() }) { spawn { await self.sendPending() } }
    for floor in replayed { _ = try? await store.fence(floor.url, removes: false, replaying: floor.version) }
  }

  private func renewLeases() async {
    let now = elapsed
    let (lease, young) = (configuration.lease, configuration.beat / 2)
    let old = withState { state in
      state.leases.filter { $0.value + young < now }.keys.sorted { $0.version < $1.version }
    }
    for ticket in old {
      guard (try? await store.renew(ticket, lease: lease)) == false else { continue }
      withState { _ = $0.leases.removeValue(forKey: ticket) }
    }
  }

  /// Sends the queued fences, the oldest first, until one fails again.
  private func sendPending() async {
    defer { withState { $0.endSending() } }
    for scope in withState(\.renewals).sorted() {
      do throws(FleetError) { try await renew(scope) } catch { return }
    }
    while let fence = withState(\.pending.first) {
      do throws(FleetError) { try await send(fence) } catch { return }
    }
  }
}
