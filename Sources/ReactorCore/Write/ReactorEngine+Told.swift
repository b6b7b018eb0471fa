import Foundation
import HTTPCaching
import Synchronization

/// Values that the server has told, as a compare-and-set by entity tag.
extension ReactorEngine {
  func replacements(by value: ToldValue) -> [ToldReplacement] {
    // The entities of an event may be older than those of a list that was fetched since.
    guard flow.parseRecord != nil, flow.presentation == nil else { return [] }
    let keys = state.withLock { $0.memory.entries(ofURL: value.url).map(\.key) }
    return keys.map { ToldReplacement(reactor: self, ticket: layer.generations.beginFetch($0)) }
  }

  func finish(_ replacement: ToldReplacement, by value: ToldValue) async {
    let (ticket, key) = (replacement.ticket, replacement.ticket.key)
    guard let (old, resource) = state.withLock({ $0.replaceable(key, by: value) }), let head = old.head else { return }
    var body: Data?
    if value.needsBody { body = await storedBody(of: head, resource, key) }
    guard let record = value.record(head, body, now), let parse = flow.parseRecord else { return }
    let snapshot: Snapshot<AnyModel>
    do { snapshot = try parse(record, key) } catch { return }
    let lead = reader.rule.steps.lead
    guard update({ $0.replace(old, by: snapshot, for: resource, value, ticket, lead: lead) }) else { return }
    // Later changes wait for this one, and not for a disk that does not answer.
    do {
      let result = try await layer.budget.within(key) { [self] in await save(snapshot, resource, ticket) }
      guard case .saved = result else { return }
    } catch { return }
    layer.announce(.stored(key, ticket.number, snapshot.head?.variant), except: self)
  }

  func isQuiet(_ url: String) -> Bool { state.withLock { $0.isQuiet(url) } }

  /// Returns the body of the version that is in memory; `nil` if it is not stored.
  private func storedBody(of head: Record.Head, _ resource: Resource, _ key: RecordKey) async -> Data? {
    guard layer.cache.isPersistent else { return nil }
    do {
      let record = try await layer.budget.within(key) { [layer] in
        try await layer.gate.with(key) { try await layer.cache.lookUp(key, for: resource.headers) }
      }
      return record.flatMap { $0.head.strongTag == head.strongTag && $0.head.localModel == nil ? $0.body : nil }
    } catch {
      return nil
    }
  }
}

extension EngineState {
  /// Returns the copy that a value may replace, and a resource that it answers.
  func replaceable(_ key: RecordKey, by value: ToldValue) -> (CachedModel, Resource)? {
    guard key.method == .get, let entry = memory.entries[key], let copy = entry.copy,
      copy.head?.strongTag == value.from, !copy.isLocal,
      copy.freshness.invalidatedAt == nil, !copy.freshness.isNoStore, entry.changes == nil,
      !entry.isForgotten, !entry.isOutdated, isQuiet(entry),
      let resource = entry.use.aliases.last(where: { copy.isSelected(by: $0) })
    else { return nil }
    return (copy, resource)
  }

  /// Returns `true` if what is in memory of a URL is the server's, and no request and no write
  /// concerns it.
  mutating func isQuiet(_ url: String) -> Bool {
    memory.entries(ofURL: url).allSatisfy { isQuiet($0) && $0.copy?.isLocal != true }
  }

  private func isQuiet(_ entry: Entry) -> Bool {
    entry.flight == nil && layer.presentation?.admits(entry.key, hasCaller: false) != false
      && !layer.ownWrites.isWriting(entry.key.url)
  }

  /// Replaces a copy, unless something else has happened since.
  mutating func replace(
    _ old: CachedModel, by snapshot: Snapshot<AnyModel>, for resource: Resource, _ value: ToldValue,
    _ ticket: Generations.Ticket, lead: Double
  ) -> Bool {
    guard let entry = memory.entries[old.key], replaceable(old.key, by: value)?.0 === old, ticket.commit() else {
      return false
    }
    let bytes = snapshot.record?.body.count ?? 0
    append(old.key, .valueReceived(bytes: bytes))
    var copy = CachedModel(
      snapshot, of: old.key, origin: .network, cost: bytes, lead: max(lead, rule.steps.lead),
      generation: ticket.number)
    // A later change may have been told since.
    if let date = layer.marks.date(
      of: old.key, snapshot.head?.strongTag, snapshot.head?.groups ?? [], after: ticket.number)
    {
      copy = copy.invalidated(at: date)
    }
    copy.note(isSaved: false)
    setCopy(copy, of: entry)
    entry.clearOutdated()
    entry.error = nil
    entry.attemptedAt = time
    entry.showToAll()
    publishChanges(of: entry)
    return true
  }
}
