import Foundation
import HTTPCaching
import HTTPTypes
import ReactorCore

/// The way of a mutation into the outbox.
extension Outbox {
  func submit<M: Mutation>(_ mutation: M, in layer: LayerContext) async throws(ReactorError) -> Submission<M.Answer> {
    let id = configuration.makeID()
    let mutation = try identified(mutation)
    let box = MutationBox(mutation)
    let drafts = try box.drafts.made(of: id, key: layer.key)
    let entry = OutboxEntry(
      id: id, lane: mutation.lane.rawValue, name: M.name, version: M.version,
      arguments: try MutationBox.encode(mutation),
      submittedAt: layer.configuration.now(), idempotencyWindow: configuration.idempotencyWindow.inSeconds)
    let result = SubmissionResult()
    try await submit(entry, OutboxState.Item(mutation: box, drafts: drafts, result: result), in: layer)
    return Submission(id: id, result: result)
  }

  /// Saves a request that is sent as it is.
  ///
  /// - Parameter window: The idempotency window; `nil` is the configuration's.
  func submit(
    _ request: OutboxRequest, lane: Lane, window: Duration?, in layer: LayerContext
  ) async throws(ReactorError) -> Submission<Data> {
    let window = window ?? configuration.idempotencyWindow
    let key = try request.key(named: configuration.idempotencyField)
    var frozen = try request.frozen(keyName: configuration.idempotencyField)
    frozen.isKeyed = key != nil || isKeyed(frozen, window: window)
    let id = configuration.makeID()
    var entry = OutboxEntry(
      id: id, lane: lane.rawValue, name: RequestMutation.name, version: RequestMutation.version,
      arguments: Data("{}".utf8), submittedAt: layer.configuration.now(), idempotencyWindow: window.inSeconds)
    entry.idempotencyKey = frozen.isKeyed ? key ?? configuration.makeID().uuidString : nil
    entry.request = frozen
    let result = SubmissionResult()
    let item = OutboxState.Item(mutation: MutationBox(RequestMutation()), result: result)
    try await submit(entry, item, in: layer)
    return Submission(id: id, result: result)
  }

  /// Shows the drafts, and returns once the entry is saved.
  private func submit(
    _ entry: OutboxEntry, _ item: OutboxState.Item, in layer: LayerContext
  ) async throws(ReactorError) {
    let bytes = try encoded(entry, layer)
    // The place of the drafts and that of the entry are drawn together, so that both orders agree.
    let (ticket, place) = withState { state in
      let place = layer.reserveDraftPlaces(item.drafts.count)
      state.submitting.insert(entry.id)
      state.queue.identities.expect(entry)
      let ticket = commits.enqueue([.add(StoredEntry(id: entry.id, lane: entry.lane, bytes: bytes))]) { numbers in
        self.saved(entry, item, numbers)
      }
      return (ticket, place)
    }
    layer.show(item.drafts, at: place)
    do {
      try await commits.save(ticket)
    } catch {
      withState { state in
        state.submitting.remove(entry.id)
        state.queue.identities.forget(entry.id)
      }
      layer.withdraw(item.drafts)
      throw .persistence(error)
    }
    emit(entry, .submitted, layer)
    changed()
    pump(entry.lane)
  }

  /// Adds an entry that was saved, before any later one is.
  private func saved(_ entry: OutboxEntry, _ item: OutboxState.Item, _ numbers: [UInt64]) {
    var entry = entry
    entry.number = numbers.first ?? 0
    let effect = withState { state in
      state.submitting.remove(entry.id)
      return state.insert(entry, item)
    }
    guard let layer else { return }
    effect.perform(in: layer)
    // Ids that the server has given since it was encoded.
    if let rewritten = entry.rewritten(by: withState(\.identities)) { rewrite(rewritten, layer) }
  }

  /// Returns the mutation with the ids that the server has given.
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
