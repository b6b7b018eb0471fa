/// The states of one resource: an asynchronous sequence that starts when it is iterated.
///
/// Each iterator is a subscription. It fetches as the policy says and yields every newer state,
/// whichever caller caused it. A slow reader gets only the latest state: never an older one, and
/// none twice.
///
/// The sequence does not fail. It ends when the iterating task is cancelled; the subscription also
/// ends when the iterator is released. The model stays in memory while a subscription is open. A
/// request that has no other waiter is cancelled when the subscription ends.
///
/// A resource that cannot be requested, or is not read-only, yields one state with the error.
///
/// States are yielded on the caller's executor. The sequence retains its reactor.
public struct LoadStates<Model: Sendable>: AsyncSequence, Sendable {
  public typealias Element = LoadState<Model>
  public typealias Failure = Never

  let engine: ReactorEngine
  let resource: Resource
  let policy: FetchPolicy
  var polling: Duration?

  /// The state in memory now. Reading it neither suspends, subscribes nor fetches.
  ///
  /// ```swift
  /// let state = stories.states(for: "stories").current
  /// show(state.value ?? [])
  /// ```
  public var current: LoadState<Model> { engine.current(resource, policy).typed(as: Model.self) }

  public func makeAsyncIterator() -> Iterator {
    Iterator(subscription: subscribe())
  }

  /// Fetches from the network, for all who observe the resource.
  @Sendable package func fetchAnew() async {
    // A resource that is not read-only changes something on the server.
    guard resource.readsOnly else { return }
    _ = try? await engine.fetch(resource, .networkOnly, asksForStreams: true)
  }

  func subscribe() -> Subscription<Model> { Subscription(self) }

  /// One subscription; releasing the iterator ends it.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let subscription: Subscription<Model>

    public mutating func next() async -> LoadState<Model>? { await subscription.next() }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> LoadState<Model>? {
      await subscription.next()
    }
  }
}

/// Two sequences are equal if they have the same reactor, resource, policy and polling interval.
extension LoadStates: Equatable {
  public static func == (a: LoadStates, b: LoadStates) -> Bool {
    a.engine === b.engine && a.resource == b.resource && a.policy == b.policy && a.polling == b.polling
  }
}
