import Foundation
import HTTPCaching
package import ReactorCore
import ReactorOperators
import ServerSentEvents
import Synchronization

/// The stream of changes of a layer: what changes on the server is on screen a moment later.
///
/// ```
/// events ─▶ EventStreamParser ─▶ LiveMapping ─▶ LiveState ─▶ marks in the layer
///                                                 │           observed keys ─▶ RefetchQueue
///                                                 └ when to connect, what was missed
/// ```
///
/// An event marks what it names as stale. What is observed of it is requested again: at once, each
/// key once however many events name it, and no more than ``LiveConfiguration/concurrency`` at a
/// time. A request under way goes on, so that a value that changes all the time is shown all the
/// time. What is not observed causes no request.
///
/// When changes may have been missed, everything that the stream covers is stale. A stream is a
/// hint: the freshness that responses state stays in force, and polling goes on at a long interval.
///
/// Get it from ``ReactorCore/ModelLayer/live``. Its methods may be called from any isolation.
public final class LiveUpdates: Sendable {
  /// Requests the stream behind a position.
  typealias Opening = @Sendable (LiveRequest) async throws(ReactorError) -> LiveResponse

  let mapping: LiveMapping
  private let configuration: LiveConfiguration
  private let link: Link
  let open: Opening
  /// The time on the configuration's clock since the updates were created.
  let elapsed: @Sendable () -> Duration
  private let sleep: @Sendable (_ until: Duration) async throws -> Void
  let random: SplitMix64
  let executor: (any TaskExecutor)?
  let reader: ChangeReader
  /// The key under which the place is saved; `nil` if it is not.
  let placeKey: RecordKey?
  let state: Mutex<State>

  private struct Link: Sendable {
    weak var layer: LayerContext?
  }

  struct State {
    var live: LiveState
    var saving: PlaceSaving
    var queue: RefetchQueue
    var connection: (task: TaskHandle, number: UInt64)?
    /// The task that waits for the next deadline, and the deadline.
    var timer: (task: TaskHandle, at: Duration)?
    /// The tasks that follow connectivity and the app's activity.
    var watchers: [TaskHandle] = []
    /// Changes whose keys are requested once a write is over.
    var held = HeldChanges()
    /// The task that applies the latest value that the server has told.
    var applying: Task<Void, Never>?
    /// The removals of everything so far.
    var removals = 0
    /// Gaps and events whose keys are requested later than they are marked.
    var spread: [(set: KeySet, at: Duration)] = []
    var isPollingLimited = false
    var isLimiting = false
    var readers: [UInt64: AsyncStream<LiveStatus>.Continuation] = [:]
    var lastReader: UInt64 = 0
    /// The last status that readers were told, in words.
    var told = ""
    var record = LiveRecord()

    /// Removes the connection, unless a later one has replaced it.
    mutating func takeConnection(upTo number: UInt64) -> TaskHandle? {
      guard let connection, connection.number <= number else { return nil }
      self.connection = nil
      return connection.task
    }

    /// Adds keys that are requested later. Beyond a limit, they go with the last that waits.
    mutating func spread(_ set: KeySet, until time: Duration) {
      guard spread.count >= 64, var last = spread.popLast() else { return spread.append((set, time)) }
      last.set.formUnion(set)
      spread.append((last.set, max(last.at, time)))
    }

    /// Tells the readers a status that differs from the last.
    mutating func tellStatus(at time: Duration) {
      let status = live.status
      let text = status.description
      guard text != told else { return }
      told = text
      record.add(.status(status.withoutBody), at: time)
      for reader in readers.values { reader.yield(status) }
    }

    /// Returns the limit that the layer has yet to know; `nil` if it knows, or is being told.
    mutating func beginLimit() -> Bool? {
      guard !isLimiting, live.limitsPolling != isPollingLimited else { return nil }
      (isLimiting, isPollingLimited) = (true, live.limitsPolling)
      return isPollingLimited
    }

    var deadline: Duration? {
      ([live.deadline, queue.deadline, saving.deadline, held.deadline] + spread.map(\.at)).compactMap(\.self).min()
    }
  }

  init(
    _ layer: LayerContext, mapping: LiveMapping, configuration: LiveConfiguration, place: String? = nil, base: String,
    open: @escaping Opening
  ) {
    (self.mapping, self.configuration, self.open) = (mapping, configuration, open)
    link = Link(layer: layer)
    (elapsed, sleep) = layer.configuration.clock.timeline()
    executor = layer.configuration.taskExecutor
    random = SplitMix64(seed: configuration.seed ?? .random(in: 0 ... .max))
    reader = ChangeReader(url: layer.urlReader(relativeTo: base))
    // Without positions, each connection is a gap.
    placeKey = mapping.resumes && layer.cache.isPersistent ? layer.key(ofURL: place ?? base).place : nil
    let isRestored = placeKey == nil
    state = Mutex(
      State(
        live: LiveState(configuration, mapping, isRestored: isRestored, random: random),
        saving: PlaceSaving(isNeeded: !isRestored),
        queue: RefetchQueue(concurrency: configuration.concurrency, interval: configuration.interval)))
    layer.followOwnWrites(sendsIDs: mapping.reading == nil)
    if let signIn = layer.backend?.authentication as? any SignInObservable {
      signIn.observeSignIn(self) { $0.signedIn() }
    }
    restore(layer)
  }

  deinit {
    let (tasks, readers) = state.withLock { state in
      ([state.connection?.task, state.timer?.task].compactMap(\.self) + state.watchers, Array(state.readers.values))
    }
    for task in tasks { task.cancel() }
    for reader in readers { reader.finish() }
  }

  var layer: LayerContext? { link.layer }
}

extension LiveUpdates {
  /// The state of the stream now.
  public var status: LiveStatus { state.withLock(\.live.status) }

  /// The status, and again after each change. A slow reader skips intermediate ones, but never the
  /// last. The sequence ends with the layer, and when its reader is cancelled.
  ///
  /// ```swift
  /// if let live = layer.live { for await status in live.statuses { banner.isHidden = status.isLive
  /// } }
  /// ```
  public var statuses: some AsyncSequence<LiveStatus, Never> & Sendable {
    let (stream, continuation) = AsyncStream.makeStream(of: LiveStatus.self, bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state in
      state.lastReader += 1
      state.readers[state.lastReader] = continuation
      continuation.yield(state.live.status)
      return state.lastReader
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.readers.removeValue(forKey: id) }
    }
    return stream
  }

  /// The place in the server's history up to which changes were applied; empty before the first.
  package var lastEventID: String { state.withLock(\.live.lastEventID) }

  /// Opens the stream now, without a wait. An open one is replaced.
  ///
  /// ```swift
  /// .refreshable { layer.live?.reconnect() }
  /// ```
  ///
  /// Call it where the program knows better than the stream, such as after a push notification. In
  /// the background, the stream is closed again five seconds later.
  /// Nothing happens while nothing is observed.
  public func reconnect() {
    retryFailed()
    update { state, time in state.reconnect(at: time) }
  }

  /// Requests again what the last credential was not good for.
  private func signedIn() {
    // First: the stream may mark what was fetched with that credential.
    enqueue(.everything, at: elapsed())
    update { state, time in state.signedIn(at: time) }
  }

  /// Requests at once what waits because its last request failed.
  private func retryFailed() {
    let time = elapsed()
    state.withLock { $0.queue.retryFailed(at: time) }
  }
}

extension LiveUpdates: LayerPart {
  package func willRemoveAll() -> PartRemoval {
    update { state, _ in state.clear() }
    state.withLock { state in
      state.queue.removeAll()
      state.spread = []
      state.held.removeAll()
      state.record.removeSteps()
      state.removals += 1
    }
    return PartRemoval({}, end: { [weak self] in self?.update { state, time in state.cleared(at: time) } })
  }

  package func wentOnline() {
    retryFailed()
    update { state, time in state.reachable(true, at: time) }
  }

  package func observationChanged() {
    guard let layer else { return }
    if layer.isObserved { watch(layer) }
    // Read under the lock, since two threads may tell of opposite changes.
    update { state, time in state.observed(layer.isObserved, at: time) }
  }

  package func arrivedOutdated(_ key: RecordKey) {
    let time = elapsed()
    let isLagging = layer?.isLagging(key) == true
    state.withLock { state in
      guard isLagging else { return state.queue.add([key], at: time) }
      state.queue.lagged(key, at: time)
      state.record.lagged(key, at: time)
    }
    settle()
  }

  package func writeEnded() {
    releaseHeld(at: elapsed(), afterWrite: true)
    settle()
  }
}

extension LiveUpdates {
  /// Changes the state under its lock, and performs the actions without it.
  func update(_ change: (inout LiveState, Duration) -> [LiveState.Action]) {
    let time = elapsed()
    let (actions, removals) = state.withLock { state in
      let actions = change(&state.live, time)
      state.saving.changed(state.live, performs: !actions.isEmpty, at: time)
      state.record.note(actions, at: time)
      state.tellStatus(at: time)
      return (actions, state.removals)
    }
    for action in actions { perform(action, at: time, removals) }
    if !actions.isEmpty { state.withLock { $0.saving.performed() } }
    settle()
  }

  /// - Parameter removals: the removals of everything before the action.
  private func perform(_ action: LiveState.Action, at time: Duration, _ removals: Int) {
    switch action {
    case .connect(let number, let request): connect(number, request)
    case .disconnect(let number): state.withLock { $0.takeConnection(upTo: number) }?.cancel()
    case .mark(let change, let spread): mark(change, spread, at: time, removals)
    case .markCovered(let spread):
      guard let layer else { return }
      mark(LiveChange(layer.set(of: mapping.covers)), spread, at: time, removals)
    }
  }

  /// Starts what is due, and the timer for what is not.
  func settle() {
    let time = elapsed()
    let due = state.withLock { state in
      let due = state.spread.filter { $0.at <= time }
      state.spread.removeAll { $0.at <= time }
      return due
    }
    for (set, _) in due { enqueue(set, at: time) }
    releaseHeld(at: time)
    let keys = state.withLock { state in
      let keys = state.queue.next(at: time)
      state.record.note(requests: keys.count, queued: state.queue.count)
      return keys
    }
    for key in keys { request(key) }
    savePlace(at: time)
    limitPolling()
    startTimer()
  }

  /// Tells the layer whether covered streams poll rarely. One thread does so at a time, until the
  /// layer knows the latest.
  private func limitPolling() {
    while let isLimited = state.withLock({ $0.beginLimit() }) {
      guard let layer else { return }
      layer.limitPolling(isLimited ? (layer.set(of: mapping.covers), configuration.pollingBackstop) : nil)
      state.withLock { $0.isLimiting = false }
    }
  }

  private func startTimer() {
    let (new, old) = state.withLock { state -> ((task: TaskHandle, at: Duration)?, TaskHandle?) in
      guard let deadline = state.deadline else { return (nil, state.timer.take()?.task) }
      guard state.timer?.at != deadline else { return (nil, nil) }
      let old = state.timer?.task
      state.timer = (TaskHandle(priority: nil), deadline)
      return (state.timer, old)
    }
    old?.cancel()
    guard let new else { return }
    new.task.attach(
      spawnApart(on: executor) { [weak self, sleep] in
        do { try await sleep(new.at) } catch { return }
        self?.rang(new.task)
      })
  }

  private func rang(_ task: TaskHandle) {
    let isLatest = state.withLock { state in
      guard state.timer?.task === task else { return false }
      state.timer = nil
      return true
    }
    if isLatest { update { state, time in state.time(time) } }
  }

  /// Follows connectivity and the app's activity, from the first observation on.
  private func watch(_ layer: LayerContext) {
    let tasks = state.withLock { state -> [TaskHandle] in
      guard state.watchers.isEmpty else { return [] }
      state.watchers = [TaskHandle(priority: nil), TaskHandle(priority: nil)]
      return state.watchers
    }
    guard tasks.count == 2 else { return }
    tasks[0].attach(
      spawnApart(on: executor) { [weak self, activity = configuration.activity] in
        for await _ in activity.leftActive {
          // Begun first, so that no return is missed.
          let returns = activity.becameActive
          self?.update { state, time in
            state.left(at: time)
            return []
          }
          for await _ in returns { break }
          self?.update { state, time in state.returned(at: time) }
        }
      })
    guard layer.configuration.checksReachability, !layer.isLoopback, let reachability = layer.reachability else {
      return
    }
    tasks[1].attach(
      spawnApart(on: executor) { [weak self] in
        for await isReachable in reachability.changes {
          self?.update { state, time in state.reachable(isReachable, at: time) }
        }
      })
  }
}
