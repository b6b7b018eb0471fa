import Foundation
import HTTPCaching
import Synchronization

/// Following what the others change.
extension Fleet {
  /// Shares responses with the other servers, and follows what they change, until the task is
  /// cancelled. A store that is away is tried again; nothing is thrown for it.
  ///
  /// It has the shape of a `Service` of swift-service-lifecycle. When it returns, its leases are
  /// given back and the invalidations that wait were sent, if the store takes them within a second.
  public func run() async throws {
    let now = elapsed
    withState { $0.start(at: now) }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.listen() }
      group.addTask { await self.beatRegularly() }
      await group.waitForAll()
    }
    withState { $0.stop() }
    tell()
    await limitedEnd()
  }

  private func limitedEnd() async {
    let signal = FleetSignal()
    let work = spawn {
      if self.withState({ $0.beginsSending() }) { await self.sendPending() }
      for ticket in self.withState({ $0.leases.keys.sorted { $0.version < $1.version } }) {
        try? await self.store.release(ticket, .abandoned)
      }
      signal.send()
    }
    let timer = send(signal, after: .seconds(1))
    // This task is cancelled already, so one that is not waits.
    await spawn { await signal.wait() }.value
    timer.cancel()
    work.cancel()
  }

  private func listen() async {
    var failures = 0
    while !Task.isCancelled {
      let start = elapsed
      do throws(FleetError) { try await store.follow(node) { [weak self] in self?.hear($0) } } catch {}
      guard !Task.isCancelled else { return }
      let now = elapsed
      withState { $0.lostFeed(at: now) }
      tell()
      failures = now - start > .seconds(5) ? 0 : failures + 1
      // 50 to 500 milliseconds.
      let pause = Duration.milliseconds(min(500, 50 << min(failures, 4))) * (0.5 + configuration.random() / 2)
      try? await configuration.clock.sleep(for: pause)
    }
  }

  private func hear(_ message: FleetMessage) {
    let now = elapsed
    switch message {
    case .following: spawn { await self.beat() }
    case .beat:
      if withState({ $0.heardBeat(at: now) }) { tell() }
      // One that was not acknowledged may wait although nothing was lost here.
      if withState({ $0.beginsSending() }) { spawn { await self.sendPending() } }
    case .stored(let record, let version):
      for signal in withState({ $0.stored(record, version) }) { signal.send() }
    case .released(let record):
      for signal in withState({ $0.wake(record) }) { signal.send() }
    case .fenced(let url, let version): withState { $0.fence(url, version, at: now) }
    case .renewed(let scope, let generation): withState { $0.renewed(scope, generation) }
    }
  }

  private func beatRegularly() async {
    while !Task.isCancelled {
      await beat()
      await renewLeases()
      do { try await configuration.clock.sleep(for: configuration.beat) } catch { return }
    }
  }

  /// Sends a beat, and looks whether the earlier ones were heard.
  private func beat() async {
    let scopes = withState { Array(Set($0.generations.keys).union([Self.allScopes, digest(of: .shared)])).sorted() }
    let began = elapsed
    withState { $0.sendsBeat(at: began) }
    // Whatever the breaker says: it is what closes it.
    var pulse: FleetPulse?
    do throws(FleetError) {
      pulse = try await store.beat(node, nonce: .random(in: 0...UInt64.max), scopes: scopes)
    } catch {
      withState { $0.failedBeat(error) }
    }
    let now = elapsed
    let replayed = withState { [pulse] state -> [FleetState.Floor] in
      state.tick(at: now, trust: configuration.trustWhileBlind)
      guard let pulse else { return [] }
      state.breaker.succeeded(at: now)
      state.error = nil
      return state.learn(pulse, of: scopes, since: began)
    }
    tell()
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

  /// Sends the fences that wait, the oldest first, until one fails again.
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
