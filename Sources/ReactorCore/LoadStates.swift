/// The states of one resource, for as long as somebody asks for them.
///
/// Iterating subscribes: it asks as the policy says, keeps the model in memory, and gives each newer state, whoever caused it.
/// A slow reader gets the latest state only, never an older one and none twice. The sequence ends when its task is cancelled;
/// the subscription ends then, or with the iterator's life. Runs on the caller's executor. It keeps its reactor alive.
public struct LoadStates<Model: Sendable>: AsyncSequence, Sendable {
  public typealias Element = LoadState<Model>
  public typealias Failure = Never

  let engine: ReactorEngine
  let resource: Resource
  let policy: FetchPolicy
  var polling: Duration?

  /// What memory knows now, synchronously and without subscribing.
  public var current: LoadState<Model> { engine.current(resource, policy).typed(as: Model.self) }

  public func makeAsyncIterator() -> Iterator {
    Iterator(subscription: subscribe())
  }

  func subscribe() -> Subscription<Model> { Subscription(engine, resource, policy, polling: polling) }

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
    a.engine === b.engine && a.resource == b.resource && a.policy == b.policy && a.polling == b.polling
  }
}
