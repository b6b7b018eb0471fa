import Foundation
import Synchronization

/// What a ``Reactor`` is inside: the shell around the state machines. It locks, asks, unlocks, and only then does I/O, resumes
/// or calls anybody's code.
///
/// The path: ``hit(_:_:)`` asks memory on the caller's own executor. On a miss the caller joins the key's ``Flight``, which runs in
/// tasks of its own: load, request, save (`ReactorEngine+Flights`).
final class ReactorEngine<Model: Sendable>: Sendable {
  typealias Entry = KeyState<Model>
  typealias Outcome = Entry.Outcome

  let flow: ReactorFlow<Model>
  let core: LayerCore
  /// The clock's time since the reactor was made.
  let elapsed: @Sendable () -> Duration
  /// Sleeps until that time.
  let sleep: @Sendable (_ until: Duration) async throws -> Void
  private let defaultLifetime: Double
  private let staleIfError: Double
  /// Guards everything that changes.
  let state: Mutex<State>

  struct State {
    var memory: ModelMemory<Entry>
    /// What ``ReactorEngine/elapsed`` said before the lock was taken: the clock is its user's.
    var time: Duration = .zero
    var lastID: UInt64 = 0
    var revision: UInt64 = 0
    /// Set while models wait for their eviction.
    var sweeper: FlightTask?
    /// What the wall clock said then; `nil` where nobody needs to know.
    var date: Date?
    /// Set while somebody subscribes.
    var reachabilityWatcher: FlightTask?
    var subscriberCount = 0
    /// Set while somebody polls.
    var powerWatcher: FlightTask?
    var pollerCount = 0
    var isSavingPower = false

    mutating func nextID() -> UInt64 {
      lastID += 1
      return lastID
    }
  }

  init(flow: ReactorFlow<Model>) {
    self.flow = flow
    core = flow.core
    let configuration = flow.configuration
    (elapsed, sleep) = Self.stopwatch(configuration.clock)
    defaultLifetime = configuration.freshFor.inSeconds
    staleIfError = configuration.staleIfError.inSeconds
    state = Mutex(
      State(
        memory: ModelMemory(limit: configuration.memoryLimit, keepUnusedFor: configuration.keepUnusedFor)))
    core.add(self)
    flow.decoded.connect { [weak self] key in self?.state.withLock { $0.memory.entries[key]?.copy } }
  }

  deinit {
    state.withLock { state in
      state.sweeper?.cancel()
      state.reachabilityWatcher?.cancel()
      state.powerWatcher?.cancel()
    }
  }

  private static func stopwatch<C: Clock<Duration>>(
    _ clock: C
  ) -> (elapsed: @Sendable () -> Duration, sleep: @Sendable (Duration) async throws -> Void) {
    let start = clock.now
    return ({ start.duration(to: clock.now) }, { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) })
  }

  var now: Date { flow.configuration.now() }
}

extension ReactorEngine {
  /// The model that memory has for `resource`, where the policy is content with it. Never suspends.
  func hit(_ resource: Resource, _ policy: FetchPolicy) -> Model? {
    guard policy.asksStoreFirst, let found = remembered(resource),
      FetchDecision(policy, copy: standing(found.copy, for: resource, at: now)) == .use
    else { return nil }
    if core.events.hasObservers {
      append(found.key, .memoryHit)
      core.events.deliver()
    }
    return found.copy.model
  }

  /// The model that memory has, fresh or not.
  func cached(_ resource: Resource) -> Model? {
    guard resource.readsOnly else { return nil }
    if let found = remembered(resource) { return found.copy.isVisible(to: resource) ? found.copy.model : nil }
    guard let key = try? flow.key(resource) else { return nil }
    let copy = state.withLock { $0.memory.entry(of: key, as: resource)?.copy }
    return copy.flatMap { $0.isVisible(to: resource) ? $0.model : nil }
  }

  private func remembered(_ resource: Resource) -> (key: RecordKey, copy: Copy<Model>)? {
    state.withLock { state in
      guard let entry = state.memory.entry(of: resource), let copy = entry.copy else { return nil }
      return (entry.key, copy)
    }
  }

  /// How a copy stands for `resource`; `nil` where there is none that may be kept, or it is another variant.
  func standing(_ copy: Copy<Model>?, for resource: Resource, at now: Date) -> Standing? {
    guard let copy, copy.isSelected(by: resource) else { return nil }
    return copy.freshness.standing(
      at: now, freshFor: resource.freshFor?.inSeconds, fallback: defaultLifetime, staleIfError: staleIfError)
  }

  /// Seconds for which a copy is fresh from now on; `nil` where it is stale, or is none for `resource`.
  func freshness(_ copy: Copy<Model>?, for resource: Resource, at now: Date) -> Double? {
    guard let copy, copy.isSelected(by: resource) else { return nil }
    return copy.freshness.rest(at: now, freshFor: resource.freshFor?.inSeconds, fallback: defaultLifetime)
  }

  func append(_ key: RecordKey, _ kind: @autoclosure () -> ReactorEvent.Kind) {
    core.events.append(ReactorEvent(key: key, model: "\(Model.self)", kind: kind()))
  }
}

extension Copy {
  /// Whether it may be shown outside of the stream that it arrived in.
  func isVisible(to resource: Resource) -> Bool { !freshness.isNoStore && isSelected(by: resource) }
}
