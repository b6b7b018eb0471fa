import Foundation
import HTTPTypes
import Synchronization

extension ReactorEngine {
  enum SaveResult: Sendable {
    case saved
    /// There is nothing new on disk: the answer may not be stored, or confirms what was not stored.
    case notStored
    /// There is nothing to save: it is in memory only.
    case notEncoded
    /// Something newer was saved, or the key was removed.
    case outrun
    case failed(ReactorError)
  }

  /// Runs the flow's save step for an answer, alone for its key, unless something newer makes it pointless. Cancelled with its
  /// flight while it waits for its turn.
  @concurrent func save(
    _ snapshot: Snapshot<AnyModel>, _ resource: Resource, _ ticket: Generations.Ticket
  ) async -> SaveResult {
    let snapshot = snapshot.withReceipt
    do {
      let result = try await core.gate.with(ticket.key) { await carryOut(snapshot, resource, ticket) }
      return report(result, snapshot, ticket.key)
    } catch is CancellationError {
      return .outrun
    } catch {
      return report(.failed(ReactorError(error, wrap: ReactorError.persistence)), snapshot, ticket.key)
    }
  }

  private func carryOut(
    _ snapshot: Snapshot<AnyModel>, _ resource: Resource, _ ticket: Generations.Ticket
  ) async -> SaveResult {
    guard ticket.commit() else { return .outrun }
    do {
      try await flow.saveToPersistence(snapshot, resource)
      // A 304 without a record has changed nothing on disk.
      let isConfirmed = snapshot.record == nil && snapshot.head != nil && snapshot.head?.localModel == nil
      if isConfirmed { return .notStored }
      ticket.didPersist()
      return flow.isPersistent && !snapshot.freshness.isNoStore ? .saved : .notStored
    } catch let error as NotEncoded {
      append(ticket.key, .notEncoded(error.reason))
      return .notEncoded
    } catch {
      return .failed(ReactorError(error, wrap: ReactorError.persistence))
    }
  }

  private func report(_ result: SaveResult, _ snapshot: Snapshot<AnyModel>, _ key: RecordKey) -> SaveResult {
    switch result {
    case .saved: append(key, .saved(bytes: snapshot.record?.body.count ?? snapshot.receipt?.bytes ?? 0))
    case .failed(let error): append(key, .saveFailed(error))
    case .notStored, .notEncoded, .outrun: break
    }
    core.events.deliver()
    return result
  }

  /// A local write: memory and streams have it at once, whoever waits gets it, and then it is persisted.
  func write(_ model: AnyModel, for resource: Resource) async throws(ReactorError) {
    let key = try readable(resource)
    let snapshot = Snapshot(model: model, fetchedAt: now).withReceipt
    let lead = reader.rule.steps.lead
    let ticket = transact { state, effects in
      // In one step with the change of memory: whatever is begun later finds the value there.
      let ticket = core.generations.beginWrite(key)
      let entry = entry(of: key, as: resource, &state)
      setCopy(CachedModel(snapshot, of: key, origin: .local, lead: lead), of: entry, &state, &effects)
      entry.brought(by: ticket.number)
      entry.error = nil
      entry.invalidatedBefore = nil
      entry.showToAll()
      if entry.flight != nil { append(key, .superseded) }
      append(key, .savedLocally)
      apply(entry.flight?.machine.succeeded() ?? [], to: entry, &effects)
      settle(entry, &state, &effects)
      return ticket
    }
    var result: SaveResult
    do {
      result = try await core.carryOut(key) { [self] in
        let result = report(await carryOut(snapshot, resource, ticket), snapshot, key)
        // Not before it is on disk, where other types no longer find what it has replaced.
        let isStored = if case .saved = result { true } else { false }
        core.announce(.written(key, ticket.number, isStored: isStored), except: self)
        return result
      }
    } catch {
      if case .cancelled = error { throw error }
      result = report(.failed(error), snapshot, key)
    }
    if case .failed(let error) = result, flow.configuration.failsWhenSaveFails { throw error }
  }

  /// Declares the copy stale, in memory and on disk; streams ask anew, and so does a flight that is under way.
  func invalidate(_ resource: Resource) async {
    guard let key = try? readable(resource) else { return }
    let ticket = core.generations.beginInvalidation(key)
    let date = now
    transact { state, effects in
      markInvalid(entry(of: key, as: resource, &state), at: date, &state, &effects)
    }
    core.announce(.invalidated(key, date), except: self)
    await invalidateOnDisk(ticket, date)
  }

  func invalidateOnDisk(_ ticket: Generations.Ticket, _ date: Date) async {
    do {
      try await core.change(ticket) { [self] in
        try await flow.invalidateInPersistence(ticket.key, date)
        forgetInvalidation(of: ticket.key)
      }
    } catch {
      append(ticket.key, .saveFailed(error))
      core.events.deliver()
    }
  }

  /// The record is marked, and nobody has read it meanwhile: what memory has no copy of, it need not know of.
  private func forgetInvalidation(of key: RecordKey) {
    transact { state, effects in
      guard let entry = state.memory.entries[key], entry.copy == nil, !entry.isPinned else { return }
      entry.invalidatedBefore = nil
      settle(entry, &state, &effects)
    }
  }

  func markInvalid(_ entry: Entry, at date: Date, _ state: inout State, _ effects: inout [Effect]) {
    entry.invalidatedBefore = date
    if let copy = entry.copy { setCopy(copy.invalidated(at: date), of: entry, &state, &effects) }
    entry.invalidateVariants(at: date)
    append(entry.key, .invalidated)
    supersede(entry, at: date, &state, &effects)
    refresh(entry, at: date, &state, &effects)
    settle(entry, &state, &effects)
  }

  /// Forgets the resource. Whoever waits for it gets ``ReactorError/cancelled``.
  func remove(_ resource: Resource) async throws(ReactorError) {
    let key = try readable(resource)
    try await core.remove(key) { [flow] in try await flow.removeFromPersistence(resource) }
  }

  private func readable(_ resource: Resource) throws(ReactorError) -> RecordKey {
    guard resource.readsOnly else {
      throw .invalidResource("\(resource.method.rawValue) is never stored; set isReadOnly if it changes nothing")
    }
    return try flow.key(resource)
  }

  /// Forgets `key`, or all: their flights end, their callers are cancelled, their streams show nothing.
  private func forget(_ key: RecordKey?) {
    transact { state, effects in
      let forgotten = key.map { [state.memory.entries[$0]].compactMap(\.self) } ?? state.memory.entriesInOrder
      for entry in forgotten {
        for continuation in entry.removeContinuations() { effects.append(.resume(continuation, .failure(.cancelled))) }
        if entry.flight != nil { append(entry.key, .cancelled) }
        endFlight(of: entry, &effects)
        setCopy(nil, of: entry, &state, &effects)
        entry.error = nil
        entry.invalidatedBefore = nil
        entry.isForgotten = true
        append(entry.key, .removed)
        settle(entry, &state, &effects)
      }
    }
  }
}

extension ReactorEngine: LayerReactor {
  func layerChanged(_ change: LayerChange) {
    switch change {
    case .removedAll: forget(nil)
    case .removed(let key): forget(key)
    case .invalidated(let key, let date):
      transact { state, effects in
        guard let entry = state.memory.entries[key] else { return }
        markInvalid(entry, at: date, &state, &effects)
      }
    // Another type's reactor has stored a newer record: this one's model is of an older. It is on disk to be read.
    case .stored(let key, let number, let variant):
      if flow.isPersistent { outdate(key, by: number, variant, isStored: true, isWritten: false) }
    case .written(let key, let number, let isStored):
      outdate(key, by: number, nil, isStored: isStored && flow.isPersistent, isWritten: true)
    }
  }

  /// Declares stale what is older than another reactor's record of `variant`. Streams read that, where it is of their type.
  /// They do not ask the network: after a local write its answer would replace what was written.
  ///
  /// - Parameter isStored: `false` for what is in the other reactor's memory alone: what is on disk is older then.
  private func outdate(
    _ key: RecordKey, by number: Generation, _ variant: Variant?, isStored: Bool, isWritten: Bool
  ) {
    let now = now
    transact { state, effects in
      guard let entry = state.memory.entries[key] else { return }
      let isMeant = { (copy: CachedModel) in !copy.isAnotherVariant(than: variant) }
      if let copy = entry.copy, isMeant(copy), entry.generation < number {
        setCopy(copy.invalidated(at: now), of: entry, &state, &effects)
        if isStored { entry.outdate(by: variant) }
      }
      entry.invalidateVariants(at: now, where: isMeant)
      switch entry.flight?.machine.isPaused {
      case nil: if isStored { refresh(entry, isStored: true, at: now, &state, &effects) }
      // What it waits for may be on disk.
      case true?: restart(entry, at: now, &state, &effects)
      case false?:
        entry.flight?.wasStoredMeanwhile = true
        if isWritten { entry.flight?.isBeforeWrite = true }
      }
      settle(entry, &state, &effects)
    }
  }

  func keys(of url: String) -> [RecordKey] {
    state.withLock { $0.memory.entries.keys.filter { $0.isOf(url: url) } }
  }
}
