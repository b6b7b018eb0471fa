/// One open stream; it ends with this object, or before.
final class Subscription<Model: Sendable>: Sendable {
  private let engine: ReactorEngine<Model>
  private let resource: Resource
  private let place: Result<(RecordKey, Flight.PartyID), ReactorError>
  private let invalid = Gone()

  init(_ engine: ReactorEngine<Model>, _ resource: Resource, _ policy: FetchPolicy, polling: Duration?) {
    self.engine = engine
    self.resource = resource
    do {
      place = .success(try engine.subscribe(resource, policy, polling: polling))
    } catch {
      place = .failure(error)
    }
  }

  deinit { end() }

  /// The next state, once there is one; `nil` after the end, and when the task is cancelled, which is the end too.
  func next() async -> LoadState<Model>? {
    switch place {
    case .success((let key, let id)): return await engine.next(key, id, of: resource)
    case .failure:
      if let state = latest() { return state }
      await invalid.untilCancelled()
      return nil
    }
  }

  /// What was not given yet; `nil` where there is nothing new.
  func latest() -> LoadState<Model>? {
    switch place {
    case .success((let key, let id)): engine.latest(key, id, of: resource)
    case .failure(let error): invalid.isFirst ? LoadState(error: error) : nil
    }
  }

  func end() {
    if case .success((let key, let id)) = place { engine.unsubscribe(key, id) }
  }
}
