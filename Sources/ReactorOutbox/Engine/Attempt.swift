import Foundation
import HTTPTypes
import ReactorCore
import ReactorWrites

/// One attempt to send an entry that this process has leased: it builds, saves and sends the
/// request, then evaluates, saves and publishes the outcome.
///
/// Each step changes the attempt's copy of the entry. Only saved states are published. A step that
/// cannot continue has settled the entry, or leaves it as stored.
struct Attempt {
  let outbox: Outbox
  let layer: LayerContext
  let item: OutboxState.Item
  let limits: OutboxEntry.Limits
  /// The number of removals of everything when the attempt began.
  let epoch: Int
  let leasedAt: Date
  var entry: OutboxEntry
  /// The entry as stored. A change is saved only if the store still has this.
  var stored: StoredEntry

  mutating func run() async {
    guard await isDue(), await makesRequest(), let request = await message() else { return }
    // Leasing took a while. The entry stays as stored, and other processes may send it.
    guard outbox.withState({ !$0.queue.isPaused }) else { return await outbox.release(entry.id) }
    let prepared = entry
    entry.begin(at: now)
    guard await isSaved() else { return }
    let keys = item.keys.union([request.frozen.key(in: layer)])
    let start: WriteStart
    do {
      start = try await begin(keys)
    } catch {
      // Only a Submission.answer() waits for the lane, and that can be refused instead.
      entry = prepared
      return await unmade(error)
    }
    let end = await send(request)
    if case .sent(let sent) = end {
      // Requests of its keys wait until its outcome is published.
      if outbox.withState({ $0.epoch == epoch && $0.items[entry.id] != nil }) {
        await outbox.settle(judge(sent, start), layer)
      }
      return layer.endSending(entry.id, keys)
    }
    // Nothing was sent, so no request waits for what is saved now, however long the store takes.
    layer.endSending(entry.id, keys)
    switch end {
    case .unwanted: await outbox.takenBack(stored, layer)
    // Restored, so that the next attempt does not treat it as in doubt.
    case .stopped: await outbox.settle(Ended(entry: prepared, begun: stored, consequence: .again), layer)
    case .sent, .takenOver: break
    }
  }

  /// Starts sending the entry, once the requests of its keys are finished.
  private func begin(_ keys: Set<RecordKey>) async throws(ReactorError) -> WriteStart {
    outbox.withState { $0.wait(entry.lane, atGateOf: keys) }
    defer { outbox.withState { $0.wait(entry.lane, atGateOf: nil) } }
    outbox.refuseEndlessWaits()
    return try await layer.beginSending(entry.id, keys)
  }

  private var now: Date { layer.configuration.now() }

  private mutating func refuse(_ error: ReactorError) async {
    await outbox.refuse(&entry, from: stored, error, layer)
  }
}

/// The request.
extension Attempt {
  /// Returns `true` if the entry may be sent. Otherwise it has been settled.
  private mutating func isDue() async -> Bool {
    if let id = outbox.withState({ $0.queue.identities.missingID(in: entry.id) }) {
      await refuse(.network(MutationError.missingIdentity(id)))
      return false
    }
    switch entry.beginning(at: now, limits) {
    case .send: return true
    case .expired: await refuse(.network(MutationError.expired))
    case .unresolved:
      _ = entry.end(as: .unresolved, at: now)
      await outbox.settle(Ended(entry: entry, begun: stored, consequence: .ended), layer)
    }
    return false
  }

  /// Builds the request of the entry, unless it has one.
  private mutating func makesRequest() async -> Bool {
    guard entry.request == nil else { return true }
    switch await made() {
    case .made(let made): return await freezes(made)
    case .failed(let error): await unmade(error)
    case .interrupted:
      // Kept for the next attempt or process, unless the entry was withdrawn.
      let isWithdrawn = outbox.withState { $0.items[entry.id]?.isWithdrawn == true }
      if isWithdrawn { await outbox.takenBack(stored, layer) } else { await outbox.release(entry.id) }
    }
    return false
  }

  private mutating func freezes(_ made: OutboxState.Making.Made) async -> Bool {
    entry.request = made.request
    let hasOwnKey = made.request.isKeyed && entry.idempotencyKey == nil && made.key != nil
    if made.request.isKeyed {
      entry.idempotencyKey = entry.idempotencyKey ?? made.key ?? outbox.configuration.newKey()
    }
    let keyed = entry
    if hasOwnKey, outbox.withState({ $0.usesKeyForOtherBytes(keyed) }) {
      (entry.request, entry.idempotencyKey) = (nil, nil)
      await refuse(.usedKey)
      return false
    }
    outbox.withState { state in
      state.items[keyed.id]?.asked = made.asked
      state.items[keyed.id]?.needsRefresh = false
    }
    return true
  }

  /// Builds the request in a task that is abandoned if the entry is withdrawn or removed, or the
  /// outbox is stopped, since the app's code may take any time.
  private func made() async -> OutboxState.Making.End {
    let making = OutboxState.Making()
    let begins = outbox.withState { state in
      guard state.items[entry.id]?.isWithdrawn == false, !state.isStopped, state.removals == 0 else { return false }
      state.items[entry.id]?.making = making
      return true
    }
    guard begins else { return .interrupted }
    making.task.attach(
      spawn(on: layer.configuration.taskExecutor, for: LockOwner.current) { [outbox, layer, entry, item] in
        do {
          making.end.settle(.made(try await outbox.made(entry, item, layer)))
        } catch {
          making.end.settle(.failed(ReactorError(error, wrap: ReactorError.network)))
        }
      })
    let end = await making.end.value
    outbox.withState { $0.items[entry.id]?.making = nil }
    return end
  }

  /// Settles an attempt whose request could not be built.
  private mutating func unmade(_ error: ReactorError) async {
    let outcome = SendOutcome(preparing: error)
    guard outcome.kind == .unsent || outcome.kind == .signIn else { return await refuse(error) }
    entry.begin(at: now)
    let consequence = entry.end(
      outcome, status: nil, reason: error.reason, at: now, limits, random: outbox.nextRandom())
    await outbox.settle(Ended(entry: entry, begun: stored, consequence: consequence, error: error), layer)
  }

  private typealias Message = (http: HTTPRequest, frozen: FrozenRequest, form: EncodedForm?)

  private mutating func message() async -> Message? {
    guard let request = entry.request, let http = request.message(entry.idempotencyKey, outbox.configuration) else {
      await refuse(.invalidResource("the saved request is not valid; discard the entry"))
      return nil
    }
    guard request.hasForm else { return (http, request, nil) }
    do {
      let type = http.headerFields[.contentType] ?? ""
      guard let storage = outbox.configuration.storage as? any FormStorage else {
        throw OutboxStorageError.takesNoForms
      }
      return (http, request, try await storage.form(of: entry.id, in: layer.scope, contentType: type))
    } catch let error where error is FormStorageError || error is OutboxStorageError {
      await refuse(.persistence(error))
    } catch {
      // The copy may be readable later.
      outbox.postpone(entry.id, after: .persistence(error), layer)
    }
    return nil
  }
}

/// The steps that save and send.
extension Attempt {
  /// Saves that the entry is about to be sent. Otherwise it cannot be sent now.
  private mutating func isSaved() async -> Bool {
    do {
      let begun = StoredEntry(id: entry.id, lane: entry.lane, bytes: try outbox.encoded(entry, layer))
      try await outbox.commits.save(
        outbox.commits.enqueue([.require(stored), .update(begun)]) { [outbox, entry] _ in
          outbox.withState { state in state.update(entry) }
        })
      stored = begun
      return true
    } catch let error as ReactorError {
      // Without its request, the outcome fits into an entry, as the submission did.
      entry.request = nil
      await refuse(error)
    } catch OutboxStorageError.changedEntry, OutboxStorageError.unknownEntry {
      await outbox.takeOver(entry.id, layer)
    } catch {
      outbox.postpone(entry.id, after: .persistence(error), layer)
    }
    return false
  }

  /// The result of an attempt to send.
  private enum Sending {
    case sent(SentRequest)
    /// The outbox was stopped or paused before, everything is being removed, or it is no longer the
    /// turn of the entry. Nothing was sent.
    case stopped
    /// The entry was withdrawn before. Nothing was sent.
    case unwanted
    /// Another process has the entry. Nothing was sent.
    case takenOver
  }

  /// Sends the request in a separate task, which `removeAll` cancels.
  private func send(_ request: Message) async -> Sending {
    // Starting may have waited for a fetch.
    switch await outbox.lookUp(begun: stored, leasedAt: leasedAt, layer) {
    case .isStored: break
    case .isTakenOver: return .takenOver
    case .isUnknown: return .stopped
    }
    let task = TaskHandle(priority: nil)
    let obstacle = outbox.withState { state -> Sending? in
      guard state.items[entry.id]?.isWithdrawn == false else { return .unwanted }
      guard state.isCurrent(epoch), !state.isStopped, !state.queue.isPaused else { return .stopped }
      // An earlier entry of another process may have been found since.
      guard state.queue.mayGo(entry.id) else { return .stopped }
      state.items[entry.id]?.sending = task
      state.items[entry.id]?.signIns = state.signIns
      return nil
    }
    if let obstacle { return obstacle }
    outbox.emit(entry, .sending(attempt: entry.attempts), layer)
    outbox.changed()
    let shot = OneShot<SentRequest>()
    task.attach(
      spawn(on: layer.configuration.taskExecutor, for: LockOwner.current) { [layer, outbox, id = entry.id] in
        let sent =
          if let form = request.form {
            await TransferReport.steps(to: { outbox.show($0, of: id) }) { report in
              await layer.send(request.http, body: nil, form: form, progress: report)
            }
          } else {
            await layer.send(request.http, body: request.frozen.body)
          }
        shot.settle(sent)
      })
    return .sent(await shot.value)
  }

  /// Returns the outcome of an attempt that was sent.
  private mutating func judge(_ sent: SentRequest, _ start: WriteStart) -> Ended {
    let now = now
    let attempt = SendOutcome.Attempt(
      number: entry.attempts, isKeyed: entry.request?.isKeyed == true, hasIfMatch: entry.request?.hasIfMatch == true,
      route: sent.route, latest: sent.latest, failures: sent.failures)
    var outcome = SendOutcome(sent.result.map(\.0), of: attempt, now: now)
    var error = sent.error(outcome)
    if let failure = error, let line = entry.request?.line { error = failure.naming(line) }
    let mutation = outbox.withState { $0.items[entry.id]?.mutation }
    let answer = outcome.kind == .accepted ? mutation?.answer(sent.result, layer.configuration) : nil
    if let objection = answer?.objection { (outcome, error) = (SendOutcome(checking: objection), objection) }
    let isUnsigned = if case .unsigned = sent.latest { true } else { false }
    let reason = isUnsigned ? error?.reasonOfSignIn : error?.reason
    let consequence = entry.end(
      outcome, status: sent.response?.status.code, reason: reason ?? "accepted", at: now, limits,
      random: outbox.nextRandom())
    var ended = Ended(entry: entry, begun: stored, consequence: consequence, sent: sent, error: error)
    ended.start = start
    if entry.state == .accepted, let mutation {
      // A refusal may be an acceptance for an entry in doubt.
      let answer = answer ?? mutation.answer(sent.result, layer.configuration)
      (ended.answer, ended.settlement) = (answer.result, mutation.settlement(of: answer))
      ended.entry.draftStaysUntil = ended.settlement.keepsDraft.map { now + $0.upToADay.inSeconds }
    }
    // If the clock was set, the dates do not show whether a tag or a response is newer.
    if case .conflict = outcome { outbox.tags.forget(sent.key.url) }
    if entry.state == .refused, entry.conflicts > OutboxEntry.Limits.conflicts {
      ended.error = .network(MutationError.tooManyConflicts(entry.conflicts))
    }
    ended.keepRefusal { (try? outbox.encoded($0, layer)) != nil }
    return ended
  }
}

extension Ended {
  /// Saves the server's explanation of a refusal with the entry, if the entry fits into the store
  /// with it.
  fileprivate mutating func keepRefusal(ifFits fits: (OutboxEntry) -> Bool) {
    guard entry.state == .refused, case .server(let response, let body)? = error else { return }
    var explained = entry
    explained.outcome?.refusal = LastOutcome.Refusal(contentType: response.headerFields[.contentType], body: body)
    if fits(explained) { entry = explained }
  }
}

extension SentRequest {
  /// Returns the error of a response that is not an acceptance; `nil` for an acceptance.
  fileprivate func error(_ outcome: SendOutcome) -> ReactorError? {
    if outcome.kind == .diverted || outcome.kind == .refused && route.redirect != nil {
      return .network(ReactorError.Diverted(to: route.target))
    }
    return switch result {
    case .success((let response, let body)):
      outcome.kind == .accepted ? nil : .server(response, body: body)
    case .failure(let error): error
    }
  }
}

/// The idempotency keys that a program makes. A key stands for one request (the draft
/// idempotency-key-header, §2.2): a server answers a second one with the response of the first.
extension OutboxState {
  /// Returns a Boolean value that indicates whether another entry has the key of `entry` and a
  /// request of other bytes.
  func usesKeyForOtherBytes(_ entry: OutboxEntry) -> Bool {
    guard let key = entry.idempotencyKey, let request = entry.request else { return false }
    func isOther(_ other: OutboxEntry) -> Bool {
      guard other.idempotencyKey == key, other.id != entry.id, let made = other.request, made.isKeyed else {
        return false
      }
      // The copies of a form have different boundaries.
      return made.method != request.method || made.url != request.url || made.body != request.body || made.hasForm
        || request.hasForm
    }
    return queue.entries.values.contains(where: isOther) || submitting.values.contains { isOther($0.entry) }
      || unreadable.values.contains { $0.entry.map(isOther) ?? false }
  }
}

extension ReactorError {
  /// The error of a key that another entry has for other bytes.
  static var usedKey: ReactorError {
    .invalidResource(
      "another write of the outbox has this idempotency key, with another method, URL or body; give each write a key of its own"
    )
  }
}

/// The requests of entries.
extension Outbox {
  /// Calls the mutation to build its request, with the known values.
  func made(
    _ entry: OutboxEntry, _ item: OutboxState.Item, _ layer: LayerContext
  ) async throws -> OutboxState.Making.Made {
    var known = Known(layer: layer, drafts: item.mutation.drafts, tags: tags)
    let isRebase = item.needsRefresh || entry.outcome?.kind == .conflict
    if isRebase { try await item.asked?.refresh(in: layer, into: known.fetched) }
    var resource = try await item.mutation.value.request(known)
    if known.asked.hasOutdatedTag || isRebase && item.asked == nil {
      // Once is enough: a response that is requested now contains all accepted writes, and has its
      // own tag.
      try await known.asked.refresh(in: layer, into: known.fetched)
      known = Known(layer: layer, drafts: item.mutation.drafts, tags: tags, fetched: known.fetched)
      resource = try await item.mutation.value.request(known)
    }
    return OutboxState.Making.Made(
      request: try frozen(resource, layer),
      key: try resource.idempotencyKey.map { key throws(ReactorError) in try configuration.value(ofKey: key) },
      asked: known.asked)
  }

  /// - Throws: `ReactorError.invalidResource` for a request that only reads, or that holds a
  ///   secret.
  func frozen(_ resource: Resource, _ layer: LayerContext) throws(ReactorError) -> FrozenRequest {
    guard let backend = layer.backend else { throw .invalidResource("the layer has no backend to send \(resource) to") }
    guard resource.method != .query else {
      throw .invalidResource("an outbox does not send \(resource), which only reads; fetch the resource")
    }
    guard !resource.readsOnly else {
      throw .invalidResource("\(resource) is read-only; set isReadOnly to false if it changes something")
    }
    guard resource.form == nil else {
      throw .invalidResource(
        "a mutation uploads no form, since its files are copied when it is submitted; submit an OutboxRequest with the form"
      )
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
}
