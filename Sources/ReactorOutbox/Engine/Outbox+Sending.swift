import Foundation
import HTTPCaching
import HTTPTypes
import ReactorCore

/// One attempt of an entry: lease, request, saved, sent.
extension Outbox {
  /// Prepares and sends an entry, whose lane waits for it.
  func process(_ id: UUID, _ layer: LayerContext) async {
    defer { attemptIsOver(id) }
    let epoch = withState(\.epoch)
    let leasedAt = layer.configuration.now()
    guard let claimed = await claim(id, layer) else { return }
    if configuration.storage is MemoryOutboxStorage {
      return await attempt(claimed, leasedAt: leasedAt, epoch: epoch, layer)
    }
    await withTaskGroup { group in
      group.addTask { await self.renewLease(of: id, layer) }
      await attempt(claimed, leasedAt: leasedAt, epoch: epoch, layer)
      group.cancelAll()
    }
  }

  /// Frees an entry for the program's decisions, which may wait for that.
  private func attemptIsOver(_ id: UUID) {
    let isDecided = withState { state in
      // Not before: what was sent cannot be withdrawn while its end is being saved.
      state.items[id]?.sending = nil
      state.queue.end(id)
      return state.queue.entries[id]?.isDecidable == true
    }
    if isDecided { changed() }
  }

  /// An entry that this process has a lease of.
  struct Claimed: Sendable {
    var entry: OutboxEntry
    /// The entry as it was stored then. Whoever saves a change of it requires that it still is: a
    /// lease ends by time, and the process may have slept.
    var stored: StoredEntry
  }

  /// Leases an entry, and returns it as it is stored; `nil` if it cannot be sent now.
  func claim(_ id: UUID, _ layer: LayerContext) async -> Claimed? {
    let now = layer.configuration.now()
    let stored: StoredEntry?
    do {
      stored = try await configuration.storage.claim(
        id, in: scope, by: process, now: now, until: now + Self.lease.inSeconds)
    } catch {
      postpone(id, after: .persistence(error), layer)
      return nil
    }
    guard let stored else {
      await missed(id, layer)
      return nil
    }
    guard var entry = try? OutboxEntry(decoding: stored) else {
      setAside(stored, "it was changed by another process, and cannot be read", layer)
      return nil
    }
    entry.abandon()
    if let old = withState({ $0.queue.entries[id] }) {
      if old.arguments != entry.arguments { await learnFromStore(layer) }
      // Another process has sent it again, and moved those that wait for its ids with it.
      if old.number != entry.number { try? await reloading() }
    }
    // It was perhaps saved before its giver was.
    entry = entry.rewritten(by: withState(\.identities)) ?? entry
    if !entry.isInLane {
      try? await configuration.storage.release(id, in: scope, by: process)
      await endedElsewhere(entry, layer)
      return nil
    }
    let (old, mayGo) = withState { state -> (OutboxEntry?, Bool) in
      let old = state.queue.entries[id]
      _ = state.update(entry)
      // A withdrawal has not known that another process has sent it.
      if !entry.isUnsent { state.items[id]?.isWithdrawn = false }
      // Another process has tried in vain, and this one heeds its backoff too.
      let isPostponed = old?.outcome != entry.outcome && entry.notBefore.map { $0 > now } == true
      return (old, !isPostponed && state.queue.mayGo(id))
    }
    if let old { showChange(of: entry, from: old, layer) }
    guard !mayGo else { return Claimed(entry: entry, stored: stored) }
    try? await configuration.storage.release(id, in: scope, by: process)
    return nil
  }

  /// Learns the ids that are stored with the end of an entry, which is not shown yet or is another
  /// process's: all entries that have them change at once.
  private func learnFromStore(_ layer: LayerContext) async {
    let epoch = withState(\.epoch)
    guard let contents = try? await configuration.storage.contents(of: scope), withState({ $0.isCurrent(epoch) })
    else { return }
    learn(contents.identities, layer)
  }

  /// Shows what another process has changed of an entry: its ids, or its place.
  func showChange(of entry: OutboxEntry, from old: OutboxEntry, _ layer: LayerContext) {
    let isMoved = entry.number != old.number
    guard isMoved || entry.arguments != old.arguments else { return }
    rewrite(entry, isMoved: isMoved, layer)
  }

  /// Takes over that another process has ended an entry, with the ids that it has given.
  private func endedElsewhere(_ entry: OutboxEntry, _ layer: LayerContext) async {
    do {
      let contents = try await configuration.storage.contents(of: scope)
      await endedElsewhere(entry, contents.identities, layer)
    } catch {
      postpone(entry.id, after: .persistence(error), layer)
    }
  }

  /// Looks at the store: another process has leased the entry, or has ended it.
  func missed(_ id: UUID, _ layer: LayerContext) async {
    let now = layer.configuration.now()
    withState { $0.queue.deferLease(id, until: now + Self.poll.inSeconds) }
    let epoch = withState(\.epoch)
    guard let contents = try? await configuration.storage.contents(of: scope) else { return }
    // What is being removed with everything else has not ended elsewhere.
    guard withState({ $0.isCurrent(epoch) }) else { return }
    guard let stored = contents.entries.first(where: { $0.id == id }) else {
      return await goneElsewhere(id, contents.identities, layer)
    }
    // It keeps the lease for a while.
    if let entry = try? OutboxEntry(decoding: stored), !entry.isInLane {
      return await endedElsewhere(entry, contents.identities, layer)
    }
    if let lease = contents.leases[id] { withState { $0.queue.deferLease(id, until: lease.look(after: now)) } }
  }

  /// Forgets an entry that another process has ended and removed.
  ///
  /// - Parameter identities: The ids of the store, with those that the entry has given.
  func goneElsewhere(_ id: UUID, _ identities: [String: Data], _ layer: LayerContext) async {
    learn(identities, layer)
    let (item, effect) = withState { state in
      let removed = state.loseToOthers(id)
      state.queue.identities.settle(id, state.identities)
      return removed
    }
    effect.perform(in: layer)
    guard let item else { return }
    // It may have been accepted.
    layer.accept(item.drafts)
    emit(id, key: nil, .endedElsewhere, layer)
    await layer.invalidate(item.drafts.keys, groups: [])
    item.result?.settle(.failure(.network(MutationError.endedElsewhere)))
    changed()
    // Those that have waited for its ids.
    pump()
  }

  /// Takes over the end of an entry that another process has ended and kept.
  ///
  /// - Parameter identities: The ids of the store, with those that the entry has given.
  func endedElsewhere(_ entry: OutboxEntry, _ identities: [String: Data], _ layer: LayerContext) async {
    learn(identities, layer)
    let (item, effect) = withState { state -> (OutboxState.Item?, LaneEffect) in
      let item = state.items[entry.id]
      // A withdrawal that waits for it comes too late, whatever becomes of the entry.
      if item?.isWithdrawn == true { state.lostWithdrawals.insert(entry.id) }
      let effect = state.update(entry)
      state.items[entry.id]?.drafts = []
      switch entry.state {
      case .accepted: state.queue.identities.settle(entry.id, state.identities)
      case .refused: state.queue.identities.release(entry.id)
      default: break
      }
      return (item, effect)
    }
    effect.perform(in: layer)
    if let item {
      if entry.state == .accepted { layer.accept(item.drafts) } else { layer.withdraw(item.drafts) }
      emit(entry, .endedElsewhere, layer)
      await layer.invalidate(item.drafts.keys, groups: [])
      item.result?.settle(.failure(.network(MutationError.endedElsewhere)))
    }
    changed()
    pump()
  }

  /// Keeps the lease while the entry is sent.
  private func renewLease(of id: UUID, _ layer: LayerContext) async {
    while !Task.isCancelled {
      do { try await layer.configuration.clock.sleep(for: Self.lease / 3) } catch { return }
      let now = layer.configuration.now()
      _ = try? await configuration.storage.claim(
        id, in: scope, by: process, now: now, until: now + Self.lease.inSeconds)
    }
  }

  /// Leaves an entry in its lane, and tries again after a while: the store has failed.
  func postpone(_ id: UUID, after error: ReactorError, _ layer: LayerContext) {
    let now = layer.configuration.now()
    withState { $0.queue.deferLease(id, until: now + Self.storePause.inSeconds) }
    emit(id, key: nil, .storeFailed(error), layer)
  }

  func setAside(_ stored: StoredEntry, _ reason: String, _ layer: LayerContext) {
    let (item, effect) = withState { state in
      // Those that wait for its ids go on waiting.
      let removed = state.loseToOthers(stored.id)
      state.unreadable[stored.id] = OutboxState.Unreadable(stored: stored, reason: reason)
      return removed
    }
    effect.perform(in: layer)
    layer.withdraw(item?.drafts ?? [])
    item?.result?.settle(.failure(.network(MutationError.endedElsewhere)))
    emit(stored.id, key: nil, .unreadable(reason), layer)
    changed()
  }
}

extension Outbox {
  /// Makes the request, saves it, and sends it.
  private func attempt(_ claimed: Claimed, leasedAt: Date, epoch: Int, _ layer: LayerContext) async {
    var (entry, stored) = (claimed.entry, claimed.stored)
    guard let item = withState({ $0.items[entry.id] }) else { return }
    if let id = withState({ $0.queue.identities.missingID(in: entry.id) }) {
      return await refuse(&entry, from: stored, .network(MutationError.missingIdentity(id)), layer)
    }
    let limits = limits(item.mutation)
    switch entry.beginning(at: layer.configuration.now(), limits) {
    case .send: break
    case .expired: return await refuse(&entry, from: stored, .network(MutationError.expired), layer)
    case .unresolved:
      _ = entry.end(as: .unresolved, at: layer.configuration.now())
      return await settle(Ended(entry: entry, begun: stored, consequence: .ended), layer)
    }
    let failure = await freeze(&entry, item, layer)
    if let failure { return await unmade(&entry, from: stored, failure, limits, layer) }
    guard let request = entry.request, let message = request.message(entry.idempotencyKey, configuration) else {
      return await refuse(
        &entry, from: stored, .invalidResource("the saved request is not valid; discard the entry"), layer)
    }
    // It has taken a while. The entry stays as it is stored.
    guard withState({ !$0.queue.isPaused }) else { return }
    let prepared = entry
    entry.begin(at: layer.configuration.now())
    guard let begun = await save(entry, from: stored, layer) else { return }
    stored = begun
    let keys = item.keys.union([request.key(in: layer)])
    layer.expectSending(keys)
    await layer.beginSending(keys)
    defer { layer.endSending(keys) }
    // That may have waited for a fetch.
    guard await isStillSaved(stored, leasedAt: leasedAt, layer) else { return }
    let attempt = await send(message, request.body, of: entry, epoch: epoch, layer)
    switch attempt {
    case .unwanted: await takenBack(stored, layer)
    // As it was before: nothing was sent.
    case .stopped: await settle(Ended(entry: prepared, begun: stored, consequence: .again), layer)
    case .sent(let sent):
      guard withState({ $0.epoch == epoch && $0.items[entry.id] != nil }) else { return }
      await end(&entry, from: stored, sent, limits, layer)
    }
  }

  /// The end of an attempt to send a request.
  private enum Attempt {
    case sent(SentRequest)
    /// The outbox was stopped or paused before, everything is being removed, or it is no longer the
    /// turn of the entry. Nothing was sent.
    case stopped
    /// The entry was withdrawn before. Nothing was sent.
    case unwanted
  }

  func limits(_ mutation: MutationBox) -> OutboxEntry.Limits {
    OutboxEntry.Limits(
      retry: configuration.retry, onConflict: mutation.onConflict, maximumAge: configuration.maximumAge,
      newKey: { [configuration] in configuration.makeID().uuidString })
  }

  /// Returns a random position of a wait, in 0...1.
  func nextRandom() -> Double {
    var generator = random
    return Double.random(in: 0...1, using: &generator)
  }

  /// Saves a new state of an entry that is sent next.
  ///
  /// - Parameter stored: The entry as it must be stored still.
  /// - Returns: The entry as it is stored then; `nil` if it cannot be sent.
  private func save(_ entry: OutboxEntry, from stored: StoredEntry, _ layer: LayerContext) async -> StoredEntry? {
    do {
      let begun = StoredEntry(id: entry.id, lane: entry.lane, bytes: try encoded(entry, layer))
      try await commits.save(
        commits.enqueue([.require(stored), .update(begun)]) { _ in
          self.withState { state in if state.items[entry.id] != nil { _ = state.update(entry) } }
        })
      return begun
    } catch let error as ReactorError {
      var entry = entry
      await refuse(&entry, from: stored, error, layer)
    } catch OutboxStorageError.changedEntry, OutboxStorageError.unknownEntry {
      await takeOver(entry.id, layer)
    } catch {
      postpone(entry.id, after: .persistence(error), layer)
    }
    return nil
  }

  /// Takes over what another process has made of an entry, whose lease this one had.
  func takeOver(_ id: UUID, _ layer: LayerContext) async {
    guard await claim(id, layer) != nil else { return }
    try? await configuration.storage.release(id, in: scope, by: process)
  }

  /// Sends a request in a task of its own, which a removal of everything cancels.
  private func send(
    _ request: HTTPRequest, _ body: Data?, of entry: OutboxEntry, epoch: Int, _ layer: LayerContext
  ) async -> Attempt {
    let task = TaskHandle(priority: nil)
    let obstacle = withState { state -> Attempt? in
      guard state.items[entry.id]?.isWithdrawn == false else { return .unwanted }
      guard state.isCurrent(epoch), !state.isStopped, !state.queue.isPaused else { return .stopped }
      // An earlier one of another process may have been found since.
      guard state.queue.mayGo(entry.id) else { return .stopped }
      state.items[entry.id]?.sending = task
      state.items[entry.id]?.signIns = state.signIns
      return nil
    }
    if let obstacle { return obstacle }
    emit(entry, .sending(attempt: entry.attempts), layer)
    changed()
    let shot = OneShot<SentRequest>()
    task.attach(
      spawn(on: layer.configuration.taskExecutor) { shot.settle(await layer.send(request, body: body)) })
    return .sent(await shot.value)
  }

  /// Cancels the requests that are being sent, and waits until their new state is saved.
  func stopping() async {
    let tasks = withState { state in
      state.isStopped = true
      return state.items.values.compactMap(\.sending)
    }
    for task in tasks { task.cancel() }
    endTimerIfUnneeded()
    // A drain waits for nothing more.
    changed()
    while true {
      let shot = withState { $0.running.isEmpty ? nil : $0.addWaiter() }
      guard let shot else { return }
      await shot.value
    }
  }
}

/// The request of an entry.
extension Outbox {
  /// Makes the request of an entry, unless it is made already.
  ///
  /// - Returns: The error for which there is none; `nil` if there is one.
  private func freeze(
    _ entry: inout OutboxEntry, _ item: OutboxState.Item, _ layer: LayerContext
  ) async -> ReactorError? {
    guard entry.request == nil else { return nil }
    var known = Known(layer: layer, drafts: item.mutation.drafts, tags: tags)
    do {
      if item.needsRefresh { try await item.asked?.refresh(in: layer) }
      var resource = try await item.mutation.value.request(known)
      if known.asked.hasOutdatedTag {
        // Once: a response that is requested now has what was accepted before, and its own tag.
        try await known.asked.refresh(in: layer)
        known = Known(layer: layer, drafts: item.mutation.drafts, tags: tags)
        resource = try await item.mutation.value.request(known)
      }
      let request = try frozen(resource, layer)
      entry.request = request
      if request.isKeyed {
        entry.idempotencyKey = entry.idempotencyKey ?? resource.idempotencyKey ?? configuration.makeID().uuidString
      }
    } catch {
      return ReactorError(error, wrap: ReactorError.network)
    }
    let id = entry.id
    withState { state in
      state.items[id]?.asked = known.asked
      state.items[id]?.needsRefresh = false
    }
    return nil
  }

  /// - Throws: `ReactorError.invalidResource` for a request that only reads, or that holds a
  ///   secret.
  func frozen(_ resource: Resource, _ layer: LayerContext) throws(ReactorError) -> FrozenRequest {
    guard let backend = layer.backend else { throw .invalidResource("the layer has no backend to send \(resource) to") }
    guard !resource.readsOnly else {
      throw .invalidResource("\(resource) is read-only; set isReadOnly to false if it changes something")
    }
    let message = try backend.request(for: resource)
    var fields = message.headerFields
    fields[configuration.idempotencyField] = nil
    fields[.idempotencyKey] = nil
    var request = FrozenRequest(
      method: message.method.rawValue, url: message.absoluteURL,
      fields: fields.map { FrozenRequest.Field(name: $0.name.rawName, value: $0.value) }, body: resource.body)
    if let secret = request.secret(names: layer.configuration.secretQueryItems) {
      throw .invalidResource(
        "the request holds a secret, \(secret); a middleware of the backend adds credentials when it is sent")
    }
    request.isKeyed = isKeyed(request, window: configuration.idempotencyWindow)
    return request
  }

  /// Handles a request that could not be made.
  private func unmade(
    _ entry: inout OutboxEntry, from stored: StoredEntry, _ error: ReactorError, _ limits: OutboxEntry.Limits,
    _ layer: LayerContext
  ) async {
    switch SendOutcome(preparing: error) {
    case .unsent, .unknown, .signIn:
      entry.begin(at: layer.configuration.now())
      let consequence = entry.end(
        .unsent, status: nil, reason: error.reason, at: layer.configuration.now(), limits,
        random: nextRandom())
      await settle(Ended(entry: entry, begun: stored, consequence: consequence, error: error), layer)
    default: await refuse(&entry, from: stored, error, layer)
    }
  }
}

extension OutboxLease {
  /// Returns the time to look again whether another process has ended the entry: at the latest when
  /// the lease ends.
  func look(after now: Date) -> Date { min(now + Outbox.poll.inSeconds, max(until, now + 0.01)) }
}
