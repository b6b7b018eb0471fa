import HTTPTypes

/// The work under way for one key, and who waits for it: a state machine that returns actions.
///
/// It knows neither models nor tasks nor time. Waiters join with a policy; the network is asked at most once, and
/// persistence at most once for the same header fields, one load after the other: other fields may ask for another variant
/// (RFC 9111 §4.1). Each waiter is resolved by the first answer that its policy may use. When the last waiter is gone, the
/// flight ends. The shell performs what is returned, after it has unlocked.
struct FlightMachine: Sendable {
  typealias WaiterID = UInt64

  struct Waiter: Sendable {
    enum Kind: Sendable { case caller, stream, background }
    var id: WaiterID
    var kind: Kind
    var resource: Resource
    var policy: FetchPolicy
    /// Of the task that awaits it, where that works for an owner.
    var wait: LockOwner.Wait?
    fileprivate var waitsFor: Stage = .persistence

    init(id: WaiterID, kind: Kind, resource: Resource, policy: FetchPolicy, wait: LockOwner.Wait? = nil) {
      self.id = id
      self.kind = kind
      self.resource = resource
      self.policy = policy
      self.wait = wait
    }

    /// The layer itself, which revalidates for nobody who waits.
    static func background(_ resource: Resource, _ policy: FetchPolicy) -> Waiter {
      Waiter(id: FlightMachine.background, kind: .background, resource: resource, policy: policy)
    }
  }

  fileprivate enum Stage: Sendable {
    case persistence, network
    /// The network failed; persistence may have something that stands in.
    case fallback(ReactorError)
  }

  enum Action: Sendable {
    /// Load what persistence has for the resource, and report it to ``loaded(answers:copy:)``.
    case load(Resource)
    case request(Resource)
    /// The waiter gets the copy that the key has now. A stream may stay a waiter after it.
    case use(Waiter)
    case fail(Waiter, ReactorError)
    /// Nobody waits any more: whatever still runs is to be cancelled.
    case end
  }

  private enum Request { case notAsked, running, paused, failed(ReactorError) }

  /// Tells this flight from an earlier one of the key: answers to that one are not its.
  let id: UInt64
  private(set) var waiters = FlightWaiters()
  /// The header fields that a load is under way for.
  private var fieldsLoading: HTTPFields?
  /// The header fields that persistence has answered for.
  private var fieldsLoaded: Set<HTTPFields> = []
  private var request = Request.notAsked

  /// The layer's number as a waiter.
  static let background: WaiterID = 0

  init(id: UInt64) { self.id = id }

  /// A Boolean value that indicates whether it waits for connectivity.
  var isPaused: Bool {
    if case .paused = request { true } else { false }
  }

  /// What it does now.
  var phase: FlightPhase {
    switch request {
    case .notAsked, .failed: .loading
    case .running: .requesting
    case .paused: .paused
    }
  }

  /// A Boolean value that indicates whether a background revalidation is under way.
  var hasBackgroundWaiter: Bool { waiters.contains(Self.background) }

  /// The status of the copy at hand for a resource.
  typealias CopyStatuses = (Resource) -> CopyStatus?

  mutating func join(_ waiter: Waiter, copy: CopyStatuses) -> [Action] {
    var waiter = waiter
    waiter.waitsFor = waiter.policy.asksStoreFirst ? .persistence : .network
    waiters.append(waiter)
    var actions: [Action] = []
    if !waiter.policy.asksStoreFirst {
      ask(for: waiter, isNew: true, copy: copy, into: &actions)
    } else if hasLoaded(waiter) {
      decide(for: waiter, copy: copy, into: &actions)
    } else {
      load(for: waiter, into: &actions)
    }
    return finish(actions)
  }

  mutating func leave(_ id: WaiterID) -> [Action] {
    waiters.remove(id)
    return finish([])
  }

  /// Persistence has answered; what it had is the key's copy by now. Waiters whom that does not answer get a load of their
  /// own.
  ///
  /// - Parameter answers: whether what was loaded is what a resource asks for.
  mutating func loaded(answers: (Resource) -> Bool = { _ in true }, copy: CopyStatuses) -> [Action] {
    if let fields = fieldsLoading.take() { fieldsLoaded.insert(fields) }
    var actions: [Action] = []
    let waiting = waiters.inOrder
    // Mostly all have the fields that were asked for; only the others need a look at the variant.
    for waiter in waiting where !hasLoaded(waiter) && answers(waiter.resource) {
      fieldsLoaded.insert(waiter.resource.headers)
    }
    for waiter in waiting where hasLoaded(waiter) {
      switch waiter.waitsFor {
      case .persistence: decide(for: waiter, copy: copy, into: &actions)
      case .fallback(let error): fall(waiter, error, copy: copy, into: &actions)
      case .network:
        if isPaused { showWhilePaused(waiter, copy: copy, into: &actions) }
      }
    }
    if let next = waiters.inOrder.first(where: wantsLoad) { load(for: next, into: &actions) }
    return finish(actions)
  }

  /// The network has answered; its model is the key's copy by now.
  ///
  /// - Parameter answers: whether it is what the resource asks for. The waiters for whom it is another variant stay: the
  ///   flight is to be begun again for them.
  mutating func succeeded(answers: (Resource) -> Bool = { _ in true }) -> [Action] {
    let answered = waiters.inOrder.filter { answers($0.resource) }
    for waiter in answered { waiters.remove(waiter.id) }
    return finish(answered.map { .use($0) })
  }

  /// The network has failed.
  mutating func failed(_ error: ReactorError, copy: CopyStatuses) -> [Action] {
    request = .failed(error)
    var actions: [Action] = []
    for waiter in waiters.inOrder {
      if case .network = waiter.waitsFor { fall(waiter, error, copy: copy, into: &actions) }
    }
    return finish(actions)
  }

  /// There is no connectivity: streams wait for it, the others fail now.
  mutating func unreachable(copy: CopyStatuses) -> [Action] {
    // Those too that wait for persistence: they may have to ask next.
    let streams = waiters.inOrder.filter { $0.kind == .stream }
    for waiter in streams { waiters.remove(waiter.id) }
    var actions = failed(.noConnectivity, copy: copy)
    guard !streams.isEmpty else { return actions }
    if case .end? = actions.last { actions.removeLast() }
    for waiter in streams { waiters.append(waiter) }
    request = .paused
    for waiter in streams where waiter.isWaitingForNetwork { showWhilePaused(waiter, copy: copy, into: &actions) }
    return actions
  }

  /// There is connectivity again.
  mutating func reconnected() -> [Action] {
    guard case .paused = request else { return [] }
    guard let first = waiters.inOrder.first(where: \.isWaitingForNetwork) ?? waiters.first else { return [] }
    request = .running
    return [.request(first.resource)]
  }

  /// The same waiters in a new flight; they ask from the beginning.
  func restarted(id: UInt64, copy: CopyStatuses) -> (FlightMachine, [Action]) {
    var flight = FlightMachine(id: id)
    var actions: [Action] = []
    for waiter in waiters.inOrder { actions += flight.join(waiter, copy: copy) }
    return (flight, actions)
  }
}

extension FlightMachine {
  /// Persistence was asked for `waiter`; what does its policy make of the copy?
  private mutating func decide(for waiter: Waiter, copy: CopyStatuses, into actions: inout [Action]) {
    switch FetchDecision(waiter.policy, copy(waiter.resource)) {
    // The layer is there to ask the network: a copy that may be served stale is no answer to it.
    case .useAndRevalidate where waiter.kind == .background: ask(for: waiter, isNew: false, copy: copy, into: &actions)
    case .use: resolve(waiter, .use(waiter), into: &actions)
    case .notCached: resolve(waiter, .fail(waiter, .notCached), into: &actions)
    case .ask: ask(for: waiter, isNew: false, copy: copy, into: &actions)
    case .useAndRevalidate:
      resolve(waiter, .use(waiter), into: &actions)
      revalidate(waiter, copy: copy, into: &actions)
    }
  }

  /// The layer takes the place of a waiter that was content with a stale copy. A stream stays itself, so that it sees
  /// the answer and can wait for connectivity.
  private mutating func revalidate(_ waiter: Waiter, copy: CopyStatuses, into actions: inout [Action]) {
    var successor = waiter
    if waiter.kind == .caller {
      guard !hasBackgroundWaiter else { return }
      successor.id = Self.background
      successor.kind = .background
    }
    successor.waitsFor = .network
    waiters.append(successor)
    ask(for: successor, isNew: false, copy: copy, into: &actions)
  }

  private mutating func ask(for waiter: Waiter, isNew: Bool, copy: CopyStatuses, into actions: inout [Action]) {
    waiters.update(waiter.id) { $0.waitsFor = .network }
    switch request {
    case .notAsked:
      request = .running
      actions.append(.request(waiter.resource))
    case .running: break
    case .paused where waiter.kind == .stream: showWhilePaused(waiter, copy: copy, into: &actions)
    case .failed(let error) where !isNew:
      // It was asked while this waiter waited for persistence: that was its request too.
      fall(waiter, error, copy: copy, into: &actions)
    case .paused, .failed:
      request = .running
      actions.append(.request(waiter.resource))
    }
  }

  private mutating func fall(_ waiter: Waiter, _ error: ReactorError, copy: CopyStatuses, into actions: inout [Action])
  {
    if waiter.policy.servesStale(copy(waiter.resource), on: error) {
      resolve(waiter, .use(waiter), into: &actions)
    } else if waiter.policy == .networkFirst, error.isNetworkFailure, !hasLoaded(waiter) {
      waiters.update(waiter.id) { $0.waitsFor = .fallback(error) }
      load(for: waiter, into: &actions)
    } else {
      resolve(waiter, .fail(waiter, error), into: &actions)
    }
  }

  /// A stream that waits for connectivity shows meanwhile what stands in for the network's failure.
  private mutating func showWhilePaused(_ waiter: Waiter, copy: CopyStatuses, into actions: inout [Action]) {
    if waiter.policy.servesStale(copy(waiter.resource), on: .noConnectivity) {
      actions.append(.use(waiter))
    } else if waiter.policy == .networkFirst {
      load(for: waiter, into: &actions)
    }
  }

  private func hasLoaded(_ waiter: Waiter) -> Bool { fieldsLoaded.contains(waiter.resource.headers) }

  /// Returns whether a load of its own would help the waiter.
  private func wantsLoad(_ waiter: Waiter) -> Bool {
    guard !hasLoaded(waiter) else { return false }
    return switch waiter.waitsFor {
    case .persistence, .fallback: true
    case .network: isPaused && waiter.kind == .stream && waiter.policy == .networkFirst
    }
  }

  /// Begins a load for `waiter`. One at a time: the end of the one under way begins the next.
  private mutating func load(for waiter: Waiter, into actions: inout [Action]) {
    guard fieldsLoading == nil, !hasLoaded(waiter) else { return }
    fieldsLoading = waiter.resource.headers
    actions.append(.load(waiter.resource))
  }

  private mutating func resolve(_ waiter: Waiter, _ action: Action, into actions: inout [Action]) {
    waiters.remove(waiter.id)
    actions.append(action)
  }

  /// An empty flight ends, and starts nothing first.
  private func finish(_ actions: [Action]) -> [Action] {
    guard waiters.isEmpty else { return actions }
    return actions.filter(\.isResolution) + [.end]
  }
}

extension FlightMachine.Waiter {
  fileprivate var isWaitingForNetwork: Bool {
    if case .network = waitsFor { true } else { false }
  }
}

extension FlightMachine.Action {
  fileprivate var isResolution: Bool {
    switch self {
    case .use, .fail: true
    case .load, .request, .end: false
    }
  }
}

/// Who waits for a flight, in the order of joining. Each is found by its number, so that thousands may come and go.
struct FlightWaiters: Sendable {
  private struct Place: Sendable {
    let order: UInt64
    var waiter: FlightMachine.Waiter
  }

  private var places: [FlightMachine.WaiterID: Place] = [:]
  private var lastOrder: UInt64 = 0

  var isEmpty: Bool { places.isEmpty }
  var first: FlightMachine.Waiter? { places.values.min { $0.order < $1.order }?.waiter }
  var inOrder: [FlightMachine.Waiter] { places.values.sorted { $0.order < $1.order }.map(\.waiter) }

  /// The waits of those that work for an owner.
  var waits: [LockOwner.Wait] { places.values.compactMap(\.waiter.wait) }

  func contains(_ id: FlightMachine.WaiterID) -> Bool { places[id] != nil }

  mutating func append(_ waiter: FlightMachine.Waiter) {
    lastOrder += 1
    places[waiter.id] = Place(order: lastOrder, waiter: waiter)
  }

  mutating func update(_ id: FlightMachine.WaiterID, _ change: (inout FlightMachine.Waiter) -> Void) {
    guard var place = places[id] else { return }
    change(&place.waiter)
    places[id] = place
  }

  mutating func remove(_ id: FlightMachine.WaiterID) { places[id] = nil }
}

/// What a flight does now.
package enum FlightPhase: String, Sendable {
  /// It asks persistence, or decides on what came of that.
  case loading
  /// It asks the network, parses and saves.
  case requesting
  /// It waits for connectivity.
  case paused
}
