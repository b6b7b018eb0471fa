import Foundation
import HTTPTypes
import HTTPTypesFoundation
import Synchronization

extension ReactorEngine {
  /// Sends a request that may change something on the server. It is never coalesced, stored, or
  /// answered from the cache.
  ///
  /// Once the server has accepted it, the records of its URL are invalidated (RFC 9111 §4.4).
  ///
  /// - Parameter progress: called with the progress of each attempt.
  func send(
    _ resource: Resource, progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
  ) async throws(ReactorError) -> CachedModel {
    guard !resource.readsOnly else {
      throw .invalidResource(
        "\(resource.method.rawValue) only reads; use fetch(_:), or set isReadOnly to false if it changes something")
    }
    let key = try flow.key(resource)
    guard flow.isReachable else { throw .noConnectivity }
    let presentation = flow.presentation
    let epoch = presentation?.epoch ?? 0
    let wait = LockOwner.wait()
    defer { wait?.end() }
    let outcome = await OneShot<Sent.Outcome>.value(
      on: flow.configuration.taskExecutor, for: LockOwner(wait), orIfCancelled: .failure(.cancelled), endsTask: true
    ) {
      guard !Task.isCancelled else { return .failure(.cancelled) }
      let answered = presentation?.beginWrite(in: self.layer, requestedIn: epoch)
      self.layer.ownWrites.beginWriting(key.url)
      let sent = await self.exchange(resource, key, through: self.flow, answering: self.name, progress)
      if case .success(let copy) = sent.outcome { answered?(copy.model) }
      await self.invalidate(sent)
      self.layer.ownWrites.endWriting(key.url)
      self.layer.toldWriteEnded()
      return sent.outcome
    }
    return try outcome.get()
  }

  /// The outcome of a request that may change something.
  package struct Sent: Sendable {
    package typealias Outcome = Result<CachedModel, ReactorError>

    package var outcome: Outcome
    /// The keys that the request has made stale.
    package var changed: [RecordKey] = []
    /// The groups that the responses have made stale (RFC 9875).
    var groups: Set<String> = []
    /// A Boolean value that indicates whether the server has accepted the request, even if its
    /// response could not be read.
    package var isAccepted = false
  }

  /// Sends a request that may change something. The caller invalidates the keys that it returns.
  ///
  /// - Parameter model: the name of the answer's type, for events.
  package func exchange(
    _ resource: Resource, _ key: RecordKey, through flow: FlowSteps, answering model: String,
    _ progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
  ) async -> Sent {
    var context = FlowContext(progress: progress)
    let trail = RedirectTrail()
    context.trail = trail
    do {
      let snapshot = try await flow.network(resource, context)
      let answer = snapshot.head.map { HTTPResponse(status: $0.status, headerFields: $0.fields) }
      return Sent(
        outcome: .success(CachedModel(snapshot, of: key, origin: .network)),
        changed: changed(by: trail, key, isAccepted: true, answer),
        groups: layer.staleGroups(after: trail, key, answer),
        isAccepted: true)
    } catch {
      let error = ReactorError(error, wrap: ReactorError.network)
      layer.events.append(ReactorEvent(key: key, model: model, kind: .failed(error)))
      layer.events.deliver()
      var sent = Sent(outcome: .failure(error), groups: layer.staleGroups(after: trail, key, nil))
      let isDone = error.diverted == nil && trail.latestHops.contains(where: \.showsResult)
      switch error {
      // Nothing was sent.
      case .parser(let error) where error.reason == .unsupported: return sent
      // The server has accepted the request; only its response could not be read.
      case .parser:
        sent.isAccepted = true
        sent.changed = changed(by: trail, key, isAccepted: true, nil)
      // A redirect that was not followed may be the server's acceptance.
      case .server(let response, _):
        sent.isAccepted = isDone || Invalidation.isAcceptance(response)
        sent.changed = changed(by: trail, key, isAccepted: sent.isAccepted, response)
        sent.groups = layer.staleGroups(after: trail, key, response)
      default:
        sent.isAccepted = isDone
        sent.changed = changed(by: trail, key, isAccepted: isDone, nil)
      }
      return sent
    }
  }

  private func changed(
    by trail: RedirectTrail, _ key: RecordKey, isAccepted: Bool, _ answer: HTTPResponse?
  ) -> [RecordKey] {
    layer.staleKeys(after: trail, key, isAccepted: isAccepted, answer, flow.configuration.secretQueryItems)
  }

  /// Invalidates the resources that a request has made stale, in a separate task: if the caller is
  /// cancelled after the server's acceptance, the change has still happened.
  package func invalidate(_ sent: Sent) async {
    guard !sent.changed.isEmpty || !sent.groups.isEmpty else { return }
    await spawn(on: flow.configuration.taskExecutor, priority: Task.currentPriority, for: LockOwner.current) {
      await self.layer.invalidate(sent.changed, groups: sent.groups)
    }.value
  }

  /// Returns the flow that sends a write and parses its answer.
  package func flow<Answer: Sendable>(answering type: Answer.Type) throws(ReactorError) -> FlowSteps {
    guard let backend = layer.backend else {
      throw .invalidResource("a flow of closures has no backend to send a write to; use save(_:for:) instead")
    }
    return ReactorFlow<Answer>(layer: layer, backend: backend, parser: nil, configuration: flow.configuration).presented
  }
}
