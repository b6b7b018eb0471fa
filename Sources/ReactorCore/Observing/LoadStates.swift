/// The states of one resource, for as long as somebody asks for them.
///
/// Iterating subscribes: it asks as the policy says, keeps the model in memory, and gives each newer state, whoever caused it.
/// A slow reader gets the latest state only, never an older one and none twice. The sequence ends when its task is cancelled;
/// the subscription ends then, or with the iterator's life. Runs on the caller's executor. It keeps its reactor alive.
public struct LoadStates<Model: Sendable>: AsyncSequence, Sendable {
  public typealias Element = LoadState<Model>
  public typealias Failure = Never

  let engine: ReactorEngine<Model>
  let resource: Resource
  let policy: FetchPolicy

  /// What memory knows now, synchronously and without subscribing.
  public var current: LoadState<Model> { engine.current(resource, policy) }

  public func makeAsyncIterator() -> Iterator {
    Iterator(subscription: Subscription(engine, resource, policy))
  }

  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let subscription: Subscription<Model>

    public mutating func next() async -> LoadState<Model>? { await subscription.next() }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> LoadState<Model>? {
      await subscription.next()
    }
  }
}

/// Equal where they are the states of one resource of one reactor under one policy.
extension LoadStates: Equatable {
  public static func == (a: LoadStates, b: LoadStates) -> Bool {
    a.engine === b.engine && a.resource == b.resource && a.policy == b.policy
  }
}

/// One open stream; it ends with this object.
private final class Subscription<Model: Sendable>: Sendable {
  private let engine: ReactorEngine<Model>
  private let resource: Resource
  private let place: Result<(RecordKey, Flight.PartyID), ReactorError>
  private let invalid = Gone()

  init(_ engine: ReactorEngine<Model>, _ resource: Resource, _ policy: FetchPolicy) {
    self.engine = engine
    self.resource = resource
    do { place = .success(try engine.subscribe(resource, policy)) } catch { place = .failure(error) }
  }

  deinit {
    if case .success((let key, let id)) = place { engine.unsubscribe(key, id) }
  }

  func next() async -> LoadState<Model>? {
    switch place {
    case .success((let key, let id)): return await engine.next(key, id, of: resource)
    case .failure(let error):
      if invalid.isFirst { return LoadState(error: error) }
      await invalid.untilCancelled()
      return nil
    }
  }
}
