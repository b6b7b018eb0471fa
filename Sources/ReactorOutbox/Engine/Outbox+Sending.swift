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

  /// Leaves an entry in its lane, and tries again after a while: the store has failed.
  func postpone(_ id: UUID, after error: ReactorError, _ layer: LayerContext) {
    let now = layer.configuration.now()
    withState { $0.queue.deferLease(id, until: now + Self.storePause.inSeconds) }
    emit(id, key: nil, .storeFailed(error), layer)
  }
}

extension Outbox {
  /// Makes the request, saves it, and sends it.
  private func attempt(_ claimed: Claimed, leasedAt: Date, epoch: Int, _ layer: LayerContext) async {
    var (entry, stored) = (claimed.entry, claimed.stored)
    let item = withState { state in
      state.items[entry.id]?.signIns = state.signIns
      return state.items[entry.id]
    }
    guard let item else { return }
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
    if entry.request == nil {
      switch await make(entry, item, layer) {
      case .made(let made):
        entry.request = made.request
        let hasOwnKey = made.request.isKeyed && entry.idempotencyKey == nil && made.key != nil
        if made.request.isKeyed {
          entry.idempotencyKey = entry.idempotencyKey ?? made.key ?? configuration.makeID().uuidString
        }
        let keyed = entry
        if hasOwnKey, withState({ $0.usesKeyForOtherBytes(keyed) }) {
          (entry.request, entry.idempotencyKey) = (nil, nil)
          return await refuse(&entry, from: stored, .usedKey, layer)
        }
        let id = entry.id
        withState { state in
          state.items[id]?.asked = made.asked
          state.items[id]?.needsRefresh = false
        }
      case .failed(let error): return await unmade(&entry, from: stored, error, limits, layer)
      case .interrupted: return await interrupted(stored, layer)
      }
    }
    guard let request = entry.request, let message = request.message(entry.idempotencyKey, configuration) else {
      return await refuse(
        &entry, from: stored, .invalidResource("the saved request is not valid; discard the entry"), layer)
    }
    // It has taken a while. The entry stays as it is stored, and other processes may send it.
    guard withState({ !$0.queue.isPaused }) else {
      try? await configuration.storage.release(entry.id, in: scope, by: process)
      return
    }
    let prepared = entry
    entry.begin(at: layer.configuration.now())
    guard let begun = await save(entry, from: stored, layer) else { return }
    stored = begun
    let keys = item.keys.union([request.key(in: layer)])
    let start = await layer.beginSending(entry.id, keys)
    // That may have waited for a fetch.
    let isSent =
      switch await lookUp(begun: stored, leasedAt: leasedAt, layer) {
      case .isStored: await send(message, request.body, of: entry, epoch: epoch, layer)
      case .isTakenOver: Attempt?.none
      case .isUnknown: Attempt.stopped
      }
    if case .sent(let sent) = isSent {
      // The requests of its keys wait until its end is shown.
      if withState({ $0.epoch == epoch && $0.items[entry.id] != nil }) {
        await end(&entry, from: stored, sent, limits, start, layer)
      }
      return layer.endSending(entry.id, keys)
    }
    // Nothing was sent, so no request waits for what is saved now, however long the store takes.
    layer.endSending(entry.id, keys)
    switch isSent {
    case .unwanted: await takenBack(stored, layer)
    // As it was before, so that the next attempt does not take it for one in doubt.
    case .stopped: await settle(Ended(entry: prepared, begun: stored, consequence: .again), layer)
    case .sent, nil: break
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
          self.withState { state in state.update(entry) }
        })
      return begun
    } catch let error as ReactorError {
      // An end without the request fits, as the entry did when it was submitted.
      var entry = entry
      entry.request = nil
      await refuse(&entry, from: stored, error, layer)
    } catch OutboxStorageError.changedEntry, OutboxStorageError.unknownEntry {
      await takeOver(entry.id, layer)
    } catch {
      postpone(entry.id, after: .persistence(error), layer)
    }
    return nil
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
      spawn(on: layer.configuration.taskExecutor, for: LockOwner.current) {
        shot.settle(await layer.send(request, body: body))
      })
    return .sent(await shot.value)
  }

  /// Cancels the requests that are being sent, and waits until their new state is saved.
  func stopping() async {
    let (tasks, makings) = withState { state in
      state.queue.isStopped = true
      return (state.items.values.compactMap(\.sending), state.items.values.compactMap(\.making))
    }
    for task in tasks { task.cancel() }
    for making in makings { making.interrupt() }
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
  /// Makes the request of an entry, in a task that is left alone if the entry is withdrawn or
  /// removed, or the outbox is stopped: the program's code may take as long as it likes.
  private func make(_ entry: OutboxEntry, _ item: OutboxState.Item, _ layer: LayerContext) async
    -> OutboxState.Making.End
  {
    let making = OutboxState.Making()
    let begins = withState { state in
      guard state.items[entry.id]?.isWithdrawn == false, !state.isStopped, state.removals == 0 else { return false }
      state.items[entry.id]?.making = making
      return true
    }
    guard begins else { return .interrupted }
    making.task.attach(
      spawn(on: layer.configuration.taskExecutor, for: LockOwner.current) { [self] in
        do {
          making.end.settle(.made(try await made(entry, item, layer)))
        } catch {
          making.end.settle(.failed(ReactorError(error, wrap: ReactorError.network)))
        }
      })
    let end = await making.end.value
    withState { $0.items[entry.id]?.making = nil }
    return end
  }

  private func made(
    _ entry: OutboxEntry, _ item: OutboxState.Item, _ layer: LayerContext
  ) async throws -> OutboxState.Making.Made {
    var known = Known(layer: layer, drafts: item.mutation.drafts, tags: tags)
    let isRebase = item.needsRefresh || entry.outcome?.kind == .conflict
    if isRebase { try await item.asked?.refresh(in: layer, into: known.fetched) }
    var resource = try await item.mutation.value.request(known)
    if known.asked.hasOutdatedTag || isRebase && item.asked == nil {
      // Once: a response that is requested now has what was accepted before, and its own tag.
      try await known.asked.refresh(in: layer, into: known.fetched)
      known = Known(layer: layer, drafts: item.mutation.drafts, tags: tags, fetched: known.fetched)
      resource = try await item.mutation.value.request(known)
    }
    return OutboxState.Making.Made(
      request: try frozen(resource, layer), key: resource.idempotencyKey, asked: known.asked)
  }

  /// Leaves an entry as it is stored, for the next attempt or process, unless it was withdrawn.
  private func interrupted(_ stored: StoredEntry, _ layer: LayerContext) async {
    if withState({ $0.items[stored.id]?.isWithdrawn == true }) { return await takenBack(stored, layer) }
    try? await configuration.storage.release(stored.id, in: scope, by: process)
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
    case .unsent, .signIn:
      entry.begin(at: layer.configuration.now())
      let consequence = entry.end(
        SendOutcome(preparing: error), status: nil, reason: error.reason, at: layer.configuration.now(), limits,
        random: nextRandom())
      await settle(Ended(entry: entry, begun: stored, consequence: consequence, error: error), layer)
    default: await refuse(&entry, from: stored, error, layer)
    }
  }
}
