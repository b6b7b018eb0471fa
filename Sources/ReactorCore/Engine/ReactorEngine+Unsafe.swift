import Foundation
import HTTPTypes
import Synchronization

extension ReactorEngine {
  /// A request that may change something on the server: never coalesced, stored or served. When the server has
  /// accepted it, what is stored for its URL is invalidated (RFC 9111 §4.4).
  func send(_ resource: Resource, _ policy: FetchPolicy) async throws(ReactorError) -> Copy {
    let key = try flow.key(resource)
    guard policy != .cacheOnly else { throw .notCached }
    guard flow.isReachable else { throw .noConnectivity }
    let answer = Answer()
    let outcome = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard answer.await(continuation) else { return }
        let task = FlightTask(priority: Task.currentPriority)
        answer.cancels(task)
        task.attach(
          spawn(on: flow.configuration.taskExecutor, priority: task.priority) {
            answer.give(await self.exchange(resource, key))
          })
      }
    } onCancel: {
      answer.give(.failure(.cancelled))
    }
    return try outcome.get()
  }

  private func exchange(_ resource: Resource, _ key: RecordKey) async -> Entry.Outcome {
    var context = FetchContext<AnyModel>()
    let trail = RedirectTrail()
    context.trail = trail
    do {
      let snapshot = try await flow.network(resource, context)
      let answer = snapshot.head.map { HTTPResponse(status: $0.status, headerFields: $0.fields) }
      await invalidate(changed(by: trail, key, isAccepted: true, answer))
      return .success(Copy(snapshot, of: key, origin: .network))
    } catch {
      let error = ReactorError(error, wrap: ReactorError.network)
      switch error {
      // The server has accepted it; only its answer could not be read.
      case .parser: await invalidate(changed(by: trail, key, isAccepted: true, nil))
      // It may have done so with a redirect that nobody follows.
      case .server(let response, _):
        let isAccepted = Invalidation.isAcceptance(response)
        await invalidate(changed(by: trail, key, isAccepted: isAccepted, response))
      default: await invalidate(changed(by: trail, key, isAccepted: false, nil))
      }
      append(key, .failed(error))
      core.events.deliver()
      return .failure(error)
    }
  }

  /// What is stale after a change (RFC 9111 §4.4): the key where the server has accepted it, and what each hop has changed
  /// and names, whatever became of the next.
  ///
  /// - Parameter answer: counts where there is no trail, as of a step of one's own.
  private func changed(
    by trail: RedirectTrail, _ key: RecordKey, isAccepted: Bool, _ answer: HTTPResponse?
  ) -> [RecordKey] {
    let hops = trail.hops
    var urls = hops.flatMap { Invalidation.urls(of: $0.request, $0.response) }
    if hops.isEmpty, let answer { urls = Invalidation.named(by: answer, to: key.method, key.url) }
    var keys = isAccepted || hops.contains(where: \.isFollowed) ? [RecordKey.get(key)] : []
    for url in urls {
      let other = RecordKey(
        method: .get, url: url, scope: key.scope, secretQueryItems: flow.configuration.secretQueryItems)
      if !keys.contains(other) { keys.append(other) }
    }
    return keys
  }

  /// In a task of its own: what was cancelled after the server had accepted it has changed something too.
  private func invalidate(_ keys: [RecordKey]) async {
    guard !keys.isEmpty else { return }
    await spawn(on: flow.configuration.taskExecutor, priority: Task.currentPriority) {
      for key in keys { await self.invalidateURL(of: key) }
    }.value
  }

  private func invalidateURL(of key: RecordKey) async {
    var keys = Set([RecordKey.get(key)] + core.keys(of: key.url))
    if let stored = try? await core.cache.keys(of: key.url, in: core.scope) { keys.formUnion(stored) }
    // In an order that is the same in each run.
    for key in keys.sorted(by: { $0.identity < $1.identity }) {
      let ticket = core.generations.fenceAnswers(key)
      // Not before: what has been committed until the fence is from before this.
      let date = now
      core.announce(.invalidated(key, date))
      await invalidateOnDisk(ticket, date)
    }
  }
}

/// One answer for one waiter: the task's, or the cancellation's, whichever comes first.
private final class Answer: Sendable {
  typealias Outcome = ReactorEngine.Outcome

  private struct State {
    var continuation: CheckedContinuation<Outcome, Never>?
    var outcome: Outcome?
    var task: FlightTask?
  }

  private let state = Mutex(State())

  /// Whether there is anything to begin: a waiter that was cancelled before gets its answer here.
  func await(_ continuation: CheckedContinuation<Outcome, Never>) -> Bool {
    let outcome = state.withLock { state in
      if state.outcome == nil { state.continuation = continuation }
      return state.outcome
    }
    if let outcome { continuation.resume(returning: outcome) }
    return outcome == nil
  }

  /// From here on, a cancellation of the waiter cancels `task`; one that has come already does so now.
  func cancels(_ task: FlightTask) {
    let isOver = state.withLock { state in
      state.task = task
      return state.outcome != nil
    }
    if isOver { task.cancel() }
  }

  func give(_ outcome: Outcome) {
    let (continuation, task) = state.withLock { state in
      guard state.outcome == nil else { return (nil as CheckedContinuation<Outcome, Never>?, nil as FlightTask?) }
      state.outcome = outcome
      defer { state.continuation = nil }
      return (state.continuation, state.task)
    }
    if case .failure(.cancelled) = outcome { task?.cancel() }
    continuation?.resume(returning: outcome)
  }
}
