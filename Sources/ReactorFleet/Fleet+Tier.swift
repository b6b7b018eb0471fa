import Foundation
package import HTTPCachingProxy
package import HTTPTypes
import Synchronization

extension Fleet: CacheTier {
  package func vouches(for key: RecordKey, _ head: Record.Head) -> Bool { withState { $0.vouches(for: key, head) } }

  package func refreshesEarly(_ head: Record.Head, of key: RecordKey, _ status: CopyStatus) -> Bool {
    guard configuration.refreshesEarly, withState({ $0.status == .following }) else { return false }
    return EarlyRefresh.isDue(
      age: status.age, lifetime: status.lifetime, cost: head.receivedAt.timeIntervalSince(head.requestedAt),
      random: configuration.random(), share: EarlyRefresh.share(of: key, receivedAt: head.receivedAt))
  }

  package func follows(_ key: RecordKey) -> Bool { withState { $0.follows(key) } }

  package func advance() { withState { _ in } }

  package func look(for key: RecordKey, _ request: HTTPFields, mayShare: Bool) -> (any CacheTierLook)? {
    guard withState({ $0.status != .off }) else { return nil }
    guard mayShare, configuration.shares == .everyScope || key.scope == .shared else { return OwnLook(self, key) }
    return FleetLook(self, key, request)
  }

  package func fence(_ urls: Set<String>, in scope: Scope, removes: Bool) async {
    guard withState({ $0.status != .off }) else { return }
    let scopes = configuration.shares == .everyScope ? Set([scope, .shared]) : [.shared]
    await withTaskGroup(of: Void.self) { group in
      for url in urls.sorted() {
        for scope in scopes {
          let fence = FleetState.PendingFence(url: url, scope: scope, removes: removes)
          group.addTask { try? await self.send(fence) }
        }
      }
    }
  }

  package func removeAll(in scope: Scope?) async {
    guard withState({ $0.status != .off }) else { return }
    let name = scope.map(Self.digest) ?? Self.allScopes
    let now = elapsed
    withState { $0.remove(name, at: now) }
    try? await renew(name)
  }
}

/// The look-ups of a request whose response stays in the process. A copy is used while messages
/// from the others arrive; otherwise the server validates it.
private final class OwnLook: CacheTierLook {
  private let fleet: Fleet
  private let key: RecordKey
  private let ticket: UnsharedTicket

  init(_ fleet: Fleet, _ key: RecordKey) {
    (self.fleet, self.key) = (fleet, key)
    // All servers are notified of a change of the shared scope, whichever scope makes it.
    ticket = UnsharedTicket(fleet, key, in: .shared)
  }

  func find(local: Record?) async -> CacheTierFinding {
    local.map { fleet.vouches(for: key, $0.head) } ?? true ? .same : .stale
  }

  func begin(asksAlone: Bool, mayWait: Bool) async -> CacheTierBeginning { .ask(ticket) }
}

/// The look-ups of one request.
private final class FleetLook: CacheTierLook {
  private let fleet: Fleet
  private let key: RecordKey
  private let request: HTTPFields
  private let start: Duration
  private let epoch: Int
  private let unshared: UnsharedTicket
  private let state = Mutex(State())

  private struct State {
    /// The time that the store has taken so far.
    var spent: Duration = .zero
    /// The time that was spent waiting for other servers.
    var waited: Duration = .zero
    var record: FleetRecordID?
    var versions = FleetVersions()
    /// `false` once the store has failed.
    var isConnected = true
    /// The version of the stored body that the response may confirm.
    var known: FleetVersion?
  }

  init(_ fleet: Fleet, _ key: RecordKey, _ request: HTTPFields) {
    (self.fleet, self.key, self.request, start) = (fleet, key, request, fleet.elapsed)
    epoch = fleet.withState(\.epoch)
    unshared = UnsharedTicket(fleet, key, in: key.scope)
  }

  /// Calls the store within the rest of the budget.
  private func call<Value: Sendable>(
    _ body: @escaping @Sendable () async throws(FleetError) -> Value
  ) async throws(FleetError) -> Value {
    let (began, spent) = (fleet.elapsed, state.withLock(\.spent))
    defer { state.withLock { $0.spent += fleet.elapsed - began } }
    return try await fleet.call(within: fleet.configuration.budget - spent, body)
  }

  func find(local: Record?) async -> CacheTierFinding {
    let isSuspect = local.map { !fleet.vouches(for: key, $0.head) } ?? false
    func checked(_ outcome: WritableKeyPath<FleetStatistics.Checks, Int>) {
      if isSuspect { fleet.withState { $0.checks[keyPath: outcome] += 1 } }
    }
    do throws(FleetError) {
      guard fleet.status != .alone else { throw .unavailable("this server is not connected to the others") }
      let spent = state.withLock(\.spent)
      let url = try await fleet.id(of: key.url, in: key.scope, within: fleet.configuration.budget - spent)
      let first = FleetRecordID(url: url, name: String(key.digest.prefix(16)))
      let known = local.flatMap { record in fleet.withState { $0.version(of: key, record.head) } }
      var (id, view) = (first, try await read(first, known))
      if let variant = try record(of: view, local)?.head.variant, !variant.matches(request) {
        id = FleetRecordID(url: url, name: "\(first.name).\(variant.digest(for: request).prefix(16))")
        view = try await read(id, known)
      }
      // An earlier look-up's result does not count for this one.
      state.withLock { ($0.record, $0.versions, $0.known) = (id, view.versions, nil) }
      let finding = try finding(view, id, local)
      switch finding {
      case .same: checked(\.unchanged)
      case .record: checked(\.changed)
      case .stale: checked(view.head == nil ? \.missing : \.changed)
      }
      return finding
    } catch {
      state.withLock { $0.isConnected = false }
      checked(\.unreachable)
      // The origin decides, unless the record is from a time without messages.
      return local.map { fleet.vouches(for: key, $0.head) } ?? true ? .same : .stale
    }
  }

  private func read(_ id: FleetRecordID, _ known: FleetVersion?) async throws(FleetError) -> FleetStoredRecord {
    let (began, spent) = (fleet.elapsed, state.withLock(\.spent))
    // A caller that joins another one's read also spends that time.
    defer { state.withLock { $0.spent = max($0.spent, spent + fleet.elapsed - began) } }
    return try await fleet.reading(id, known: known, in: epoch) { () throws(FleetError) in
      try await call { [fleet] () throws(FleetError) in try await fleet.store.read(id, known: known) }
    }
  }

  /// Returns the record that the store returned, whose body the caller may have; `nil` without a
  /// record.
  private func record(of view: FleetStoredRecord, _ local: Record?) throws(FleetError) -> Record? {
    guard let head = view.head, let body = view.body ?? local?.body else { return nil }
    do { return try RecordCodec.decode(head: head, body: body) } catch { throw .wrongData("\(error)") }
  }

  private func finding(
    _ view: FleetStoredRecord, _ id: FleetRecordID, _ local: Record?
  ) throws(FleetError) -> CacheTierFinding {
    guard let found = try record(of: view, local), let latest = view.versions.latest,
      // Another record may have the same digest.
      found.head.identity == key.identity, found.head.variant?.matches(request) ?? true
    else {
      // An eviction looks like a removal, so the origin validates the copy.
      fleet.withState { $0.forget(key) }
      return .stale
    }
    var record = found
    // It was received while the store was unreachable, so its order is unknown.
    if let local, local.head.invalidatedAt == nil, local.head.receivedAt > record.head.receivedAt,
      fleet.withState({ $0.version(of: key, local.head) }) == nil
    {
      fleet.withState { $0.forget(key) }
      return .stale
    }
    let isFenced = fleet.withState { state in
      guard !state.isFenced(id.url, view.versions) else { return true }
      state.note(
        key, id.url, receivedAt: record.head.receivedAt, view.versions.body, latest: latest, asked: epoch)
      return false
    }
    state.withLock { $0.known = view.versions.body }
    // Saving a record that is stored already would count as a change, for a response in flight.
    if let local, local.head.isSameExchange(as: record.head) {
      if isFenced { return .stale }
      // This server marked it stale by a change that the store does not know, or another server has
      // validated it since.
      if local.head.invalidatedAt == nil || fleet.withState({ $0.isPending(key) }) { return .same }
    }
    if isFenced { record.head.invalidate(at: fleet.configuration.now()) }
    return .record(record)
  }

  func begin(asksAlone: Bool, mayWait: Bool) async -> CacheTierBeginning {
    let (id, seen, isConnected) = state.withLock { ($0.record, $0.versions, $0.isConnected) }
    guard isConnected, let id, fleet.withState({ $0.status == .following }) else { return .ask(unshared) }
    let isPatient = state.withLock { $0.waited < fleet.configuration.patience }
    let wish: FleetLeaseRequest = asksAlone && isPatient ? .lease : .ticket
    // Done before the call of the store: messages sent meanwhile would be missed.
    let (signal, token) = (FleetSignal(), UUID())
    if mayWait { fleet.withState { $0.wait(for: id, token, signal) } }
    defer { fleet.withState { $0.stopWaiting(for: id, token) } }
    var isAsking = false
    if wish == .lease {
      isAsking = fleet.withState { $0.beginAsking(id) }
      guard isAsking else {
        guard mayWait else { return .held }
        await wait(for: signal, atMost: fleet.configuration.lease)
        return Task.isCancelled ? .ask(unshared) : .again(after: fleet.elapsed - start)
      }
    }
    defer { if isAsking { fleet.endAsking(id) } }
    do throws(FleetError) {
      let configuration = fleet.configuration
      switch try await call({ [fleet] () throws(FleetError) in
        try await fleet.store.begin(
          id, wish, lease: configuration.lease, retention: configuration.patience + configuration.pass)
      }) {
      case .granted(let ticket, let versions):
        // Until its end.
        isAsking = false
        let lease = lease(ticket, hasLease: true)
        // A response was stored between the look-up and the ticket.
        if versions.latest != seen.latest, versions.latest != nil {
          lease.giveUp()
          return .again(after: fleet.elapsed - start)
        }
        return .ask(lease)
      case .pass(let ticket, _): return .ask(lease(ticket, hasLease: false))
      case .failed: return .failed
      case .held(let time, _):
        guard mayWait else { return .held }
        await wait(for: signal, atMost: time)
        return Task.isCancelled ? .ask(unshared) : .again(after: fleet.elapsed - start)
      }
    } catch { return .ask(unshared) }
  }

  private func lease(_ ticket: FleetTicket, hasLease: Bool) -> FleetLease {
    FleetLease(fleet, ticket, key, known: state.withLock(\.known), epoch: epoch, hasLease: hasLease)
  }

  /// Waits until another server's request is finished.
  private func wait(for signal: FleetSignal, atMost lease: Duration) async {
    let began = fleet.elapsed
    let patience = fleet.configuration.patience - state.withLock(\.waited)
    let longest = min(lease + .milliseconds(1 + Int(49 * fleet.configuration.random())), patience)
    let timer = fleet.send(signal, after: longest)
    await signal.wait()
    timer.cancel()
    let waited = fleet.elapsed - began
    fleet.withState { $0.waited(waited) }
    // The store has answered, so its earlier delays no longer count.
    state.withLock { state in
      state.waited += max(waited, .milliseconds(1))
      state.spent = .zero
    }
  }
}

/// The ticket of a request whose response is not shared: the store is unreachable, or the response
/// must stay in this process.
private final class UnsharedTicket: CacheTicket {
  private let fleet: Fleet
  private let key: RecordKey
  private let scope: Scope
  private let moment: FleetState.Moment

  init(_ fleet: Fleet, _ key: RecordKey, in scope: Scope) {
    (self.fleet, self.key, self.scope, moment) = (fleet, key, scope, fleet.withState(\.moment))
  }

  func keep(_ record: Record, isConfirmation: Bool) {
    let id = fleet.knownID(of: key.url, in: scope)
    fleet.withState { state in
      // Without generations, no message can name it. While disconnected, missed messages do no
      // harm: the first message after it starts a new epoch.
      guard let url = id ?? (state.status == .following ? nil : FleetURLID(text: "")) else { return state.forget(key) }
      state.note(key, url, receivedAt: record.head.receivedAt, since: moment)
    }
  }

  func pass() {
    // It is stored nowhere, but a message may still declare it stale.
    guard let url = fleet.knownID(of: key.url, in: scope) else { return }
    fleet.withState { $0.note(key, url, receivedAt: .distantPast, since: moment) }
  }

  func fail() {}
}

/// A ticket of this server, with or without the lease.
private final class FleetLease: CacheTicket {
  private let hasLease: Bool
  private let fleet: Fleet
  private let ticket: FleetTicket
  private let key: RecordKey
  private let known: FleetVersion?
  /// The epoch in which the request began. After it, a missed change may be older than the request.
  private let epoch: Int
  private let isOver = Atomic<Bool>(false)

  init(_ fleet: Fleet, _ ticket: FleetTicket, _ key: RecordKey, known: FleetVersion?, epoch: Int, hasLease: Bool) {
    (self.fleet, self.ticket, self.key, self.known) = (fleet, ticket, key, known)
    (self.epoch, self.hasLease) = (epoch, hasLease)
    let now = fleet.elapsed
    if hasLease { fleet.withState { $0.leases[ticket] = now } }
  }

  deinit { giveUp() }

  func keep(_ record: Record, isConfirmation: Bool) {
    guard end() else { return }
    let version = ticket.version
    let isShared = record.body.count <= fleet.configuration.largestBody
    fleet.withState { state in
      state.note(
        key, ticket.record.url, receivedAt: record.head.receivedAt,
        isShared ? (isConfirmation ? known : version) : nil, latest: version, asked: epoch)
    }
    // This server has stored it already, for its own waiting requests.
    endAsking()
    guard isShared else { return release(.pass(fleet.configuration.pass)) }
    let head = Data(RecordCodec.encodeHead(of: record))
    let name = recordName(record)
    fleet.spawn { [fleet, ticket, key, known] in
      let id = FleetRecordID(url: ticket.record.url, name: name)
      // A response that varies is stored under a name that only its own fields determine.
      let own = FleetTicket(record: id, version: version)
      let change: FleetChange =
        if isConfirmation, let known, id == ticket.record { .confirmation(head: head, of: known) } else {
          .response(head: head, body: record.body)
        }
      let fresh = record.head.freshUntil.map { max(0, $0.timeIntervalSince(fleet.configuration.now())) } ?? 0
      let retention = fleet.configuration.keepsStale + .seconds(min(fresh, 86_400 * 365))
      let end = try? await fleet.call(within: .seconds(2)) { () throws(FleetError) in
        try await fleet.store.commit(own, change, retention: retention)
      }
      if end != .kept { fleet.withState { $0.forget(key) } }
      if id != ticket.record || end != .kept { try? await fleet.store.release(ticket, .abandoned) }
    }
  }

  /// Returns the name of the record: the ticket's name, unless the response is another variant.
  private func recordName(_ record: Record) -> String {
    let first = String(key.digest.prefix(16))
    guard let variant = record.head.variant else { return first }
    let name = "\(first).\(variant.digest.prefix(16))"
    // The first variant has the name that is looked up first.
    return ticket.record.name == first ? first : name
  }

  func pass() {
    guard end() else { return }
    // It is stored nowhere, but a message may still declare it stale.
    let (version, url) = (ticket.version, ticket.record.url)
    fleet.withState { $0.note(key, url, receivedAt: .distantPast, nil, latest: version, asked: epoch) }
    release(.pass(fleet.configuration.pass))
    endAsking()
  }

  func fail() { end(.failed(fleet.configuration.failure)) }
  func giveUp() { end(.abandoned) }

  private func end(_ reason: FleetRelease) {
    guard end() else { return }
    release(reason)
    endAsking()
  }

  private func endAsking() { if hasLease { fleet.endAsking(ticket.record) } }

  private func end() -> Bool {
    guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return false }
    fleet.withState { _ = $0.leases.removeValue(forKey: ticket) }
    return true
  }

  private func release(_ reason: FleetRelease) {
    fleet.spawn { [fleet, ticket] in try? await fleet.store.release(ticket, reason) }
  }
}
