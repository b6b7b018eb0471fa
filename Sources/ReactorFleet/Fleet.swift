import Foundation
public import HTTPCachingProxy
import HTTPTypes
import Synchronization

/// The servers that share one store of HTTP responses.
///
/// ```swift
/// let fleet = Fleet(store)
/// let cache = ProxyCache(persistence: MemoryPersistence(), fleet: fleet)
/// try await fleet.run()
/// ```
///
/// One server sends the request and the others reuse the response. A change through one server
/// makes the response stale on all. No request fails because of the store, and none waits for it
/// longer than ``FleetConfiguration/budget``: if the store is unreachable, each server contacts the
/// origin.
///
/// Nothing is shared before ``run()``, nor after it. A program has one fleet for any number of
/// caches.
public final class Fleet: Sendable {
  let store: any FleetStore
  let configuration: FleetConfiguration
  /// The name of this server, unique to the process.
  let node = String(UUID().uuidString.filter { $0 != "-" }.prefix(16))
  private let state: Mutex<FleetState>
  private let observers = Mutex<[UUID: Observer]>([:])
  /// Closes the current connection for messages.
  let feedEnd = Shared(FleetSignal())
  private let readings = Mutex<[FleetReading.ID: FleetReading]>([:])
  private let elapsedTime: @Sendable () -> Duration

  /// Creates a fleet over a store.
  ///
  /// ```swift
  /// var configuration = FleetConfiguration()
  /// configuration.budget = .milliseconds(50)
  /// let fleet = Fleet(store, configuration: configuration)
  /// ```
  ///
  /// - Parameters:
  ///   - store: The store, which has the namespace of the fleet.
  ///   - configuration: The settings. Default: those of ``FleetConfiguration/init()``.
  public init(_ store: any FleetStore, configuration: FleetConfiguration = FleetConfiguration()) {
    self.store = store
    self.configuration = configuration
    state = Mutex(FleetState(trust: configuration.trustWhileBlind))
    elapsedTime = configuration.clock.stopwatch()
  }

  /// The time since the fleet was created, by the configuration's clock.
  var elapsed: Duration { elapsedTime() }

  /// Runs `body` with the state under its lock, then notifies observers of the copies that `body`
  /// found out of date.
  func withState<Value: Sendable>(_ body: (inout FleetState) -> Value) -> Value {
    let now = elapsed
    let (value, change) = state.withLock { state in
      state.advance(to: now)
      return (body(&state), state.takeChange())
    }
    if let change { for observer in observers.withLock({ Array($0.values) }) { observer.tell(change) } }
    return value
  }

  /// Reports that a request no longer asks for a record's lease; other requests of this server wait
  /// for that.
  func endAsking(_ record: FleetRecordID) {
    for signal in withState({ $0.endAsking(record) }) { signal.send() }
  }

  /// Reads a record with `body`, or joins another request's read of it in this process.
  func reading(
    _ record: FleetRecordID, known: FleetVersion?, in epoch: Int,
    _ body: () async throws(FleetError) -> FleetStoredRecord
  ) async throws(FleetError) -> FleetStoredRecord {
    let id = FleetReading.ID(record: record, known: known, epoch: epoch)
    let (reading, isOwn) = readings.withLock { readings in
      if let other = readings[id] { return (other, false) }
      let own = FleetReading()
      readings[id] = own
      return (own, true)
    }
    // The other request may have failed because its client left.
    if !isOwn { if let view = await reading.view() { return view } else { return try await body() } }
    var view: FleetStoredRecord?
    defer {
      readings.withLock { $0[id] = nil }
      reading.end(view)
    }
    let read = try await body()
    view = read
    return read
  }

  private struct Observer: Sendable {
    let tell: @Sendable (CacheTierChange) -> Void
  }

  private final class Observation: CacheTierObservation {
    private weak let fleet: Fleet?
    private let id: UUID
    init(_ fleet: Fleet, _ id: UUID) { (self.fleet, self.id) = (fleet, id) }
    deinit { fleet?.observers.withLock { $0[id] = nil } }
  }

  package func observe(_ body: @escaping @Sendable (CacheTierChange) -> Void) -> any CacheTierObservation {
    let id = UUID()
    observers.withLock { $0[id] = Observer(tell: body) }
    return Observation(self, id)
  }

  /// Reports changes of the connection, in order.
  func tell() {
    while let news = withState({ $0.news() }) {
      configuration.statusChanged(news.status, news.error)
      withState { $0.told() }
    }
  }

  /// The current connection to the others.
  ///
  /// ```swift
  /// guard fleet.status == .following else { return .degraded }
  /// ```
  public var status: FleetStatus { withState(\.status) }

  /// The current numbers of the fleet.
  ///
  /// ```swift
  /// gauge.record(fleet.statistics.pendingInvalidations)
  /// ```
  public var statistics: FleetStatistics { withState(\.statistics) }

  /// Makes the responses of a URL stale on every server.
  ///
  /// ```swift
  /// try await fleet.invalidate("https://api.example.com/v1/products/7")
  /// ```
  ///
  /// - Parameters:
  ///   - url: The absolute URL, as the requests have it.
  ///   - scope: The owner of the responses. Default: `Scope.shared`.
  /// - Throws: The error of the store. The other servers are then notified later.
  public func invalidate(_ url: String, in scope: Scope = .shared) async throws(FleetError) {
    try await send(FleetState.PendingFence(url: RecordKey(method: .get, url: url).url, scope: scope, removes: false))
  }

  /// Removes the responses of every scope on every server.
  ///
  /// ```swift
  /// try await fleet.removeAll()  // after a deployment that changes every response
  /// ```
  ///
  /// - Throws: The error of the store. The other servers are then notified later.
  public func removeAll() async throws(FleetError) {
    let now = elapsed
    withState { $0.remove(Self.allScopes, at: now) }
    try await renew(Self.allScopes)
  }

  /// Removes the responses of a URL on every server.
  ///
  /// ```swift
  /// try await fleet.remove("https://api.example.com/v1/products/7")
  /// ```
  ///
  /// - Parameters:
  ///   - url: The absolute URL, as the requests have it.
  ///   - scope: The owner of the responses. Default: `Scope.shared`.
  /// - Throws: The error of the store. The other servers are then notified later.
  public func remove(_ url: String, in scope: Scope = .shared) async throws(FleetError) {
    try await send(FleetState.PendingFence(url: RecordKey(method: .get, url: url).url, scope: scope, removes: true))
  }
}

extension ProxyCache {
  /// Creates a cache whose responses other servers use too.
  ///
  /// ```swift
  /// let cache = ProxyCache(persistence: FilePersistence(directory: directory), fleet: fleet)
  /// ```
  ///
  /// - Parameters:
  ///   - persistence: The store of this server's copies.
  ///   - fleet: The fleet. A URL with a secret query item is never shared, nor a cookie. A response
  ///     to a request with credentials is shared only if `rules` are those of a shared cache and
  ///     the server permits it (RFC 9111 §3.5).
  ///   - rules: The rules by which the cache stores and uses responses. Pass the same rules on all
  ///     servers of a fleet.
  ///   - secretQueryItems: The names of query items whose values are secret.
  public init(
    persistence: any Persistence, fleet: Fleet, rules: CacheRules = .private,
    secretQueryItems: Set<String> = HTTPCache.defaultSecretQueryItems
  ) {
    self.init(persistence: persistence, rules: rules, secretQueryItems: secretQueryItems)
    tier = fleet
  }
}

// MARK: - Calls of the store

extension Fleet {
  /// Calls the store, unless the breaker is open. A fleet that is shutting down has little time
  /// left, and calls it in any case.
  ///
  /// A command that was sent is carried out even if it takes longer or the caller is cancelled.
  /// Only the store's behaviour counts for the breaker, not a caller that leaves.
  func call<Value: Sendable>(
    within budget: Duration, _ body: @escaping @Sendable () async throws(FleetError) -> Value
  ) async throws(FleetError) -> Value {
    let now = elapsed
    guard withState({ $0.status == .off || $0.breaker.admits(at: now) }) else {
      throw .unavailable("it has not answered lately")
    }
    guard budget > .zero else { throw .unavailable("this request has used up its time for it") }
    let (signal, end) = (FleetSignal(), CallEnd<Value>())
    let timer = spawn { [self] in
      do { try await configuration.clock.sleep(for: budget) } catch { return }
      if end.settle(.failure(.unavailable("it took longer than \(budget)"))) { count(end.result) }
      signal.send()
    }
    spawn { [self] in
      let result: Result<Value, FleetError>
      do throws(FleetError) { result = .success(try await body()) } catch { result = .failure(error) }
      if end.settle(result) { count(result) }
      timer.cancel()
      signal.send()
    }
    await signal.wait()
    switch end.result {
    case .success(let value)?: return value
    case .failure(let error)?: throw error
    case nil: throw .unavailable("the request to it was abandoned")
    }
  }

  /// Tells the breaker how a call has ended. An error that says why is an answer.
  private func count<Value>(_ result: Result<Value, FleetError>?) {
    let (now, jitter) = (elapsed, configuration.random())
    withState { state in
      if case .failure(.unavailable)? = result {
        state.breaker.failed(at: now, jitter: jitter)
      } else {
        state.breaker.succeeded(at: now)
      }
    }
  }

  /// Creates a task that is independent of its creator. All such tasks of the fleet come from here,
  /// so that it can run on one executor.
  @discardableResult func spawn(_ body: @escaping @Sendable @concurrent () async -> Void) -> Task<Void, Never> {
    Task(executorPreference: configuration.taskExecutor) { @concurrent in await body() }
  }

  /// Sends a signal after a while, unless the task is cancelled.
  func send(_ signal: FleetSignal, after time: Duration) -> Task<Void, Never> {
    spawn { [clock = configuration.clock] in
      try? await clock.sleep(for: time)
      signal.send()
    }
  }

  static func digest(of scope: Scope) -> String { String(SHA256Digest.hex(Data(scope.name.utf8)).prefix(32)) }

  /// Returns the id of a URL in the current generations, which are read at first.
  func id(of url: String, in scope: Scope, within budget: Duration) async throws(FleetError) -> FleetURLID {
    let scopes = [Self.allScopes, Self.digest(of: scope)]
    var generations: [FleetGeneration] = []
    for name in scopes {
      let now = elapsed
      if let generation = withState({ $0.scopes.use(name, at: now) }) {
        generations.append(generation)
      } else {
        let generation = try await call(within: budget) { [store] () throws(FleetError) in
          try await store.generation(of: name, renews: false)
        }
        withState { $0.scopes.learn(generation, of: name, at: now) }
        generations.append(generation)
      }
    }
    return Self.id(of: url, scopes[1], generations)
  }

  /// Returns the id of a URL, if its generations are known.
  package func knownID(of url: String, in scope: Scope) -> FleetURLID? {
    Self.knownID(of: url, in: scope, withState(\.scopes))
  }

  static func knownID(of url: String, in scope: Scope, _ scopes: FleetScopes) -> FleetURLID? {
    let name = digest(of: scope)
    guard let all = scopes[allScopes], let own = scopes[name] else { return nil }
    return id(of: url, name, [all, own])
  }

  private static func id(of url: String, _ scope: String, _ generations: [FleetGeneration]) -> FleetURLID {
    FleetURLID(text: SHA256Digest.hex(Data("\(generations[0]) \(generations[1]) \(scope) \(url)".utf8)))
  }

  static let allScopes = "all"

  /// Begins a new generation of a scope of which everything was removed.
  func renew(_ scope: String) async throws(FleetError) {
    let generation = try await call(within: configuration.budget) { [store] () throws(FleetError) in
      try await store.generation(of: scope, renews: true)
    }
    withState { state in
      state.renewals.remove(scope)
      state.renewed(scope, generation)
    }
  }

  /// Sends a fence, or keeps it for later.
  func send(_ fence: FleetState.PendingFence) async throws(FleetError) {
    let count = withState { $0.pendingCount(of: fence) }
    do throws(FleetError) {
      let id = try await id(of: fence.url, in: fence.scope, within: configuration.budget)
      let version = try await call(within: configuration.budget) { [store] () throws(FleetError) in
        try await store.fence(id, removes: fence.removes, replaying: nil)
      }
      let now = elapsed
      withState { state in
        state.fence(id, version, at: now)
        state.sent(fence, count, at: now)
        // It went to a generation that is over since.
        if Self.knownID(of: fence.url, in: fence.scope, state.scopes) != id { state.keep(fence) }
      }
    } catch {
      withState { $0.keep(fence) }
      throw error
    }
  }
}

/// The end of a call: its result, or that its time is over, whichever comes first.
private final class CallEnd<Value: Sendable>: Sendable {
  private let state = Mutex<Result<Value, FleetError>?>(nil)

  var result: Result<Value, FleetError>? { state.withLock { $0 } }

  /// Ends the call.
  ///
  /// - Returns: `false` if it has ended already.
  func settle(_ result: Result<Value, FleetError>) -> Bool {
    state.withLock { state in
      guard state == nil else { return false }
      state = result
      return true
    }
  }
}

/// A value that several tasks share.
final class Shared<Value: Sendable>: Sendable {
  private let state: Mutex<Value>
  init(_ value: Value) { state = Mutex(value) }
  var value: Value {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }
}
