import Foundation
import HTTPCaching
import HTTPTypes
import ReactorCore

/// The end of an attempt.
struct Ended: Sendable {
  var entry: OutboxEntry
  var consequence: OutboxEntry.Consequence
  /// The request and its answer; `nil` if nothing was sent.
  var sent: SentRequest?
  /// The error of a refusal, or of an unresolved entry.
  var error: ReactorError?
  var answer: Result<any Sendable, ReactorError> = .success(())
  var settlement = Settlement()
}

extension Outbox {
  /// Ends an attempt that was sent.
  func end(_ entry: inout OutboxEntry, _ sent: SentRequest, _ limits: OutboxEntry.Limits, _ layer: LayerContext) async {
    let now = layer.configuration.now()
    let attempt = SendOutcome.Attempt(
      number: entry.attempts, isKeyed: entry.request?.isKeyed == true, hasIfMatch: entry.request?.hasIfMatch == true,
      isSeenElsewhere: sent.isSeenElsewhere)
    let outcome = SendOutcome(sent.result.map(\.0), of: attempt, now: now)
    let error = sent.error(outcome)
    let consequence = entry.end(
      outcome, status: sent.response?.status.code, reason: error?.reason ?? "accepted", at: now, limits,
      random: nextRandom())
    var ended = Ended(entry: entry, consequence: consequence, sent: sent, error: error)
    if entry.state == .accepted, let mutation = withState({ $0.items[entry.id]?.mutation }) {
      (ended.answer, ended.settlement) = mutation.settle(sent.result, layer.configuration)
    }
    if entry.state == .refused, entry.conflicts > OutboxEntry.Limits.conflicts {
      ended.error = .network(MutationError.tooManyConflicts(entry.conflicts))
    }
    await settle(ended, layer)
  }

  /// Ends an entry that cannot be sent.
  func refuse(_ entry: inout OutboxEntry, _ error: ReactorError, _ layer: LayerContext) async {
    let now = layer.configuration.now()
    _ = entry.end(as: .refused, at: now)
    entry.outcome = LastOutcome(.refused, status: entry.outcome?.status, reason: error.reason, date: now)
    await settle(Ended(entry: entry, consequence: .ended, sent: nil, error: error), layer)
  }

  /// Saves the end of an attempt, and then shows it.
  func settle(_ ended: Ended, _ layer: LayerContext) async {
    let id = ended.entry.id
    guard let item = withState({ $0.items[id] }) else { return }
    let keepsAccepted = ended.entry.state == .accepted && !item.drafts.isEmpty
    let identities = Dictionary(ended.settlement.identities.map { ($0.0.string, $0.1) }) { $1 }
    let rewritten = rewritten(by: identities, except: id)
    let forgotten = keepsAccepted ? withState { $0.forgetOldestAccepted(adding: id) } : nil
    var changes: [OutboxChange] = identities.sorted { $0.key < $1.key }.map { .identify($0.key, $0.value) }
    changes += rewritten.compactMap { entry in
      (try? encoded(entry, layer)).map { .update(StoredEntry(id: entry.id, lane: entry.lane, bytes: $0)) }
    }
    if ended.entry.state == .accepted, !keepsAccepted {
      changes.append(.remove(id))
    } else {
      let slim = ended.entry.withoutRequest(if: ended.entry.state == .accepted)
      if let bytes = try? encoded(slim, layer) {
        changes.append(.update(StoredEntry(id: id, lane: slim.lane, bytes: bytes)))
      }
    }
    if let forgotten { changes.append(.remove(forgotten)) }
    await saveEnd(changes, of: ended.entry, layer)
    await show(ended, item, rewritten, identities, layer)
    if !ended.entry.isInLane || ended.consequence != .ended {
      if ended.entry.state != .accepted {
        try? await configuration.storage.release(id, in: scope, by: process)
      }
    }
  }

  /// Saves the end of an attempt. A store that fails is tried three times. Then the outbox goes on
  /// without it: after a restart, the entry's outcome is unknown, and it is sent again under its
  /// key.
  private func saveEnd(_ changes: [OutboxChange], of entry: OutboxEntry, _ layer: LayerContext) async {
    for attempt in 1...3 {
      guard withState({ $0.items[entry.id] != nil }) else { return }
      do {
        try await commits.save(commits.enqueue(changes))
        return
      } catch {
        emit(entry, .storeFailed(.persistence(error)), layer)
        guard attempt < 3 else { return }
        try? await layer.configuration.clock.sleep(for: .milliseconds(100 * attempt))
      }
    }
  }

  /// Shows the end of an attempt: in its state, its drafts, the stale records and to its waiters.
  private func show(
    _ ended: Ended, _ item: OutboxState.Item, _ rewritten: [OutboxEntry], _ identities: [String: Data],
    _ layer: LayerContext
  ) async {
    let entry = ended.entry
    let waiting = withState { $0.lanes(waitingFor: entry.id) }
    let effect = withState { state -> LaneEffect? in
      guard state.items[entry.id] != nil else { return nil }
      state.identities.merge(identities) { $1 }
      let effect =
        entry.state == .accepted && item.drafts.isEmpty
        ? state.remove(entry.id, keepsIDs: true).effect : state.update(entry)
      state.note(ended)
      return effect
    }
    // Removed with everything else.
    guard let effect else { return }
    effect.perform(in: layer)
    for entry in rewritten { rewrite(entry, layer) }
    // Not before: what waits for an id would go without it.
    if entry.state == .accepted { withState { $0.queue.identities.forget(entry.id) } }
    switch entry.state {
    case .accepted:
      accept(item.drafts, keeping: ended.settlement.keepsDraft, layer)
      // Not before: the tag would be newer than the value that is read.
      if let sent = ended.sent { tags.note(sent, at: entry.endedAt ?? layer.configuration.now()) }
    case .refused, .unresolved: layer.withdraw(item.drafts)
    case .waiting, .sending, .unknown, .conflicted: break
    }
    emit(ended, layer)
    await invalidate(ended, item, layer)
    if let result = ended.result { item.result?.settle(result) }
    if entry.state == .refused { await refuseDependents(of: entry, layer) }
    changed()
    // Those that have waited for its ids, given or not.
    for lane in waiting { pump(lane) }
  }

  /// Turns drafts into accepted ones; with `duration`, after that time.
  private func accept(_ drafts: [Draft], keeping duration: Duration?, _ layer: LayerContext) {
    guard let duration, !drafts.isEmpty else { return layer.accept(drafts) }
    let clock = layer.configuration.clock
    _ = spawnApart(on: layer.configuration.taskExecutor) {
      try? await clock.sleep(for: duration.upToADay)
      layer.accept(drafts)
      await layer.invalidate(drafts.map(\.key), groups: [])
    }
  }

  /// Invalidates what an ended entry has made stale, or may have.
  private func invalidate(_ ended: Ended, _ item: OutboxState.Item, _ layer: LayerContext) async {
    var keys = ended.sent?.changed ?? []
    if ended.leavesDoubt { keys += item.drafts.map(\.key).filter { !keys.contains($0) } }
    await layer.invalidate(keys, groups: ended.sent?.groups ?? [])
    if !ended.settlement.invalidated.isEmpty { await layer.invalidate(ended.settlement.invalidated) }
  }

  /// Refuses the entries that wait for an id of one that has ended without.
  func refuseDependents(of entry: OutboxEntry, _ layer: LayerContext) async {
    let (dependents, id) = withState { state in
      let identities = state.queue.identities
      let dependents = identities.holders(ofIDsOf: entry.id).compactMap { state.queue.entries[$0] }
      let id = identities.firstID(ofIDsOf: entry.id) ?? ""
      // A refused entry gives its ids no more, and still gets those of others.
      if state.queue.entries[entry.id] == nil {
        state.queue.identities.forget(entry.id)
      } else {
        state.queue.identities.release(entry.id)
      }
      return (dependents.sorted { $0.number < $1.number }, id)
    }
    for dependent in dependents {
      var dependent = dependent
      await refuse(&dependent, .network(MutationError.missingIdentity(id)), layer)
    }
    for lane in Set(dependents.map(\.lane)).sorted() { pump(lane) }
  }

  /// Returns the entries that hold one of the given ids, with the server's in its place.
  private func rewritten(by identities: [String: Data], except id: UUID) -> [OutboxEntry] {
    guard !identities.isEmpty else { return [] }
    return withState { state in
      let holders = identities.keys.reduce(into: Set<UUID>()) { $0.formUnion(state.queue.identities.holders(of: $1)) }
      return holders.subtracting([id]).compactMap { holder -> OutboxEntry? in
        guard var entry = state.queue.entries[holder],
          let arguments = TemporaryIDs.rewritten(entry.arguments, identities)
        else { return nil }
        entry.arguments = arguments
        return entry
      }.sorted { $0.number < $1.number }
    }
  }

  /// Shows an entry whose ids were replaced, and whose new form is saved.
  private func rewrite(_ entry: OutboxEntry, _ layer: LayerContext) {
    guard let item = withState({ $0.items[entry.id] }) else { return }
    let type = Swift.type(of: item.mutation.value)
    guard let box = try? MutationBox(entry, types: [entry.name: type]),
      let drafts = try? box.drafts.made(of: entry.id, key: layer.key)
    else { return }
    let effects = withState { state -> [LaneEffect] in
      // Its keys may be others now.
      let left = state.items[entry.id].map { _ in state.take(entry.id) } ?? LaneEffect()
      state.items[entry.id]?.mutation = box
      state.items[entry.id]?.drafts = drafts
      state.queue.put(entry)
      return [left, state.give(entry.id)]
    }
    layer.replace(item.drafts, by: drafts)
    for effect in effects.reversed() { effect.perform(in: layer) }
  }
}

extension Ended {
  /// The outcome for those that wait for the entry; `nil` if it goes on.
  fileprivate var result: SubmissionResult.Value? {
    switch entry.state {
    case .accepted: answer
    case .refused: .failure(error ?? .cancelled)
    case .unresolved: .failure(error ?? .timedOut)
    case .waiting, .sending, .unknown, .conflicted: nil
    }
  }

  /// A Boolean value that indicates whether the server's value may differ from the base: the
  /// request was accepted, its outcome is unknown, or the refusal says that the base is out of
  /// date.
  fileprivate var leavesDoubt: Bool {
    switch entry.state {
    case .accepted, .unresolved: true
    case .refused:
      entry.isInDoubt || [404, 409, 410, 412].contains(sent?.response?.status.code)
    case .waiting, .sending, .unknown, .conflicted: false
    }
  }
}

extension SentRequest {
  var response: HTTPResponse? { try? result.get().0 }

  /// Returns the error of an answer that is no acceptance; `nil` if it is one.
  fileprivate func error(_ outcome: SendOutcome) -> ReactorError? {
    switch result {
    case .success((let response, let body)):
      outcome.kind == .accepted ? nil : .server(response, body: body)
    case .failure(let error): error
    }
  }
}

extension OutboxEntry {
  /// Returns the entry without its request, whose bytes are not needed any more.
  fileprivate func withoutRequest(if isOver: Bool) -> OutboxEntry {
    guard isOver else { return self }
    var entry = self
    entry.request = nil
    return entry
  }
}

extension OutboxState {
  /// Records what the program may ask of an ended attempt.
  fileprivate mutating func note(_ ended: Ended) {
    let id = ended.entry.id
    switch ended.consequence {
    case .rebase: items[id]?.needsRefresh = true
    case .signIn: if ended.sent == nil || items[id]?.signIns == signIns { queue.needsSignIn = true }
    case .asks:
      if let (response, body) = try? ended.sent?.result.get() {
        items[id]?.conflict = Outbox.Entry.Conflict(status: response.status.code, response: response, body: body)
      }
    case .ended where ended.entry.state == .accepted: items[id]?.drafts = []
    case .ended: items[id]?.drafts = []
    case .again: break
    }
    if ended.consequence == .ended { items[id]?.error = ended.error }
  }

  /// Makes room for another accepted entry, and returns the one that is forgotten.
  fileprivate mutating func forgetOldestAccepted(adding id: UUID) -> UUID? {
    accepted.append(id)
    guard accepted.count > Outbox.acceptedLimit else { return nil }
    let oldest = accepted.removeFirst()
    _ = remove(oldest)
    return oldest
  }

  /// Returns the lanes with entries that wait for an id that `id` gives.
  fileprivate func lanes(waitingFor id: UUID) -> [String] {
    Set(queue.identities.holders(ofIDsOf: id).compactMap { queue.entries[$0]?.lane }).sorted()
  }

  /// Takes the keys of an entry out of the expectations of its lane.
  fileprivate mutating func take(_ id: UUID) -> LaneEffect {
    guard let entry = queue.entries[id], entry.isInLane, let keys = items[id]?.keys else { return LaneEffect() }
    return LaneEffect(cancel: expected[entry.lane]?.remove(keys) ?? [])
  }

  /// Adds the keys of an entry to the expectations of its lane, if that moves.
  fileprivate mutating func give(_ id: UUID) -> LaneEffect {
    guard let entry = queue.entries[id], entry.isInLane, running.contains(entry.lane), let keys = items[id]?.keys
    else { return LaneEffect() }
    return LaneEffect(expect: expected[entry.lane, default: ExpectedKeys()].add(keys))
  }
}
