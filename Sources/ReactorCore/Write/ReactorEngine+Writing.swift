import Foundation
import HTTPTypes
import Synchronization

extension ReactorEngine {
  enum SaveResult: Sendable {
    case saved
    /// The step ran, and nothing is on a disk of the layer's: the response may not be stored, or
    /// the step is the program's own.
    case notStored
    /// The response confirms a copy that is not on disk, which may have an older record.
    case onlyConfirmed
    /// Nothing can be saved: the model has no bytes and stays in memory only.
    case notEncoded
    /// A newer value was saved, the key was removed, or the flight was cancelled.
    case outrun
    case failed(ReactorError)

    /// A Boolean value that indicates whether no older record is left where the value was to be
    /// saved.
    var isSaved: Bool {
      switch self {
      case .saved, .notStored: true
      case .onlyConfirmed, .notEncoded, .outrun, .failed: false
      }
    }
  }

  /// Runs the flow's save step with exclusive access to the key, unless something newer makes it
  /// pointless. While it waits for its turn, it is cancelled with the flight.
  @concurrent func save(
    _ snapshot: Snapshot<AnyModel>, _ resource: Resource, _ ticket: Generations.Ticket
  ) async -> SaveResult {
    let snapshot = snapshot.withReceipt
    do {
      let result = try await layer.gate.with(ticket.key) {
        await carryOut(snapshot, resource, ticket, isLocal: false)
      }
      return report(result, snapshot, ticket.key)
    } catch is CancellationError {
      return .outrun
    } catch {
      return report(.failed(ReactorError(error, wrap: ReactorError.persistence)), snapshot, ticket.key)
    }
  }

  private func carryOut(
    _ snapshot: Snapshot<AnyModel>, _ resource: Resource, _ ticket: Generations.Ticket, isLocal: Bool
  ) async -> SaveResult {
    guard ticket.commit() else { return .outrun }
    do {
      try await flow.saveToPersistence(snapshot, resource)
      // A 304 without a record has changed nothing on disk, which may have an older record.
      let isConfirmed = snapshot.record == nil && snapshot.head != nil && snapshot.head?.localModel == nil
      if !isConfirmed { ticket.didPersist() }
      let isStored = !isConfirmed && flow.isPersistent && !snapshot.freshness.isNoStore
      if !isConfirmed || !flow.isPersistent { didReplace(ticket, isLocal: isLocal, isOnDisk: isStored) }
      // Before another step reads the record.
      if !isConfirmed { state.withLock { $0.noteSaved(ticket) } }
      return isConfirmed ? .onlyConfirmed : isStored ? .saved : .notStored
    } catch let error as NotEncoded {
      if !flow.isPersistent { didReplace(ticket, isLocal: isLocal, isOnDisk: false) }
      append(ticket.key, .notEncoded(error.reason))
      return .notEncoded
    } catch {
      return .failed(ReactorError(error, wrap: ReactorError.persistence))
    }
  }

  private func didReplace(_ ticket: Generations.Ticket, isLocal: Bool, isOnDisk: Bool) {
    // A local value is only for its own type.
    let model = isLocal ? state.withLock { $0.model } : nil
    layer.presentation?.didReplace(ticket.key, ticket.number, of: model, isOnDisk: isOnDisk)
  }

  private func report(_ result: SaveResult, _ snapshot: Snapshot<AnyModel>, _ key: RecordKey) -> SaveResult {
    switch result {
    case .saved: append(key, .saved(bytes: snapshot.record?.body.count ?? snapshot.receipt?.bytes ?? 0))
    case .failed(let error): append(key, .saveFailed(error))
    case .notStored, .onlyConfirmed, .notEncoded, .outrun: break
    }
    layer.events.deliver()
    return result
  }

  /// Writes locally: memory, streams and waiters get the value at once, and then it is persisted.
  func write(_ model: AnyModel, for resource: Resource) async throws(ReactorError) {
    let key = try readable(resource)
    let snapshot = presented(Snapshot(model: model, fetchedAt: now).withReceipt, of: key)
    let lead = reader.rule.steps.lead
    let ticket = update { $0.write(snapshot, key, for: resource, lead: lead) }
    var result: SaveResult
    do {
      result = try await layer.carryOut(key) { [self] in
        let result = report(await carryOut(snapshot, resource, ticket, isLocal: true), snapshot, key)
        // Announced after the save: reactors of other types then no longer find the replaced record
        // on disk.
        let isStored = if case .saved = result { true } else { false }
        layer.announce(.written(key, ticket.number, isStored: isStored), except: self)
        return result
      }
    } catch {
      if case .cancelled = error { throw error }
      result = report(.failed(error), snapshot, key)
    }
    if case .failed(let error) = result, flow.configuration.saving == .required { throw error }
  }

  /// Marks the copy stale in memory and on disk. Streams request it again, and a flight under way
  /// restarts.
  func invalidate(_ resource: Resource) async {
    guard let key = try? readable(resource) else { return }
    await layer.tellOthers(key)
    let ticket = layer.generations.beginInvalidation(key)
    let date = now
    update { $0.invalidate(key, as: resource, at: date) }
    layer.announce(.invalidated(key, date), except: self)
    await invalidateOnDisk(ticket, date)
  }

  func invalidateOnDisk(_ ticket: Generations.Ticket, _ date: Date) async {
    do {
      try await layer.change(ticket) { [self] in
        try await flow.invalidateInPersistence(ticket.key, date)
        update { $0.forgetInvalidation(of: ticket.key) }
      }
    } catch {
      append(ticket.key, .saveFailed(error))
      layer.events.deliver()
    }
  }

  /// Removes the resource from memory and disk. Its waiters get ``ReactorError/cancelled``.
  func remove(_ resource: Resource) async throws(ReactorError) {
    let key = try readable(resource)
    try await layer.remove(key) { [flow] in try await flow.removeFromPersistence(resource) }
  }

  package func readable(_ resource: Resource) throws(ReactorError) -> RecordKey {
    guard resource.readsOnly else {
      throw .invalidResource("\(resource.method.rawValue) is never stored; set isReadOnly if it changes nothing")
    }
    return try flow.key(resource)
  }
}

extension ReactorEngine: LayerReactor {
  func layerChanged(_ change: LayerChange) {
    switch change {
    case .removedAll: update { $0.forget(nil) }
    case .removed(let key): update { $0.forget(key) }
    case .invalidated(let key, let date): update { $0.invalidate(key, at: date) }
    case .marked(let marked): update { $0.mark(marked) }
    case .pollingLimited: update { $0.pollingLimited() }
    case .gone(let key, let number, let resource, let error):
      update { $0.forgetGone(key, under: number, resource, error) }
    case .presented(let changes): update { $0.presented(changes) }
    case .renewed(let keys): update { $0.renew(keys) }
    case .sendingBegan(let key):
      let now = now
      update { $0.sendingBegan(key, at: now) }
    case .sendingEnded(let key): update { $0.sendingEnded(key) }
    // A reactor of another type has stored a newer record than this one's model. It can be loaded
    // from disk.
    case .stored(let key, let number, let variant):
      guard flow.isPersistent else { return }
      let now = now
      update { $0.outdate(key, by: number, variant, isStored: true, isWritten: false, at: now) }
    case .written(let key, let number, let isStored):
      let now = now
      let isStored = isStored && flow.isPersistent
      update { $0.outdate(key, by: number, nil, isStored: isStored, isWritten: true, at: now) }
    }
  }

  func keys(in set: KeySet) -> [RecordKey] {
    state.withLock { state in
      state.memory.entries.values.filter { entry in
        set.contains(entry.key) || entry.use.aliases.contains { set.contains(groups: $0.groups) }
          || set.contains(groups: entry.copy?.head?.groups ?? [])
      }.map(\.key)
    }
  }

  func computeShown(of key: RecordKey) {
    let shown = state.withLock { $0.memory.entries[key]?.changes?.shown }
    _ = shown?.model
  }

  func head(of key: RecordKey) -> Record.Head? {
    state.withLock { state in state.memory.entries[key].flatMap { $0.isOutdated ? nil : $0.copy?.head } }
  }

  func keys(of url: String) -> [RecordKey] {
    state.withLock { $0.memory.entries.keys.filter { $0.isOf(url: url) } }
  }
}

/// Changes of the disk, in the order of their tickets.
extension LayerContext {
  /// Removes `key` from memory and then, with `fromDisk`, from disk. Responses to earlier requests
  /// are dropped.
  func remove(
    _ key: RecordKey, fromDisk: @escaping @Sendable () async throws -> Void
  ) async throws(ReactorError) {
    let removal = generations.beginRemoval(of: key)
    await tellOthers(key, isRemoved: true)
    let ticket = generations.beginWrite(key)
    announce(.removed(key))
    try await change(ticket) {
      defer { removal.end() }
      try await fromDisk()
      ticket.didPersist()
    }
  }

  /// Changes the disk with exclusive access to the ticket's key, unless something newer makes that
  /// pointless.
  @concurrent func change(
    _ ticket: Generations.Ticket, _ body: @escaping @Sendable () async throws -> Void
  ) async throws(ReactorError) {
    try await carryOut(ticket.key) {
      if ticket.commit() { try await body() }
    }
  }

  /// Runs `body` with exclusive access to `key`; with `nil`, to every key.
  ///
  /// Memory has changed already, so the disk must follow. A caller that is cancelled while it waits
  /// for its turn gets ``ReactorError/cancelled`` at once. `body` runs even so when its turn comes.
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

  /// Notifies other processes that the responses of a key's URL are out of date or removed.
  ///
  /// Call it before the change in this process, so that no later request gets a response from
  /// before the change.
  func tellOthers(_ key: RecordKey, isRemoved: Bool = false) async {
    guard let upstream else { return }
    await upstream.change(RecordKey.get(key), isRemoved: isRemoved, at: configuration.now())
  }
}
