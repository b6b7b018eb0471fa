import HTTPTypes

/// The work under way for one key, and who waits for it: a state machine that returns actions.
///
/// It knows neither models nor tasks nor time. Parties join with a policy; the network is asked at most once, and
/// persistence at most once for the same header fields, one load after the other: other fields may ask for another variant
/// (RFC 9111 §4.1). Each party is resolved by the first answer that its policy may use. When the last party is gone, the
/// flight ends. The shell performs what is returned, after it has unlocked.
struct Flight: Sendable {
  typealias PartyID = UInt64

  struct Party: Sendable {
    enum Kind: Sendable { case caller, stream, layer }
    var id: PartyID
    var kind: Kind
    var resource: Resource
    var policy: FetchPolicy
    /// Of the task that awaits it, where that works for an owner.
    var wait: LockOwner.Wait?
    fileprivate var waitsFor: Stage = .persistence

    init(id: PartyID, kind: Kind, resource: Resource, policy: FetchPolicy, wait: LockOwner.Wait? = nil) {
      self.id = id
      self.kind = kind
      self.resource = resource
      self.policy = policy
      self.wait = wait
    }
  }

  fileprivate enum Stage: Sendable {
    case persistence, network
    /// The network failed; persistence may have something that stands in.
    case standIn(ReactorError)
  }

  enum Action: Sendable {
    /// Load what persistence has for the resource, and report it to ``loaded(answers:copy:)``.
    case load(Resource)
    case request(Resource)
    /// The party gets the copy that the key has now. A stream may stay a party after it.
    case use(Party)
    case fail(Party, ReactorError)
    /// Nobody waits any more: whatever still runs is to be cancelled.
    case end
  }

  private enum Request { case notAsked, running, paused, failed(ReactorError) }

  /// Tells this flight from an earlier one of the key: answers to that one are not its.
  let id: UInt64
  private(set) var parties = FlightParties()
  /// The header fields that a load is under way for.
  private var fieldsLoading: HTTPFields?
  /// The header fields that persistence has answered for.
  private var fieldsLoaded: Set<HTTPFields> = []
  private var request = Request.notAsked

  /// The layer's number as a party.
  static let layer: PartyID = 0

  init(id: UInt64) { self.id = id }

  /// Whether it waits for connectivity.
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

  /// Whether a background revalidation is under way.
  var hasLayer: Bool { parties.contains(Self.layer) }

  /// How the copy at hand stands for a resource.
  typealias Standings = (Resource) -> Standing?

  mutating func join(_ party: Party, copy: Standings) -> [Action] {
    var party = party
    party.waitsFor = party.policy.asksStoreFirst ? .persistence : .network
    parties.append(party)
    var actions: [Action] = []
    if !party.policy.asksStoreFirst {
      ask(for: party, isNew: true, copy: copy, into: &actions)
    } else if hasLoaded(party) {
      settle(party, copy: copy, into: &actions)
    } else {
      load(for: party, into: &actions)
    }
    return finish(actions)
  }

  mutating func leave(_ id: PartyID) -> [Action] {
    parties.remove(id)
    return finish([])
  }

  /// Persistence has answered; what it had is the key's copy by now. Parties whom that does not answer get a load of their
  /// own.
  ///
  /// - Parameter answers: whether what was loaded is what a resource asks for.
  mutating func loaded(answers: (Resource) -> Bool = { _ in true }, copy: Standings) -> [Action] {
    if let fields = fieldsLoading.take() { fieldsLoaded.insert(fields) }
    var actions: [Action] = []
    let waiting = parties.inOrder
    // Mostly all have the fields that were asked for; only the others need a look at the variant.
    for party in waiting where !hasLoaded(party) && answers(party.resource) {
      fieldsLoaded.insert(party.resource.headers)
    }
    for party in waiting where hasLoaded(party) {
      switch party.waitsFor {
      case .persistence: settle(party, copy: copy, into: &actions)
      case .standIn(let error): fall(party, error, copy: copy, into: &actions)
      case .network:
        if isPaused { showWhilePaused(party, copy: copy, into: &actions) }
      }
    }
    if let next = parties.inOrder.first(where: wantsLoad) { load(for: next, into: &actions) }
    return finish(actions)
  }

  /// The network has answered; its model is the key's copy by now.
  ///
  /// - Parameter answers: whether it is what the resource asks for. The parties for whom it is another variant stay: the
  ///   flight is to be begun again for them.
  mutating func succeeded(answers: (Resource) -> Bool = { _ in true }) -> [Action] {
    let answered = parties.inOrder.filter { answers($0.resource) }
    for party in answered { parties.remove(party.id) }
    return finish(answered.map { .use($0) })
  }

  /// The network has failed.
  mutating func failed(_ error: ReactorError, copy: Standings) -> [Action] {
    request = .failed(error)
    var actions: [Action] = []
    for party in parties.inOrder {
      if case .network = party.waitsFor { fall(party, error, copy: copy, into: &actions) }
    }
    return finish(actions)
  }

  /// There is no connectivity: streams wait for it, the others fail now.
  mutating func unreachable(copy: Standings) -> [Action] {
    // Those too that wait for persistence: they may have to ask next.
    let streams = parties.inOrder.filter { $0.kind == .stream }
    for party in streams { parties.remove(party.id) }
    var actions = failed(.noConnectivity, copy: copy)
    guard !streams.isEmpty else { return actions }
    if case .end? = actions.last { actions.removeLast() }
    for party in streams { parties.append(party) }
    request = .paused
    for party in streams where party.isWaitingForNetwork { showWhilePaused(party, copy: copy, into: &actions) }
    return actions
  }

  /// There is connectivity again.
  mutating func reconnected() -> [Action] {
    guard case .paused = request else { return [] }
    guard let first = parties.inOrder.first(where: \.isWaitingForNetwork) ?? parties.first else { return [] }
    request = .running
    return [.request(first.resource)]
  }

  /// The same parties in a new flight; they ask from the beginning.
  func restarted(id: UInt64, copy: Standings) -> (Flight, [Action]) {
    var flight = Flight(id: id)
    var actions: [Action] = []
    for party in parties.inOrder { actions += flight.join(party, copy: copy) }
    return (flight, actions)
  }
}

extension Flight {
  /// Persistence was asked for `party`; what does its policy make of the copy?
  private mutating func settle(_ party: Party, copy: Standings, into actions: inout [Action]) {
    let standing = copy(party.resource)
    var decision = FetchDecision(party.policy, copy: standing)
    // The layer is there to ask the network: a copy that may be served stale is no answer to it.
    if party.kind == .layer, decision == .useAndRevalidate { decision = .ask }
    switch decision {
    case .use: resolve(party, .use(party), into: &actions)
    case .notCached: resolve(party, .fail(party, .notCached), into: &actions)
    case .ask: ask(for: party, isNew: false, copy: copy, into: &actions)
    case .useAndRevalidate:
      resolve(party, .use(party), into: &actions)
      revalidate(party, copy: copy, into: &actions)
    }
  }

  /// The layer takes the place of a party that was content with a stale copy. A stream stays itself, so that it sees
  /// the answer and can wait for connectivity.
  private mutating func revalidate(_ party: Party, copy: Standings, into actions: inout [Action]) {
    var successor = party
    if party.kind == .caller {
      guard !hasLayer else { return }
      successor.id = Self.layer
      successor.kind = .layer
    }
    successor.waitsFor = .network
    parties.append(successor)
    ask(for: successor, isNew: false, copy: copy, into: &actions)
  }

  private mutating func ask(for party: Party, isNew: Bool, copy: Standings, into actions: inout [Action]) {
    parties.update(party.id) { $0.waitsFor = .network }
    switch request {
    case .notAsked:
      request = .running
      actions.append(.request(party.resource))
    case .running: break
    case .paused where party.kind == .stream: showWhilePaused(party, copy: copy, into: &actions)
    case .failed(let error) where !isNew:
      // It was asked while this party waited for persistence: that was its request too.
      fall(party, error, copy: copy, into: &actions)
    case .paused, .failed:
      request = .running
      actions.append(.request(party.resource))
    }
  }

  private mutating func fall(_ party: Party, _ error: ReactorError, copy: Standings, into actions: inout [Action]) {
    if FetchDecision.standsIn(copy(party.resource), for: error, under: party.policy) {
      resolve(party, .use(party), into: &actions)
    } else if party.policy == .networkFirst, error.isNetworkFailure, !hasLoaded(party) {
      parties.update(party.id) { $0.waitsFor = .standIn(error) }
      load(for: party, into: &actions)
    } else {
      resolve(party, .fail(party, error), into: &actions)
    }
  }

  /// A stream that waits for connectivity shows meanwhile what stands in for the network's failure.
  private mutating func showWhilePaused(_ party: Party, copy: Standings, into actions: inout [Action]) {
    if FetchDecision.standsIn(copy(party.resource), for: .noConnectivity, under: party.policy) {
      actions.append(.use(party))
    } else if party.policy == .networkFirst {
      load(for: party, into: &actions)
    }
  }

  private func hasLoaded(_ party: Party) -> Bool { fieldsLoaded.contains(party.resource.headers) }

  /// Whether a load of its own would help the party.
  private func wantsLoad(_ party: Party) -> Bool {
    guard !hasLoaded(party) else { return false }
    return switch party.waitsFor {
    case .persistence, .standIn: true
    case .network: isPaused && party.kind == .stream && party.policy == .networkFirst
    }
  }

  /// Begins a load for `party`. One at a time: the end of the one under way begins the next.
  private mutating func load(for party: Party, into actions: inout [Action]) {
    guard fieldsLoading == nil, !hasLoaded(party) else { return }
    fieldsLoading = party.resource.headers
    actions.append(.load(party.resource))
  }

  private mutating func resolve(_ party: Party, _ action: Action, into actions: inout [Action]) {
    parties.remove(party.id)
    actions.append(action)
  }

  /// An empty flight ends, and starts nothing first.
  private func finish(_ actions: [Action]) -> [Action] {
    guard parties.isEmpty else { return actions }
    return actions.filter(\.isResolution) + [.end]
  }
}

extension Flight.Party {
  fileprivate var isWaitingForNetwork: Bool {
    if case .network = waitsFor { true } else { false }
  }
}

extension Flight.Action {
  fileprivate var isResolution: Bool {
    switch self {
    case .use, .fail: true
    case .load, .request, .end: false
    }
  }
}

/// Who waits for a flight, in the order of joining. Each is found by its number, so that thousands may come and go.
struct FlightParties: Sendable {
  private struct Place: Sendable {
    let order: UInt64
    var party: Flight.Party
  }

  private var places: [Flight.PartyID: Place] = [:]
  private var lastOrder: UInt64 = 0

  var isEmpty: Bool { places.isEmpty }
  var first: Flight.Party? { places.values.min { $0.order < $1.order }?.party }
  var inOrder: [Flight.Party] { places.values.sorted { $0.order < $1.order }.map(\.party) }

  /// The waits of those that work for an owner.
  var waits: [LockOwner.Wait] { places.values.compactMap(\.party.wait) }

  func contains(_ id: Flight.PartyID) -> Bool { places[id] != nil }

  mutating func append(_ party: Flight.Party) {
    lastOrder += 1
    places[party.id] = Place(order: lastOrder, party: party)
  }

  mutating func update(_ id: Flight.PartyID, _ change: (inout Flight.Party) -> Void) {
    guard var place = places[id] else { return }
    change(&place.party)
    places[id] = place
  }

  mutating func remove(_ id: Flight.PartyID) { places[id] = nil }
}

/// What a flight does now.
package enum FlightPhase: String, Sendable {
  /// It asks persistence, or what came of that is being settled.
  case loading
  /// It asks the network, parses and saves.
  case requesting
  /// It waits for connectivity.
  case paused
}
