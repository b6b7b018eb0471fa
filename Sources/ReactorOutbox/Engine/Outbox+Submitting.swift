import Foundation
import HTTPCaching
import HTTPTypes
import ReactorCore
import ReactorWrites

/// Submitting a mutation.
extension Outbox {
  func submit<M: Mutation>(_ mutation: M, in layer: LayerContext) async throws(ReactorError) -> Submission<M.Answer> {
    let id = configuration.makeID()
    let mutation = try identified(mutation)
    let box = MutationBox(mutation)
    let drafts = try box.drafts.made(of: id, key: layer.key)
    let entry = OutboxEntry(
      id: id, lane: withState { $0.lane(named: mutation.lane.rawValue) }, name: M.name, version: M.version,
      arguments: try MutationBox.encode(mutation),
      submittedAt: layer.configuration.now(), idempotencyWindow: configuration.idempotencyWindow.inSeconds)
    let result = try await submit(entry, OutboxState.Item(mutation: box, drafts: drafts), in: layer)
    return Submission(id: id, result: result)
  }

  /// Saves a request that is sent as it is.
  ///
  /// - Parameter window: The idempotency window; `nil` is the configuration's.
  func submit(
    _ request: OutboxRequest, lane: Lane, window: Duration?, in layer: LayerContext
  ) async throws(ReactorError) -> Submission<Data> {
    let window = window ?? configuration.idempotencyWindow
    let key = try request.key(by: configuration)
    var frozen = try request.frozen(keyName: configuration.idempotencyField)
    frozen.isKeyed = key != nil || isKeyed(frozen, window: window)
    let id = configuration.makeID()
    // A copy takes time, in which the user may sign out.
    let removals = request.form == nil ? nil : beginCopy(id)
    defer { if removals != nil { withState { $0.copies.end(id) } } }
    var entry = OutboxEntry(
      id: id, lane: lane.rawValue, name: RequestMutation.name, version: RequestMutation.version,
      arguments: Data("{}".utf8), submittedAt: layer.configuration.now(), idempotencyWindow: window.inSeconds)
    entry.idempotencyKey = frozen.isKeyed ? key ?? configuration.newKey() : nil
    entry.request = frozen
    // An earlier process may have used the app's key.
    if key != nil || request.form != nil { await ready() }
    let kept = try await keptForm(request.form, for: &entry, hasOwnKey: key != nil, since: removals, in: layer)
    let item = OutboxState.Item(mutation: MutationBox(RequestMutation()))
    do {
      let result = try await submit(entry, item, hasOwnKey: key != nil, since: removals, in: layer) {
        kept?.release()
      }
      return Submission(id: id, result: result)
    } catch {
      kept?.discard()
      throw error
    }
  }

  /// Records that the form of an entry is being copied: no removal that was asked for before takes
  /// the copy.
  ///
  /// - Returns: The number of removals that were asked for.
  private func beginCopy(_ id: UUID) -> Int {
    withState { state in
      state.copies.begin(id, state.epoch)
      return state.removalsBegun
    }
  }

  /// Copies a form for an entry, whose request sends the copy.
  ///
  /// - Parameter removals: The number of removals that were asked for when the submission began.
  /// - Returns: The claim to hold until the entry is added; `nil` without a form.
  private func keptForm(
    _ form: MultipartForm?, for entry: inout OutboxEntry, hasOwnKey: Bool, since removals: Int?, in layer: LayerContext
  ) async throws(ReactorError) -> KeptForm? {
    guard let form else { return nil }
    guard let storage = configuration.storage as? any FormStorage else {
      throw .persistence(OutboxStorageError.takesNoForms)
    }
    let identified = try identified(form)
    // A large copy is not made for an entry that cannot be saved.
    entry.request?.sendsForm(contentType: MultipartForm.contentType(boundary: form.makeBoundary()))
    _ = try encoded(entry, layer)
    let probe = entry
    if hasOwnKey, withState({ $0.usesKeyForOtherBytes(probe) }) { throw .usedKey }
    do {
      let kept = try await storage.keep(identified, for: entry.id, in: layer.scope) {
        self.withState { $0.removalsBegun != removals }
      }
      entry.request?.sendsForm(contentType: kept.contentType)
      return kept
    } catch FormStorageError.removed {
      throw .cancelled
    } catch let error as MultipartForm.FileError {
      throw .network(error)
    } catch {
      throw ReactorError(error, wrap: ReactorError.persistence)
    }
  }

  /// Returns the form with the server's ids in the fields that have a temporary one as their value.
  ///
  /// - Throws: `ReactorError.invalidResource` for a temporary id that an entry is to supply.
  private func identified(_ form: MultipartForm) throws(ReactorError) -> MultipartForm {
    var form = form
    for index in form.parts.indices {
      guard let text = form.parts[index].fieldValue, TemporaryID.isTemporary(text) else { continue }
      let (known, isAwaited, isLost) = withState { state in
        (state.identities[text], state.queue.identities.holds(text), state.queue.identities.isLost(text))
      }
      if let id = known.flatMap({ try? JSONValue(parsing: $0) })?.idText {
        form.parts[index].fieldValue = id
      } else if isLost {
        throw .invalidResource(
          "the \(form.parts[index].description) of the form is the temporary id \(text), and the write that should have returned the server's id ended without one; fetch what it made, and submit the form with the id that the server has given it"
        )
      } else if isAwaited {
        throw .invalidResource(
          "the \(form.parts[index].description) of the form is the temporary id \(text), which is sent as it is; submit the form once Outbox.identity(of:) returns the server's id"
        )
      }
    }
    return form
  }

  /// Shows the drafts, and returns once the entry is saved.
  ///
  /// - Parameters:
  ///   - hasOwnKey: A Boolean value that indicates whether the program has made the idempotency
  ///     key.
  ///   - removals: The number of removals that were asked for when the submission began; `nil` if
  ///     it begins now.
  ///   - whenSaved: Called once the entry is saved, before anything else changes in the store.
  /// - Throws: `ReactorError.invalidResource` if another entry has this key for other bytes, and
  ///   `ReactorError.cancelled` if a removal of everything has begun since, even one that fails.
  private func submit(
    _ entry: OutboxEntry, _ item: OutboxState.Item, hasOwnKey: Bool = false, since removals: Int? = nil,
    in layer: LayerContext, whenSaved: @escaping @Sendable () -> Void = {}
  ) async throws(ReactorError) -> SubmissionResult {
    let awaited = withState { $0.queue.identities.awaited(byNew: entry) }
    let entry = entry.awaiting(awaited)
    let bytes = try encoded(entry, layer)
    // The drafts and the entry get their positions together, so that both orders agree.
    let reserved = withState { state -> (CommitQueue.Ticket, UInt64, SubmissionResult)? in
      guard removals ?? state.removalsBegun == state.removalsBegun else { return nil }
      if hasOwnKey, state.usesKeyForOtherBytes(entry) { return nil }
      let place = layer.reserveDraftPlaces(item.drafts.count)
      var item = item
      item.epoch = state.epoch
      // A lane keeps its turn while it has entries, so the turn is taken together with the
      // position.
      let result = SubmissionResult(state.laneTurn(entry.lane), of: self)
      item.result = result
      state.submitting[entry.id] = OutboxState.Submitted(entry: entry, item: item)
      state.queue.identities.expect(entry)
      // Held until the drafts are shown. Otherwise the server could accept the entry before that.
      let addition = OutboxChange.add(StoredEntry(id: entry.id, lane: entry.lane, bytes: bytes))
      let ticket = commits.enqueue([addition], isHeld: true) { numbers in
        whenSaved()
        self.saved(entry.id, numbers)
      }
      return (ticket, place, result)
    }
    guard let (ticket, place, result) = reserved else {
      throw removals.map { $0 != withState(\.removalsBegun) } ?? false ? .cancelled : .usedKey
    }
    layer.show(item.drafts, at: place)
    withState { $0.submitting[entry.id]?.isShown = true }
    layer.replace(replacedSubmitted(layer))
    do {
      try await commits.save(ticket)
    } catch {
      let submitted = withState { $0.forgetSubmitted(entry.id) }
      layer.withdraw(submitted?.item.drafts ?? item.drafts)
      // Another process has removed everything of the scope, with the copy.
      throw error as? FormStorageError == .removed ? .cancelled : .persistence(error)
    }
    changed()
    pump(entry.lane)
    return result
  }

  /// Adds an entry that was saved, before any later one is.
  private func saved(_ id: UUID, _ numbers: [UInt64]) {
    let added = withState { state -> OutboxEntry? in
      guard var submitted = state.submitting.removeValue(forKey: id) else { return nil }
      submitted.entry.number = numbers.first ?? 0
      state.insert(submitted.entry, submitted.item)
      state.noteSaved(submitted.entry.number)
      return submitted.entry
    }
    guard let layer, let entry = added else { return }
    // Emitted here, since a removal of everything may follow.
    emit(entry, .submitted, layer)
    // Ids that the server has assigned since the entry was encoded.
    if let rewritten = entry.rewritten(by: withState(\.identities)) { rewrite(rewritten, layer) }
  }

  /// Replaces temporary ids by the server's in entries that are being saved, and returns their new
  /// drafts.
  func replacedSubmitted(_ layer: LayerContext) -> [DraftReplacement] {
    let (submitted, identities) = withState { state -> ([OutboxState.Submitted], [String: Data]) in
      guard !state.identities.isEmpty, !state.submitting.isEmpty else { return ([], [:]) }
      return (state.submitting.values.filter(\.isShown), state.identities)
    }
    return submitted.sorted(by: { $0.entry.id.uuidString < $1.entry.id.uuidString }).compactMap { old in
      guard let entry = old.entry.rewritten(by: identities), let (box, drafts) = made(of: entry, like: old.item, layer)
      else { return nil }
      return withState { state -> DraftReplacement? in
        guard let item = state.submitting[entry.id]?.item else { return nil }
        state.submitting[entry.id]?.entry = entry
        state.submitting[entry.id]?.item.mutation = box
        state.submitting[entry.id]?.item.drafts = drafts
        return DraftReplacement(old: item.drafts, new: drafts)
      }
    }
  }

  /// Returns the mutation with the server's ids.
  private func identified<M: Mutation>(_ mutation: M) throws(ReactorError) -> M {
    let identities = withState(\.identities)
    guard !identities.isEmpty,
      let json = TemporaryIDs.rewritten(try MutationBox.encode(mutation), identities)
    else { return mutation }
    return (try? JSONDecoder().decode(M.self, from: json)) ?? mutation
  }

  func encoded(_ entry: OutboxEntry, _ layer: LayerContext) throws(ReactorError) -> Data {
    do { return try entry.encoded(secretNames: layer.configuration.secretQueryItems) } catch {
      if case .secret = error {
        throw .invalidResource("\(error), which an outbox never saves; let a middleware add it to each request")
      }
      throw .invalidResource("\(error)")
    }
  }

  /// Returns `true` if the request is sent with an idempotency key.
  func isKeyed(_ request: FrozenRequest, window: Duration) -> Bool {
    window > .zero && HTTPRequest.Method(request.method)?.isIdempotent != true
  }
}
