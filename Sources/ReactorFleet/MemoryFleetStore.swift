public import Foundation
import Synchronization

/// A fleet's store in the memory of one process, for tests and for several layers of one program.
///
/// ```swift
/// let store = MemoryFleetStore()
/// let servers = [Fleet(store), Fleet(store)]
/// ```
///
/// Its contents are gone with the process. Only the retention of each hash limits them.
public final class MemoryFleetStore: FleetStore {
  private let state = Mutex(State())
  private let now: @Sendable () -> UInt64

  /// Creates an empty store.
  ///
  /// - Parameter now: The clock of the store, in microseconds since 1970. Default: the wall clock.
  public init(now: @escaping @Sendable () -> UInt64 = { UInt64(Date().timeIntervalSince1970 * 1_000_000) }) {
    self.now = now
  }

  /// See ``FleetStore/read(_:known:)``. Never throws.
  public func read(_ record: FleetRecordID, known: FleetVersion?) async throws(FleetError) -> FleetStoredRecord {
    state.withLock { state in
      guard let hash = state.hash(record.url, at: now()) else { return FleetStoredRecord() }
      return hash.view(of: record.name, known: known)
    }
  }

  /// See ``FleetStore/begin(_:_:lease:retention:)``. Never throws.
  public func begin(
    _ record: FleetRecordID, _ wish: FleetLeaseRequest, lease: Duration, retention: Duration
  ) async throws(FleetError) -> FleetLeaseAnswer {
    state.withLock { state in
      let now = now()
      var hash = state.hash(record.url, at: now) ?? FleetHash()
      let beginning = hash.begin(record, wish, lease: lease.inMicroseconds, at: now)
      if case .failed = beginning { return beginning }
      hash.keep(until: now + retention.inMicroseconds)
      state.hashes[record.url] = hash
      return beginning
    }
  }

  /// See ``FleetStore/renew(_:lease:)``. Never throws.
  public func renew(_ ticket: FleetTicket, lease: Duration) async throws(FleetError) -> Bool {
    state.withLock { state in
      let now = now()
      guard var hash = state.hash(ticket.record.url, at: now),
        hash.records[ticket.record.name]?.holder == ticket.version
      else { return false }
      hash.records[ticket.record.name]?.leaseEnd = now + lease.inMicroseconds
      state.hashes[ticket.record.url] = hash
      return true
    }
  }

  /// See ``FleetStore/commit(_:_:retention:)``. Never throws.
  public func commit(
    _ ticket: FleetTicket, _ change: FleetChange, retention: Duration
  ) async throws(FleetError) -> FleetCommitResult {
    let (end, message) = state.withLock { state -> (FleetCommitResult, FleetMessage?) in
      let now = now()
      guard var hash = state.hash(ticket.record.url, at: now) else { return (.lost, nil) }
      let (end, isNews) = hash.commit(ticket, change)
      guard end == .kept else { return (end, nil) }
      hash.keep(until: now + retention.inMicroseconds)
      state.hashes[ticket.record.url] = hash
      return (end, isNews ? .stored(ticket.record, ticket.version) : nil)
    }
    if let message { tell(message) }
    return end
  }

  /// See ``FleetStore/release(_:_:)``. Never throws.
  public func release(_ ticket: FleetTicket, _ reason: FleetRelease) async throws(FleetError) {
    let message = state.withLock { state -> FleetMessage? in
      let now = now()
      guard var hash = state.hash(ticket.record.url, at: now), let isAwaited = hash.release(ticket, reason, at: now)
      else { return nil }
      state.hashes[ticket.record.url] = hash
      return isAwaited ? .released(ticket.record) : nil
    }
    if let message { tell(message) }
  }

  /// See ``FleetStore/fence(_:removes:replaying:)``. Never throws.
  public func fence(
    _ url: FleetURLID, removes: Bool, replaying version: FleetVersion?
  ) async throws(FleetError) -> FleetVersion {
    let (fence, isNew) = state.withLock { state -> (FleetVersion, Bool) in
      let now = now()
      let hash = state.hash(url, at: now)
      if let version, let fence = hash?.fence, fence >= version { return (version, false) }
      let fence = version ?? FleetVersion(rawValue: max(now, (hash?.ticket ?? 0) + 1))
      if removes {
        state.hashes[url] = nil
      } else if var hash {
        hash.fence = fence
        hash.ticket = max(hash.ticket, fence.rawValue)
        state.hashes[url] = hash
      }
      return (fence, true)
    }
    if isNew { tell(.fenced(url, fence)) }
    return fence
  }

  /// See ``FleetStore/generation(of:renews:)``. Never throws.
  public func generation(of scope: String, renews: Bool) async throws(FleetError) -> FleetGeneration {
    let (generation, isNew) = state.withLock { state in
      if !renews, let generation = state.generations[scope] { return (generation, false) }
      let generation = UUID().uuidString
      state.generations[scope] = generation
      return (generation, renews)
    }
    if isNew { tell(.renewed(scope: scope, generation)) }
    return generation
  }

  /// See ``FleetStore/beat(_:nonce:scopes:)``. Never throws.
  public func beat(_ node: String, nonce: UInt64, scopes: [String]) async throws(FleetError) -> FleetHeartbeat {
    let (pulse, receivers) = state.withLock { state in
      for scope in scopes where state.generations[scope] == nil { state.generations[scope] = UUID().uuidString }
      return (
        FleetHeartbeat(store: state.identity, generations: scopes.map { state.generations[$0] ?? "" }),
        state.followers.filter { $0.node == node }
      )
    }
    for receiver in receivers { receiver.body(.beat(nonce)) }
    return pulse
  }

  /// See ``FleetStore/follow(_:_:)``. Never throws.
  public func follow(
    _ node: String, _ body: @escaping @Sendable (FleetMessage) -> Void
  ) async throws(FleetError) {
    let id = UUID()
    state.withLock { $0.followers.append(Follower(id: id, node: node, body: body)) }
    body(.following)
    let (never, end) = AsyncStream.makeStream(of: Never.self)
    for await _ in never {}
    end.finish()
    state.withLock { $0.followers.removeAll { $0.id == id } }
  }

  /// See ``FleetStore/nodes()``. Never throws.
  public func nodes() async throws(FleetError) -> Int { state.withLock { Set($0.followers.map(\.node)).count } }

  /// A Boolean value that indicates whether no response and no ticket is stored.
  public var isEmpty: Bool { state.withLock { $0.hashes.isEmpty } }

  /// Removes everything, as an operator would. Servers detect it with their next heartbeat.
  public func removeAll() {
    state.withLock { state in
      state.hashes = [:]
      state.generations = [:]
    }
  }

  /// Removes the records of a URL, as a store does when its memory is full.
  package func evict(_ url: FleetURLID) { state.withLock { $0.hashes[url] = nil } }

  /// A snapshot of the contents, as a replica has it.
  package struct Contents: Sendable {
    fileprivate var hashes: [FleetURLID: FleetHash]
    fileprivate var generations: [String: FleetGeneration]
  }

  package var contents: Contents { state.withLock { Contents(hashes: $0.hashes, generations: $0.generations) } }

  /// Continues with the contents of a replica, under a new identity.
  package func failOver(to contents: Contents) {
    state.withLock { state in
      (state.hashes, state.generations) = (contents.hashes, contents.generations)
      state.identity = UUID().uuidString
    }
  }

  private func tell(_ message: FleetMessage) {
    for follower in state.withLock(\.followers) { follower.body(message) }
  }

  private struct Follower: Sendable {
    let id: UUID
    let node: String
    let body: @Sendable (FleetMessage) -> Void
  }

  private struct State {
    var identity = UUID().uuidString
    var hashes: [FleetURLID: FleetHash] = [:]
    var generations: [String: FleetGeneration] = [:]
    var followers: [Follower] = []

    /// Returns the hash of a URL, unless its retention is over.
    mutating func hash(_ url: FleetURLID, at now: UInt64) -> FleetHash? {
      guard let hash = hashes[url] else { return nil }
      guard hash.end > now else {
        hashes[url] = nil
        return nil
      }
      return hash
    }
  }
}

/// The stored state of one URL. Its methods are the rules that the scripts of a store follow, as
/// pure functions.
package struct FleetHash: Sendable, Hashable {
  struct StoredRecord: Sendable, Hashable {
    var head: Data?
    var body: Data?
    var version: FleetVersion?
    var confirmation: FleetVersion?
    /// The ticket that has the lease.
    var holder: FleetVersion?
    var leaseEnd: UInt64 = 0
    var isAwaited = false
    var passEnd: UInt64 = 0
    var failureEnd: UInt64 = 0
  }

  /// The number of records of one URL with a response.
  package static let recordLimit = 16

  /// The first ticket; `nil` before it is drawn.
  var begun: FleetVersion?
  /// The latest ticket or fence.
  var ticket: UInt64 = 0
  var fence: FleetVersion?
  var records: [String: StoredRecord] = [:]
  /// The end of the retention, in microseconds.
  var end: UInt64 = 0

  mutating func keep(until end: UInt64) { self.end = max(self.end, end) }

  func versions(of name: String) -> FleetVersions {
    let record = records[name]
    return FleetVersions(body: record?.version, confirmation: record?.confirmation, fence: fence)
  }

  func view(of name: String, known: FleetVersion?) -> FleetStoredRecord {
    let versions = versions(of: name)
    let record = records[name]
    return FleetStoredRecord(
      versions: versions, head: record?.head, body: known != nil && known == versions.body ? nil : record?.body)
  }

  mutating func begin(_ id: FleetRecordID, _ wish: FleetLeaseRequest, lease: UInt64, at now: UInt64) -> FleetLeaseAnswer
  {
    var record = records[id.name] ?? StoredRecord()
    let isPassed = record.passEnd > now
    if wish == .lease {
      if record.failureEnd > now { return .failed(.microseconds(record.failureEnd - now), versions(of: id.name)) }
      if !isPassed, record.leaseEnd > now {
        record.isAwaited = true
        records[id.name] = record
        return .held(.microseconds(record.leaseEnd - now), versions(of: id.name))
      }
    }
    let version = FleetVersion(rawValue: max(now, ticket + 1))
    ticket = version.rawValue
    if begun == nil { begun = version }
    let hasLease = wish == .lease && !isPassed
    if hasLease { (record.holder, record.leaseEnd) = (version, now + lease) }
    records[id.name] = record
    let drawn = FleetTicket(record: id, version: version)
    return hasLease ? .granted(drawn, versions(of: id.name)) : .pass(drawn, versions(of: id.name))
  }

  /// - Returns: The result, and `true` if the other servers are to be notified.
  mutating func commit(_ ticket: FleetTicket, _ change: FleetChange) -> (FleetCommitResult, isNews: Bool) {
    let version = ticket.version
    guard let begun, begun <= version else { return (.lost, false) }
    if let fence, fence >= version { return (.fenced, false) }
    var record = records[ticket.record.name] ?? StoredRecord()
    let old = versions(of: ticket.record.name)
    if let latest = [old.body, old.confirmation].compactMap({ $0 }).max(), latest >= version { return (.older, false) }
    switch change {
    case .response(let head, let body):
      (record.head, record.body, record.version, record.confirmation) = (head, body, version, nil)
    case .confirmation(let head, let base):
      guard old.body == base else { return (.older, false) }
      record.head = head
      record.confirmation = version
    }
    let isNewBody = if case .response = change { old.body != nil } else { false }
    let isNews = record.isAwaited || isNewBody
    (record.holder, record.leaseEnd, record.isAwaited, record.passEnd, record.failureEnd) = (nil, 0, false, 0, 0)
    records[ticket.record.name] = record
    removeOldest(beside: ticket.record.name)
    return (.kept, isNews)
  }

  /// Removes the oldest variant, whose name contains a point; without variants, the oldest record.
  /// Other variants are found through the first record.
  private mutating func removeOldest(beside name: String) {
    let stored = records.filter { $0.value.version != nil }
    guard stored.count > Self.recordLimit else { return }
    let others = stored.filter { $0.key != name }
    let variants = others.filter { $0.key.contains(".") }
    let oldest = (variants.isEmpty ? others : variants).min {
      ($0.value.version?.rawValue ?? 0, $0.key) < ($1.value.version?.rawValue ?? 0, $1.key)
    }
    if let oldest { records[oldest.key] = nil }
  }

  /// - Returns: `true` if a server waits for it; `nil` if the ticket has no lease.
  mutating func release(_ ticket: FleetTicket, _ reason: FleetRelease, at now: UInt64) -> Bool? {
    guard var record = records[ticket.record.name], record.holder == ticket.version else { return nil }
    let isAwaited = record.isAwaited
    (record.holder, record.leaseEnd, record.isAwaited) = (nil, 0, false)
    switch reason {
    case .abandoned: break
    case .failed(let time): record.failureEnd = now + time.inMicroseconds
    case .pass(let time): record.passEnd = now + time.inMicroseconds
    }
    records[ticket.record.name] = record
    return isAwaited
  }
}

extension Duration {
  /// The duration in microseconds; zero for a negative one.
  package var inMicroseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (product, overflows) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000)
    return overflows ? .max / 2 : min(product, .max / 2) + UInt64(attoseconds / 1_000_000_000_000)
  }
}
