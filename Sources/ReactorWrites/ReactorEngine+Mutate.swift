import Foundation
import HTTPCaching
import HTTPTypes
import ReactorCore

extension ReactorEngine {
  /// A write that shows a draft while it is sent.
  struct DraftedWrite: Sendable {
    let draft: Draft
    let request: Resource
    let requestKey: RecordKey
    /// The flow that parses the answer.
    let answer: FlowSteps
    /// The name of the answer's type, for events.
    let model: String
    /// ``EntityTable/epoch`` when the app requested it.
    let epoch: Int

    /// The keys whose requests wait while the write is sent.
    var keys: Set<RecordKey> { [draft.key, .get(requestKey)] }
  }

  /// Shows `draft` over `resource` and sends `request`. Writes of one resource are sent one after
  /// the other.
  func mutate<Model: Sendable>(
    _ resource: Resource, by request: Resource, through answer: FlowSteps, answering model: String,
    draft body: @escaping @Sendable (Model?) -> Model?
  ) async throws(ReactorError) -> AnyModel {
    let key = try readable(resource)
    guard !request.readsOnly else {
      throw .invalidResource(
        "\(request.method.rawValue) only reads, so no draft goes with it; set isReadOnly to false if it changes something"
      )
    }
    let draft = Draft(id: UUID(), key: key, of: Model.self, body)
    let write = DraftedWrite(
      draft: draft, request: request, requestKey: try answer.key(request), answer: answer, model: model,
      epoch: layer.entities.epoch)
    guard flow.isReachable else { throw .noConnectivity }
    guard !Task.isCancelled else { throw .cancelled }
    // Taken out again by `perform`, which runs in any case.
    _ = layer.sendings.expect(draft.id, write.keys)
    layer.show([draft])
    append(key, .drafted)
    layer.deliverEvents()
    let wait = LockOwner.wait()
    defer { wait?.end() }
    let outcome = await OneShot<Sent.Outcome>.value(
      on: flow.configuration.taskExecutor, for: LockOwner(wait), orIfCancelled: .failure(.cancelled), endsTask: true
    ) { await self.perform(write) }
    // A cancelled caller goes on before the task that takes it back.
    if case .failure(.cancelled) = outcome { layer.withdrawPending(draft) }
    return try outcome.get().model
  }

  private func perform(_ write: DraftedWrite) async -> Sent.Outcome {
    do {
      return try await layer.writeTurns.with(write.draft.key) {
        try Task.checkCancellation()
        return try await send(write)
      }
    } catch {
      // It was not sent, so the server knows nothing of it.
      layer.withdraw([write.draft])
      layer.lookAgain(at: layer.sendings.expect(write.draft.id, []))
      end(write, isAccepted: false)
      return .failure(ReactorError(error, wrap: ReactorError.network))
    }
  }

  private func send(_ write: DraftedWrite) async throws(ReactorError) -> Sent.Outcome {
    let start = try await layer.beginSending(write.draft.id, write.keys, askedIn: write.epoch)
    var sent = await exchange(write.request, write.requestKey, through: write.answer, answering: write.model)
    if sent.isAccepted {
      layer.accept([write.draft])
      if let access = write.answer.presentation as? EntityAccess, case .success(let copy) = sent.outcome {
        // It is newer than everything that was requested before the write began.
        layer.note(copy.model, through: access, of: start)
      }
    } else {
      layer.withdraw([write.draft])
    }
    if sent.leavesDoubt, !sent.changed.contains(write.draft.key) { sent.changed.append(write.draft.key) }
    end(write, isAccepted: sent.isAccepted)
    await invalidate(sent)
    _ = layer.sendings.expect(write.draft.id, [])
    layer.endSending(write.draft.id, write.keys)
    return sent.outcome
  }

  private func end(_ write: DraftedWrite, isAccepted: Bool) {
    append(write.draft.key, .draftEnded(isAccepted: isAccepted))
    layer.deliverEvents()
  }
}

extension ReactorEngine.Sent {
  /// A Boolean value that indicates whether the server's value may differ from the base: the
  /// request was accepted, its outcome is unknown, or the refusal says that the base is out of
  /// date.
  fileprivate var leavesDoubt: Bool {
    guard !isAccepted, case .failure(let error) = outcome else { return true }
    switch error {
    case .server(let response, _):
      return response.status.kind == .serverError || [404, 409, 410, 412].contains(response.status.code)
    case .noConnectivity, .invalidResource, .authentication, .deadlock, .notCached, .streamingUnsupported: return false
    case .parser(let error): return error.reason != .unsupported
    case .cancelled, .timedOut, .network, .persistence: return true
    }
  }
}
