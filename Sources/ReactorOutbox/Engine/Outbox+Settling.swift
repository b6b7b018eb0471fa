import Foundation
import HTTPCaching
import HTTPTypes
import ReactorCore
import ReactorWrites

/// The outcome of an attempt.
struct Ended: Sendable {
  var entry: OutboxEntry
  /// The entry as the attempt has left it in the store; `nil` if this process holds no lease of it.
  var begun: StoredEntry?
  var consequence: OutboxEntry.Consequence
  /// The request and its answer; `nil` if nothing was sent.
  var sent: SentRequest?
  /// The error of a refusal, or of an unresolved entry.
  var error: ReactorError?
  var answer: Result<any Sendable, ReactorError> = .success(())
  var settlement = Settlement()
  /// The start of the request; `nil` if nothing was sent.
  var start: WriteStart?
}

extension Outbox {
  /// Finishes an entry that cannot be sent.
  ///
  /// - Parameter stored: The entry, as the store must still have it; `nil` without a lease.
  func refuse(
    _ entry: inout OutboxEntry, from stored: StoredEntry?, _ error: ReactorError, _ layer: LayerContext
  ) async {
    let now = layer.configuration.now()
    _ = entry.end(as: .refused, at: now)
    entry.outcome = LastOutcome(.refused, status: entry.outcome?.status, reason: error.reason, date: now)
    await settle(Ended(entry: entry, begun: stored, consequence: .ended, error: error), layer)
  }

  /// Saves the outcome of an attempt, and then publishes it.
  func settle(_ ended: Ended, _ layer: LayerContext) async {
    let id = ended.entry.id
    let (item, epoch) = withState { ($0.items[id], $0.epoch) }
    guard let item else { return }
    let identities = Dictionary(ended.settlement.identities.map { ($0.0.string, $0.1) }) { $1 }
    let rewritten = rewritten(by: identities).filter { $0.id != id }
    let changes = changes(for: ended, keepsAccepted: !item.drafts.isEmpty, identities, rewritten, layer)
    guard let rest = await saveEnd(changes, of: ended, rewriting: Set(rewritten.map(\.id)), epoch, layer) else {
      return await takeOver(id, layer)
    }
    await show(ended, identities, layer)
    // Done before the lease is released. Otherwise another process would send the stored entry.
    await keepSaving(rest, of: ended, epoch, layer)
    let isOver = ended.entry.isInLane && ended.consequence == .ended
    if !isOver, ended.entry.state != .accepted { await release(id) }
  }

  /// Returns the changes that save the outcome of an attempt, with its consequences for other
  /// entries.
  private func changes(
    for ended: Ended, keepsAccepted: Bool, _ identities: [String: Data], _ rewritten: [OutboxEntry],
    _ layer: LayerContext
  ) -> [OutboxChange] {
    let id = ended.entry.id
    let isAccepted = ended.entry.state == .accepted
    var entries = rewritten
    var removed: [UUID] = []
    if isAccepted, !keepsAccepted {
      removed.append(id)
    } else {
      entries.append(ended.entry.withoutRequest(if: isAccepted))
    }
    if isAccepted, keepsAccepted, let oldest = withState({ $0.forgetOldestAccepted(adding: id) }) {
      removed.append(oldest)
    }
    if isAccepted || ended.entry.state == .refused {
      // Otherwise the next process would send them, since it has not seen that they wait.
      let now = layer.configuration.now()
      entries += withState { $0.orphans(of: id, at: now, except: $0.identities.merging(identities) { $1 }) }
    }
    var identified = identities
    if isAccepted {
      // The next process must not send them either.
      let lost = withState { $0.queue.identities.idsToLose(of: id, $0.identities.merging(identities) { $1 }) }
      for temporary in lost { identified[temporary] = Self.lostIdentity }
    }
    return (ended.begun.map { [.require($0)] } ?? [])
      + identified.sorted { $0.key < $1.key }.map { .identify($0.key, $0.value) }
      + updates(of: entries, layer) + removed.map(OutboxChange.remove)
  }

  /// Returns the changes that save entries. It skips and reports an entry that cannot be encoded.
  func updates(of entries: [OutboxEntry], _ layer: LayerContext) -> [OutboxChange] {
    entries.compactMap { entry in
      do throws(ReactorError) {
        return .update(StoredEntry(id: entry.id, lane: entry.lane, bytes: try encoded(entry, layer)))
      } catch {
        emit(entry, .storeFailed(error), layer)
        return nil
      }
    }
  }

  /// Publishes the outcome of an attempt: the entry's state, its drafts, stale records, and its
  /// waiters' results.
  private func show(
    _ ended: Ended, _ identities: [String: Data], _ layer: LayerContext
  ) async {
    let entry = ended.entry
    let waiting = withState { $0.lanes(waitingFor: entry.id) }
    // Done before the outcome, so that its draft and the drafts of other entries refer to the same
    // id. Entries that were submitted while the outcome was saved get the ids, too.
    learn(identities, layer)
    let ending = withState { state -> OutboxState.Item? in
      // Its drafts may have changed since the start.
      guard let item = state.items[entry.id] else { return nil }
      if entry.state == .accepted, item.drafts.isEmpty {
        state.remove(entry.id, keepsIDs: true)
      } else {
        state.update(entry)
      }
      state.note(ended)
      state.noteTurn(of: entry.id)
      return item
    }
    // Removed with everything else.
    guard let item = ending else { return }
    switch entry.state {
    case .accepted:
      accept(item.drafts, of: entry.id, after: ended.settlement.keepsDraft?.upToADay, layer)
      for note in ended.settlement.entities { note(layer, ended.start) }
      // Not earlier: the tag would be newer than the value that a request reads.
      if let sent = ended.sent {
        tags.note(sent, of: entry.id, madeFrom: item.asked, at: entry.endedAt ?? layer.configuration.now())
      }
    case .refused, .unresolved: layer.withdraw(item.drafts)
    case .waiting, .sending, .unknown, .conflicted: break
    }
    emit(ended, layer)
    await invalidate(ended, item, layer)
    if let result = ended.result { item.result?.settle(result) }
    if entry.state == .refused || entry.state == .accepted {
      await refuseDependents(of: entry.id, isAccepted: entry.state == .accepted, layer)
    }
    changed()
    // The lanes that waited for its ids, whether these arrived or not.
    for lane in waiting { pump(lane) }
  }

  /// Invalidates the resources that a finished entry has made stale, or may have.
  private func invalidate(_ ended: Ended, _ item: OutboxState.Item, _ layer: LayerContext) async {
    var keys = ended.sent?.changed ?? []
    if ended.leavesDoubt { keys += item.drafts.keys.filter { !keys.contains($0) } }
    await layer.invalidate(keys, groups: ended.sent?.groups ?? [])
    if !ended.settlement.invalidated.isEmpty { await layer.invalidate(ended.settlement.invalidated) }
  }
}

extension Ended {
  /// The result for the callers that wait for the entry; `nil` if it will be sent again.
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
}

extension OutboxEntry {
  /// Returns the entry without its request, whose bytes are no longer needed.
  func withoutRequest(if isOver: Bool = true) -> OutboxEntry {
    guard isOver else { return self }
    var entry = self
    entry.request = nil
    return entry
  }
}

extension OutboxState {
  /// Records the details of a finished attempt that the app may read.
  fileprivate mutating func note(_ ended: Ended) {
    let id = ended.entry.id
    switch ended.consequence {
    case .rebase: items[id]?.needsRefresh = true
    case .signIn where items[id]?.signIns == signIns:
      // With a new credential, other writes may succeed.
      if ended.sent?.isRenewed == true { queue.waitForSignIn(id) } else { queue.needsSignIn = true }
    case .signIn: break
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

  /// Makes room for another accepted entry, and returns the forgotten entry, if any: the oldest
  /// whose draft does not stay.
  fileprivate mutating func forgetOldestAccepted(adding id: UUID) -> UUID? {
    accepted.append(id)
    guard accepted.count > Outbox.acceptedLimit else { return nil }
    let place = accepted.dropLast().firstIndex { queue.entries[$0]?.draftStaysUntil == nil }
    let oldest = accepted.remove(at: place ?? 0)
    _ = remove(oldest)
    return oldest
  }

  /// Returns the lanes with entries that wait for an id from the entry `id`.
  fileprivate func lanes(waitingFor id: UUID) -> [String] {
    Set(queue.identities.holders(ofIDsOf: id).compactMap { queue.entries[$0]?.lane }).sorted()
  }
}

/// Drafts that stay for a while after the acceptance of their entry; see
/// ``Settlement/keepDraft(for:)``.
extension Outbox {
  /// Turns the drafts of an accepted entry into accepted ones; with `stay`, after that time.
  ///
  /// If the layer is released before, the scope's next layer finds the entry.
  func accept(_ drafts: [Draft], of id: UUID, after stay: Duration?, _ layer: LayerContext) {
    guard let stay else { return layer.accept(drafts) }
    let clock = layer.configuration.clock
    _ = spawnApart(on: layer.configuration.taskExecutor) { [weak self, weak layer] in
      do { try await clock.sleep(for: stay) } catch { return }
      guard let self, let layer else { return }
      layer.accept(drafts)
      // A value fetched meanwhile may be fresh and still lack the change.
      await layer.invalidate(drafts.keys, groups: [])
      await endStay(of: id, layer)
    }
  }

  /// Saves that the draft of an entry no longer stays.
  private func endStay(of id: UUID, _ layer: LayerContext) async {
    guard var entry = withState({ $0.queue.entries[id] }), entry.draftStaysUntil != nil else { return }
    entry.draftStaysUntil = nil
    let ended = entry.withoutRequest()
    do {
      try await commits.save(
        commits.enqueue(updates(of: [ended], layer)) { _ in self.withState { $0.update(ended) } })
    } catch OutboxStorageError.unknownEntry {
      // Everything was removed, or others were accepted since.
    } catch {
      emit(entry, .storeFailed(.persistence(error)), layer)
    }
  }
}

extension OutboxEntry {
  /// Returns the time for which the draft of an accepted entry stays, zero if it is over; `nil` if
  /// the draft does not stay.
  func draftStay(at now: Date) -> Duration? {
    guard state == .accepted, let draftStaysUntil else { return nil }
    // If the clock was set back, the whole time starts again.
    let longest = draftStaysUntil.timeIntervalSince(endedAt ?? now)
    return .seconds(min(max(0, draftStaysUntil.timeIntervalSince(now)), max(0, longest))).upToADay
  }
}
