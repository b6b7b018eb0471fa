import HTTPTypes

/// The work under way for one key and its waiters: a state machine that returns actions.
///
/// The machine does not see models, tasks or time. Waiters join with a policy. At most one request
/// is under way, and the waiters share it. Persistence is read once per set of header fields, one
/// load at a time, since other fields may select another variant (RFC 9111 §4.1). The first answer
/// that a waiter's policy accepts resolves that waiter. The flight ends with its last waiter. The
/// shell performs the returned actions after it unlocks.
struct FlightMachine: Sendable {
  typealias WaiterID = UInt64

  struct Waiter: Sendable {
    enum Kind: Sendable { case caller, stream, background }
    var id: WaiterID
    var kind: Kind
    var resource: Resource
    var policy: FetchPolicy
    /// The wait of the task that awaits the flight, if that task works for an owner.
    var wait: LockOwner.Wait?
    /// A Boolean value that indicates whether the request must have no validators.
    var isUnconditional = false
    /// A Boolean value that indicates whether the request continues for the streams of the key when
    /// the waiter leaves.
    var asksForStreams = false
    fileprivate var waitsFor: Stage = .persistence
    /// A Boolean value that indicates whether the caller has waited for
    /// ``ReactorConfiguration/staleAfter``, or the server has failed.
    fileprivate var acceptsFallback = false

    init(id: WaiterID, kind: Kind, resource: Resource, policy: FetchPolicy, wait: LockOwner.Wait? = nil) {
      self.id = id
      self.kind = kind
      self.resource = resource
      self.policy = policy
      self.wait = wait
    }

    /// Returns the layer itself as a waiter: a revalidation that no caller waits for.
    static func background(_ resource: Resource, _ policy: FetchPolicy) -> Waiter {
      Waiter(id: FlightMachine.background, kind: .background, resource: resource, policy: policy)
    }
  }

  fileprivate enum Stage: Sendable {
    case persistence, network
    /// The network failed, and a persisted copy may serve as the fallback.
    case fallback(ReactorError)
  }

  enum Action: Sendable {
    /// Load the persisted record for the resource, and report it to ``loaded(answers:copy:)``.
    case load(Resource)
    case request(Resource)
    /// Resolve the waiter with the key's current copy. A stream may remain a waiter.
    case use(Waiter)
    /// Resolve the caller with the key's current copy in place of the server's answer; the request
    /// continues.
    case useStale(Waiter)
    case fail(Waiter, ReactorError)
    /// End the flight, which has no waiters left, and cancel its tasks.
    case end
  }

  private enum Request { case notAsked, running, paused, failed(ReactorError) }

  /// The number that distinguishes this flight from the key's earlier flights. Their results are
  /// ignored.
  let id: UInt64
  private(set) var waiters = FlightWaiters()
  /// The header fields of the load under way.
  private var fieldsLoading: HTTPFields?
  /// The header fields that persistence has answered for: nearly always one set.
  private var fieldsLoaded: [HTTPFields] = []
  private var request = Request.notAsked

  /// The waiter number of the layer.
  static let background: WaiterID = 0

  init(id: UInt64) { self.id = id }

  /// A Boolean value that indicates whether the flight waits for connectivity.
  var isPaused: Bool { if case .paused = request { true } else { false } }

  /// The current phase of the flight.
  var phase: FlightPhase {
    switch request {
    case .notAsked, .failed: .loading
    case .running: .requesting
    case .paused: .paused
    }
  }

  /// A Boolean value that indicates whether nothing that a program has made is left in it.
  var isSpent: Bool { if case .failed = request { false } else { waiters.isEmpty } }

  /// A Boolean value that indicates whether a caller waits, and not only streams or the layer.
  var hasCaller: Bool { waiters.hasCaller }

  /// A Boolean value that indicates whether a background revalidation is under way.
  var hasBackgroundWaiter: Bool { waiters.contains(Self.background) }

  /// Returns the status of the available copy for a resource.
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

  /// Processes the result of a load, which has become the key's copy. Waiters that need another
  /// variant get a separate load.
  ///
  /// - Parameter answers: returns `true` if the loaded record answers a resource.
  mutating func loaded(answers: (Resource) -> Bool = { _ in true }, copy: CopyStatuses) -> [Action] {
    if let fields = fieldsLoading.take(), !fieldsLoaded.contains(fields) { fieldsLoaded.append(fields) }
    var actions: [Action] = []
    let waiting = waiters.inOrder
    // Most waiters have the fields of the load. Only the others need a comparison of variants.
    for waiter in waiting where !hasLoaded(waiter) && answers(waiter.resource) {
      fieldsLoaded.append(waiter.resource.headers)
    }
    for waiter in waiting where hasLoaded(waiter) {
      switch waiter.waitsFor {
      case .persistence: decide(for: waiter, copy: copy, into: &actions)
      case .fallback(let error): fall(waiter, error, copy: copy, into: &actions)
      case .network where isPaused: showWhilePaused(waiter, copy: copy, into: &actions)
      case .network: standIn(for: waiter.id, copy: copy, into: &actions)
      }
    }
    if let next = waiters.inOrder.first(where: wantsLoad) { load(for: next, into: &actions) }
    return finish(actions)
  }

  /// Processes the network's response, which has become the key's copy.
  ///
  /// - Parameter answers: returns `true` if the response answers a resource. Waiters that need
  ///   another variant remain, and the flight restarts for them.
  mutating func succeeded(answers: (Resource) -> Bool = { _ in true }) -> [Action] {
    let answered = waiters.inOrder.filter { answers($0.resource) }
    for waiter in answered { waiters.remove(waiter.id) }
    return finish(answered.map { .use($0) })
  }

  /// Processes the failure of a request.
  mutating func failed(_ error: ReactorError, copy: CopyStatuses) -> [Action] {
    request = .failed(error)
    var actions: [Action] = []
    for waiter in waiters.inOrder {
      if case .network = waiter.waitsFor { fall(waiter, error, copy: copy, into: &actions) }
    }
    return finish(actions)
  }

  /// Handles a caller that has waited for ``ReactorConfiguration/staleAfter``.
  ///
  /// From now on, a copy that would serve if the request failed is its answer (RFC 9111 §4.2.4).
  /// The request continues in the background.
  mutating func waitedEnough(_ id: WaiterID, copy: CopyStatuses) -> [Action] {
    waiters.update(id) { $0.acceptsFallback = true }
    var actions: [Action] = []
    standIn(for: id, copy: copy, into: &actions)
    return finish(actions)
  }

  /// Processes an outage: callers that accept a stale copy are answered now.
  mutating func serverFails(copy: CopyStatuses) -> [Action] {
    var actions: [Action] = []
    for waiter in waiters.inOrder where waiter.kind == .caller {
      waiters.update(waiter.id) { $0.acceptsFallback = true }
      standIn(for: waiter.id, copy: copy, into: &actions)
    }
    return finish(actions)
  }

  /// Processes a lack of connectivity. Streams wait until it returns; callers get a fallback or
  /// fail.
  mutating func unreachable(copy: CopyStatuses) -> [Action] {
    // Streams that wait for persistence are included: they may need the network next.
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

  /// Resumes the request after connectivity has returned.
  mutating func reconnected() -> [Action] {
    guard case .paused = request else { return [] }
    guard let first = waiters.inOrder.first(where: \.isWaitingForNetwork) ?? waiters.first else { return [] }
    request = .running
    return [.request(first.resource)]
  }

  /// Returns a new flight with the same waiters, which start from the beginning.
  func restarted(id: UInt64, copy: CopyStatuses) -> (FlightMachine, [Action]) {
    var flight = FlightMachine(id: id)
    var actions: [Action] = []
    for waiter in waiters.inOrder { actions += flight.join(waiter, copy: copy) }
    return (flight, actions)
  }
}

extension FlightMachine {
  /// Applies the policy of `waiter` to the copy, after persistence was read for it.
  private mutating func decide(for waiter: Waiter, copy: CopyStatuses, into actions: inout [Action]) {
    switch FetchDecision(waiter.policy, copy(waiter.resource)) {
    // The layer waits to revalidate, so a stale copy does not resolve it.
    case .useAndRevalidate where waiter.kind == .background: ask(for: waiter, isNew: false, copy: copy, into: &actions)
    case .use: resolve(waiter, .use(waiter), into: &actions)
    case .notCached: resolve(waiter, .fail(waiter, .notCached), into: &actions)
    case .ask: ask(for: waiter, isNew: false, copy: copy, into: &actions)
    case .useAndRevalidate:
      resolve(waiter, .use(waiter), into: &actions)
      revalidate(waiter, copy: copy, into: &actions)
    }
  }

  /// Replaces a caller that accepted a stale copy with the layer. A stream stays a waiter itself,
  /// so that it sees the response and can wait for connectivity.
  private mutating func revalidate(_ waiter: Waiter, copy: CopyStatuses, into actions: inout [Action]) {
    var successor = waiter
    if waiter.kind == .caller {
      guard !hasBackgroundWaiter else { return }
      successor.id = Self.background
      successor.kind = .background
      successor.acceptsFallback = false
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
      // The request failed while this waiter waited for persistence, so it was this waiter's
      // request too.
      fall(waiter, error, copy: copy, into: &actions)
    case .paused, .failed:
      request = .running
      actions.append(.request(waiter.resource))
    }
    standIn(for: waiter.id, copy: copy, into: &actions)
  }

  private mutating func standIn(for id: WaiterID, copy: CopyStatuses, into actions: inout [Action]) {
    guard let waiter = waiters[id], waiter.acceptsFallback, waiter.isWaitingForNetwork else { return }
    if waiter.policy.servesStale(copy(waiter.resource), on: .noConnectivity) {
      resolve(waiter, .useStale(waiter), into: &actions)
      revalidate(waiter, copy: copy, into: &actions)
    } else if waiter.policy == .networkFirst {
      load(for: waiter, into: &actions)
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

  /// Shows a stream that waits for connectivity the fallback for a failed request.
  private mutating func showWhilePaused(_ waiter: Waiter, copy: CopyStatuses, into actions: inout [Action]) {
    if waiter.policy.servesStale(copy(waiter.resource), on: .noConnectivity) {
      actions.append(.use(waiter))
    } else if waiter.policy == .networkFirst {
      load(for: waiter, into: &actions)
    }
  }

  private func hasLoaded(_ waiter: Waiter) -> Bool { fieldsLoaded.contains(waiter.resource.headers) }

  /// Returns `true` if the waiter needs a separate load.
  private func wantsLoad(_ waiter: Waiter) -> Bool {
    guard !hasLoaded(waiter) else { return false }
    return switch waiter.waitsFor {
    case .persistence, .fallback: true
    case .network:
      (isPaused && waiter.kind == .stream || waiter.acceptsFallback) && waiter.policy == .networkFirst
    }
  }

  /// Starts a load for `waiter`. Loads run one at a time: a finished load starts the next.
  private mutating func load(for waiter: Waiter, into actions: inout [Action]) {
    guard fieldsLoading == nil, !hasLoaded(waiter) else { return }
    fieldsLoading = waiter.resource.headers
    actions.append(.load(waiter.resource))
  }

  private mutating func resolve(_ waiter: Waiter, _ action: Action, into actions: inout [Action]) {
    waiters.remove(waiter.id)
    actions.append(action)
  }

  /// Returns the actions. An empty flight only resolves its waiters and ends.
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
    case .use, .useStale, .fail: true
    case .load, .request, .end: false
    }
  }
}

/// The waiters of a flight, in the order in which they joined. They are stored by number, so that
/// thousands may come and go.
struct FlightWaiters: Sendable {
  private struct Place: Sendable {
    let order: UInt64
    var waiter: FlightMachine.Waiter
  }

  private var places: [FlightMachine.WaiterID: Place] = [:]
  private var lastOrder: UInt64 = 0

  var isEmpty: Bool { places.isEmpty }
  var first: FlightMachine.Waiter? { places.values.min { $0.order < $1.order }?.waiter }
  var inOrder: [FlightMachine.Waiter] {
    (places.count > 1 ? places.values.sorted { $0.order < $1.order } : Array(places.values)).map(\.waiter)
  }

  /// The waits of the waiters whose tasks work for an owner.
  var waits: [LockOwner.Wait] { places.values.compactMap(\.waiter.wait) }

  var hasCaller: Bool { places.values.contains { $0.waiter.kind == .caller } }

  /// A Boolean value that indicates whether the request must have no validators.
  var areUnconditional: Bool { places.values.contains { $0.waiter.isUnconditional } }

  func contains(_ id: FlightMachine.WaiterID) -> Bool { places[id] != nil }

  subscript(id: FlightMachine.WaiterID) -> FlightMachine.Waiter? { places[id]?.waiter }

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

/// The current phase of a flight.
package enum FlightPhase: String, Sendable {
  /// The flight loads from persistence or acts on the result.
  case loading
  /// The flight waits for the response, or parses or saves it.
  case requesting
  /// The flight waits for connectivity.
  case paused
}
