import Foundation
import Synchronization

/// The state that the reactors of one backend and one scope share, beneath ``ModelLayer``. It holds
/// the reactors weakly.
package final class LayerContext: Sendable {
  package let backend: Backend?
  /// The source of connectivity; `nil` if every request is tried.
  package let reachability: (any Reachability)?
  package let cache: HTTPCache
  /// The cache between this layer and the server, whose responses other processes share; `nil` for
  /// most layers.
  let upstream: (any LayerUpstream)?
  package let scope: Scope
  package let configuration: ReactorConfiguration
  let keys: RecordKeys
  /// A Boolean value that indicates whether the backend is this machine, for which reachability
  /// says nothing.
  package let isLoopback: Bool
  let events: EventHub
  package let generations = Generations()
  /// The outages of the backend's server; `nil` if they are not remembered.
  let outages: LayerOutages?
  let presentationSlot = PresentationSlot()
  let querySupport: QuerySupport
  let deprecations = ReportedDeprecations()
  /// The time that the layer waits for its persistence.
  let budget: StoreBudget
  /// The time that a flight waits for the parts to be ready. A part's store that is late says
  /// nothing of the records.
  let readiness: StoreBudget
  let marks = ChangeMarks()
  let ownWrites = OwnWrites()
  let pollingLimit = Mutex<PollingLimit?>(nil)
  /// The time on the configuration's clock since the layer was created. Read it without a lock: the
  /// clock is user code.
  package let elapsed: @Sendable () -> Duration
  let gate = KeyedAsyncLock()
  /// The keys that have changed, for an inspector.
  let changes = KeyChanges()
  /// A Boolean value that indicates whether the layer acts as if there were no connectivity.
  let isOffline = Atomic<Bool>(false)
  private let removalCount = Atomic<UInt64>(0)
  private let members = Mutex<[WeakMember]>([])
  private let connectedParts = Mutex<[any LayerPart]>([])
  private let followers = Mutex<[Task<Void, Never>]>([])
  private let observation = Mutex<(any Sendable & AnyObject)?>(nil)

  init(
    backend: Backend?, persistence: (any Persistence)?, reachability: (any Reachability)? = nil, scope: Scope = .shared,
    configuration: ReactorConfiguration, upstream: MakeUpstream? = nil
  ) {
    self.backend = backend
    self.reachability = reachability ?? backend?.reachability
    // What other processes change is heard by URLs alone.
    cache = HTTPCache(persistence: persistence, honorsNoVarySearch: upstream == nil)
    self.upstream = upstream?(cache, configuration)
    self.scope = scope
    self.configuration = configuration
    elapsed = configuration.clock.stopwatch()
    querySupport = QuerySupport(elapsed: elapsed)
    budget = StoreBudget(configuration)
    readiness = StoreBudget(configuration)
    events = EventHub(executor: configuration.taskExecutor)
    keys = RecordKeys(
      backend: backend, scope: scope, secretQueryItems: configuration.secretQueryItems, digests: cache.digests)
    outages = backend != nil && configuration.remembersOutages ? LayerOutages(configuration) : nil
    isLoopback = (try? backend?.base.get())?.origin.isLoopback ?? false
    if let upstream = self.upstream { observation.withLock { $0 = follow(upstream) } }
    if let pressure = configuration.memoryPressure { follow(pressure.warnings) { $0.evictUnused() } }
  }

  deinit {
    for task in followers.withLock(\.self) { task.cancel() }
  }

  /// Calls `body` for each signal, until the signals end or the layer is released.
  package func follow(_ signals: AsyncStream<Void>, _ body: @escaping @Sendable (LayerContext) -> Void) {
    let task = spawnApart(on: configuration.taskExecutor) { [weak self] in
      for await _ in signals {
        if let self { body(self) }
      }
    }
    followers.withLock { $0.append(task) }
  }

  package func refreshStreams(olderThan age: Duration) {
    for member in livingMembers { member.refreshStreams(olderThan: age) }
  }

  var statistics: ModelLayer.Statistics {
    var statistics = ModelLayer.Statistics()
    for member in livingMembers { member.add(to: &statistics) }
    return statistics
  }

  func evictUnused() {
    for member in livingMembers { member.evictUnused() }
  }

  func add(_ member: any LayerReactor) {
    members.withLock { members in
      members.removeAll { $0.member == nil }
      members.append(WeakMember(member: member))
    }
  }

  /// Notifies the layer's reactors of a change, except its `sender`.
  @inline(never) func announce(_ change: LayerChange, except sender: (any LayerReactor)? = nil) {
    for member in livingMembers where member !== sender { member.layerChanged(change) }
  }

  var livingMembers: [any LayerReactor] {
    @inline(never) get { members.withLock { $0.compactMap(\.member) } }
  }

  /// The parts that extensions have added; none for most layers.
  package var parts: [any LayerPart] { connectedParts.withLock(\.self) }

  /// Adds the parts of a new layer, before it has a reactor.
  func connect(_ extensions: [ModelLayer.Extension]) {
    let parts = extensions.makeParts(of: self)
    connectedParts.withLock { $0 += parts }
  }

  /// Returns the part of a type. If the layer has none yet, `make` creates it.
  package func part<Part: LayerPart>(orConnect make: () -> Part) -> Part {
    // Types are compared by themselves: a conditional cast takes microseconds, and each submission
    // looks.
    func find(in parts: [any LayerPart]) -> Part? {
      for part in parts where type(of: part) == Part.self { return unsafeDowncast(part, to: Part.self) }
      return nil
    }
    if let part = find(in: parts) { return part }
    let made = make()
    return connectedParts.withLock { parts in
      if let part = find(in: parts) { return part }
      parts.append(made)
      return made
    }
  }

  /// A Boolean value that indicates whether there is connectivity, or `configuration` does not
  /// check it.
  package func isReachable(_ configuration: ReactorConfiguration) -> Bool {
    guard !isOffline.load(ordering: .relaxed) else { return false }
    guard configuration.checksReachability, let reachability else { return true }
    return isLoopback || reachability.isReachable
  }

  /// The number of times that everything was removed. Values fetched before the latest removal are
  /// no longer shown.
  var removals: UInt64 { removalCount.load(ordering: .acquiring) }

  /// Returns the key of `resource`.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)``.
  package func key(_ resource: Resource) throws(ReactorError) -> RecordKey {
    try keys.key(resource, secretQueryItems: configuration.secretQueryItems)
  }

  /// Returns the key of a plain `GET` of an absolute URL.
  package func key(ofURL url: String) -> RecordKey {
    RecordKey(
      method: .get, url: url, scope: scope, secretQueryItems: configuration.secretQueryItems, digests: cache.digests)
  }

  /// Reports an event of a part that another module has added.
  ///
  /// - Parameter key: the key that it concerns; `nil` if it concerns no resource.
  package func report(_ kind: ReactorEvent.Kind, of key: RecordKey?, model: String) {
    events.append(ReactorEvent(key: key ?? self.key(ofURL: ""), model: model, kind: kind))
    events.deliver()
  }

  /// Delivers the events that were appended.
  package func deliverEvents() { events.deliver() }

  /// Returns the keys of a URL that the layer's reactors have in memory.
  func keys(of url: String) -> [RecordKey] {
    livingMembers.flatMap { $0.keys(of: url) }
  }

  /// Removes everything of the scope from memory and disk. Responses to earlier requests are
  /// dropped.
  @concurrent func removeAll() async throws(ReactorError) {
    let removal = generations.beginRemoval(of: nil)
    // Nothing that was requested before them is left to be marked. First: a later mark stays.
    marks.removeAll()
    ownWrites.removeAll()
    let number = generations.fenceAll()
    let removals = parts.map { $0.willRemoveAll() }
    // Also where the body never runs, or fails before the parts' removals.
    let ending = AtEnd { removals.end() }
    presentation?.removeAll()
    keys.forgetLatest()
    removalCount.add(1, ordering: .releasing)
    announce(.removedAll)
    try await carryOut(nil) { [cache, upstream, scope, generations] in
      defer {
        removal.end()
        ending.reach()
      }
      // If one of them fails, the others still remove what they have.
      var failure: (any Error)?
      await upstream?.removeAll(in: scope)
      do { try await removals.carryOut() } catch { failure = failure ?? error }
      try await cache.removeAll(in: scope)
      generations.didPersistAll(number)
      if let failure { throw failure }
    }
  }
}

/// A change of a layer's records.
enum LayerChange: Sendable {
  /// A newer record of the key is stored, of this variant. The number belongs to the operation that
  /// produced it.
  case stored(RecordKey, Generation, Record.Variant?)
  /// A model was written locally, under this number. If it is stored, reactors of its type find it
  /// on disk. Reactors of other types have copies that are out of date.
  case written(RecordKey, Generation, isStored: Bool)
  case invalidated(RecordKey, Date)
  /// The server has told a change. Copies without it are stale.
  case marked(Marked)
  /// The polling intervals may be others.
  case pollingLimited
  /// Under this number the server has said that it lacks the resource, with this error; with `nil`,
  /// all of its variants.
  case gone(RecordKey, Generation, Resource?, ReactorError)
  /// Other changes are shown over the copies of some keys.
  case presented([any PresentationChange])
  /// These keys show something newer, although their copies are the same.
  case renewed(Set<RecordKey>)
  /// A write of the key is being sent.
  case sendingBegan(RecordKey)
  /// A write of the key has its outcome, or will not be sent.
  case sendingEnded(RecordKey)
  case removed(RecordKey)
  case removedAll
}

/// A reactor, as its layer sees it.
protocol LayerReactor: AnyObject, Sendable {
  func layerChanged(_ change: LayerChange)
  /// Returns the keys of a URL in this reactor's memory, whatever their method and identity fields.
  func keys(of url: String) -> [RecordKey]
  /// Computes the shown value of a key with changes over it that is in this reactor's memory.
  func computeShown(of key: RecordKey)
  /// Returns the head of the response that the key's copy in this reactor's memory was made from.
  func head(of key: RecordKey) -> Record.Head?
  /// Returns the keys in this reactor's memory that are in `set`, by their URL or by their groups.
  func keys(in set: KeySet) -> [RecordKey]
  /// The keys in this reactor's memory.
  var keys: [RecordKey] { get }
  /// Returns the status of each of `keys` that is in this reactor's memory.
  func statuses(of keys: [RecordKey]) -> [KeyStatus]
  /// Requests `key` from the network in the background. Returns `false` if the key is not in
  /// memory.
  func refetch(_ key: RecordKey) -> Bool
  /// Resumes paused requests, and refreshes stale observed keys: connectivity has returned.
  func wentOnline()
  /// Requests the observed keys whose request was not sent because of an outage, which has ended.
  func serverReturned()
  /// Requests the observed keys that are stale, were fetched longer than `age` ago, or whose latest
  /// attempt failed.
  func refreshStreams(olderThan age: Duration)
  /// Returns the keys of `set` whose streams show a value that is known to be out of date, or have
  /// none yet.
  func outdatedStreams(in set: KeySet) -> [RecordKey]
  /// Begins to replace the copies of a URL by a value that the server has told.
  func replacements(by value: ToldValue) -> [ToldReplacement]
  /// Replaces a copy, if nothing else concerns it.
  func finish(_ replacement: ToldReplacement, by value: ToldValue) async
  /// Returns `true` if what this reactor has of a URL is the server's, and no request and no write
  /// concerns it.
  func isQuiet(_ url: String) -> Bool
  /// Returns the versions of a URL that this reactor has in memory.
  func versions(of url: String) -> [HeldVersion]
  /// Requests a key that is in this reactor's memory, and waits for the response.
  func renew(_ key: RecordKey) async throws(ReactorError)
  /// A Boolean value that indicates whether a stream is open.
  var isObserved: Bool { get }
  /// Evicts every model that is neither observed nor waited for.
  func evictUnused()
  /// Adds the numbers of this reactor.
  func add(to statistics: inout ModelLayer.Statistics)
}

private struct WeakMember: Sendable {
  weak var member: (any LayerReactor)?
}

/// The name of a model's type in the records of local models. It is the same in every process.
///
/// Swift writes the address of the scope into the name of a private or local type, and the address
/// differs between processes. This name omits such scopes. If two private types of one module have
/// the same name, each reads the other's local records, if the bytes fit.
struct ModelName: Sendable {
  let text: String

  init(_ type: any Any.Type) { text = Self.withoutScopes(String(reflecting: type)) }

  /// Returns `true` if `stored` names this type. Scopes are ignored on both sides, since earlier
  /// versions stored them.
  func matches(_ stored: String) -> Bool { stored == text || Self.withoutScopes(stored) == text }

  private static func withoutScopes(_ name: String) -> String {
    guard name.contains("(unknown context at $") else { return name }
    var parts = name.split(separator: ".", omittingEmptySubsequences: false)
    parts.removeAll { $0.hasPrefix("(unknown context at $") && $0.hasSuffix(")") }
    return parts.joined(separator: ".")
  }
}
