import Foundation
import Synchronization

/// What the reactors of one backend and one scope share beneath ``ModelLayer``: it knows them only weakly.
final class LayerContext: Sendable {
  let backend: Backend?
  /// `nil`: nobody is asked.
  let reachability: (any Reachability)?
  let cache: HTTPCache
  let scope: Scope
  let configuration: ReactorConfiguration
  let keys: RecordKeys
  /// A Boolean value that indicates whether the backend is this machine, for which reachability
  /// says nothing.
  let isLoopback: Bool
  let events: EventHub
  let generations = Generations()
  let gate = KeyedAsyncLock()
  /// Which keys have changed, for an inspector.
  let changes = KeyChanges()
  /// A Boolean value that indicates whether the layer does as if there were no connectivity.
  let isOffline = Atomic<Bool>(false)
  private let members = Mutex<[WeakMember]>([])

  init(
    backend: Backend?, persistence: (any Persistence)?, reachability: (any Reachability)? = nil, scope: Scope = .shared,
    configuration: ReactorConfiguration
  ) {
    self.backend = backend
    self.reachability = reachability ?? backend?.reachability
    cache = HTTPCache(persistence: persistence, secretQueryItems: configuration.secretQueryItems)
    self.scope = scope
    self.configuration = configuration
    events = EventHub(executor: configuration.taskExecutor)
    keys = RecordKeys(
      backend: backend, scope: scope, secretQueryItems: configuration.secretQueryItems, digests: cache.digests)
    isLoopback = (try? backend?.base.get())?.origin.isLoopback ?? false
  }

  func add(_ member: any LayerReactor) {
    members.withLock { members in
      members.removeAll { $0.member == nil }
      members.append(WeakMember(member: member))
    }
  }

  /// Tells the layer's other reactors what one of them did.
  func announce(_ change: LayerChange, except sender: (any LayerReactor)? = nil) {
    for member in livingMembers where member !== sender { member.layerChanged(change) }
  }

  var livingMembers: [any LayerReactor] { members.withLock { $0.compactMap(\.member) } }

  /// The keys of a URL that its reactors know.
  func keys(of url: String) -> [RecordKey] {
    livingMembers.flatMap { $0.keys(of: url) }
  }

  /// Forgets all that the scope has, in memory and on disk; what answers later is dropped.
  @concurrent func removeAll() async throws(ReactorError) {
    let removal = generations.beginRemoval(of: nil)
    let number = generations.fenceAll()
    announce(.removedAll)
    try await carryOut(nil) { [cache, scope, generations] in
      defer { removal.end() }
      try await cache.removeAll(in: scope)
      generations.didPersistAll(number)
    }
  }

  /// Forgets `key`, in memory and then by `fromDisk`; what answers later is dropped.
  func remove(
    _ key: RecordKey, fromDisk: @escaping @Sendable () async throws -> Void
  ) async throws(ReactorError) {
    let removal = generations.beginRemoval(of: key)
    let ticket = generations.beginWrite(key)
    announce(.removed(key))
    try await change(ticket) {
      defer { removal.end() }
      try await fromDisk()
      ticket.didPersist()
    }
  }

  /// Changes what is on disk, alone for the ticket's key, unless something newer makes it pointless.
  @concurrent func change(
    _ ticket: Generations.Ticket, _ body: @escaping @Sendable () async throws -> Void
  ) async throws(ReactorError) {
    try await carryOut(ticket.key) {
      if ticket.commit() { try await body() }
    }
  }

  /// Runs `body` alone for `key`; with `nil`, alone for every key.
  ///
  /// Memory has changed already, so disk has to follow: a caller that is cancelled while it waits for its turn gets
  /// ``ReactorError/cancelled`` at once, and `body` is run all the same when its turn comes.
  @concurrent func carryOut<Value: Sendable>(
    _ key: RecordKey?, _ body: @escaping @Sendable () async throws -> Value
  ) async throws(ReactorError) -> Value {
    do {
      if let value = try await gate.withoutWaiting(key, body) { return value }
    } catch {
      throw ReactorError(error, wrap: ReactorError.persistence)
    }
    let wait = LockOwner.wait()
    defer { wait?.end() }
    let result = await OneShot<Result<Value, ReactorError>>.value(
      on: configuration.taskExecutor, for: LockOwner(wait), orIfCancelled: .failure(.cancelled), endsTask: false
    ) { [gate] in
      do { return .success(try await gate.with(key, body)) } catch {
        return .failure(ReactorError(error, wrap: ReactorError.persistence))
      }
    }
    return try result.get()
  }
}

/// What happened to a layer's records.
enum LayerChange: Sendable {
  /// A newer record of the key is stored, of this variant: what was begun with this number.
  case stored(RecordKey, Generation, Variant?)
  /// A model was written locally, with this number. Where it is stored, reactors of its type find it on disk. To those of another
  /// type it says that what they have is out of date.
  case written(RecordKey, Generation, isStored: Bool)
  case invalidated(RecordKey, Date)
  case removed(RecordKey)
  case removedAll
}

/// A reactor, as its layer sees it.
protocol LayerReactor: AnyObject, Sendable {
  func layerChanged(_ change: LayerChange)
  /// The keys of a URL that it knows, whatever their method and their identity fields.
  func keys(of url: String) -> [RecordKey]
  /// Every key that it has in memory.
  var keys: [RecordKey] { get }
  /// What it knows of those of `keys` that it has in memory.
  func statuses(of keys: [RecordKey]) -> [KeyStatus]
  /// Asks the network for `key`, which the layer waits for; `false` where the key is not in memory.
  func refetch(_ key: RecordKey) -> Bool
  /// There is connectivity again: what is paused goes on.
  func wentOnline()
}

private struct WeakMember: Sendable {
  weak var member: (any LayerReactor)?
}

/// The name of a model's type in the records of local models: the same in every process.
///
/// Swift writes the address of the scope into the name of a private or local type, and the address
/// differs between processes. The name leaves such scopes out. Of two private types that have one
/// name in one module, either reads the other's local records, if the bytes fit.
struct ModelName: Sendable {
  let text: String

  init(_ type: any Any.Type) { text = Self.withoutScopes(String(reflecting: type)) }

  /// Compares without scopes on both sides, since earlier versions stored them.
  func matches(_ stored: String) -> Bool { stored == text || Self.withoutScopes(stored) == text }

  private static func withoutScopes(_ name: String) -> String {
    guard name.contains("(unknown context at $") else { return name }
    var parts = name.split(separator: ".", omittingEmptySubsequences: false)
    parts.removeAll { $0.hasPrefix("(unknown context at $") && $0.hasSuffix(")") }
    return parts.joined(separator: ".")
  }
}
