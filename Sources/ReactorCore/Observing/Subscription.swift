/// One open stream; it ends with this object, or before.
final class Subscription<Model: Sendable>: Sendable {
  private let engine: ReactorEngine
  private let resource: Resource
  private let place: Result<(RecordKey, Flight.PartyID), ReactorError>
  private let invalid = Gone()

  init(_ engine: ReactorEngine, _ resource: Resource, _ policy: FetchPolicy, polling: Duration?) {
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
    case .success((let key, let id)): return await engine.next(key, id, of: resource)?.typed(as: Model.self)
    case .failure(let error):
      if invalid.isFirst { return LoadState(error: error) }
      await invalid.untilCancelled()
      return nil
    }
  }

  /// What is known now, given before or not; `nil` after the end. ``next()`` gives what is newer.
  func latest() -> LoadState<Model>? {
    switch place {
    case .success((let key, let id)): engine.latest(key, id, of: resource)?.typed(as: Model.self)
    case .failure(let error): LoadState(error: error)
    }
  }

  func end() {
    if case .success((let key, let id)) = place { engine.unsubscribe(key, id) }
  }
}
