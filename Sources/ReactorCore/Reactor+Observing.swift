extension Reactor {
  /// Calls `body` with the state of a resource now, and with every newer one.
  ///
  /// ```swift
  /// token = articles.observe("articles") { [weak self] state in self?.show(state.value) }
  /// ```
  ///
  /// It subscribes as ``states(for:policy:)`` does: it fetches as the policy says, and keeps the
  /// model in memory. Unlike a stream, it needs no task.
  ///
  /// `body` is called on its own isolation, by default the caller's; without one, it is called in a
  /// task of the reactor. Calls do not overlap. For one change, all observers of an actor are
  /// called in one task, so `body` must not block. A slow observer gets only the latest state:
  /// never an older one, and no state twice.
  ///
  /// The observation ends when the token is cancelled or released. After that, `body` is not called
  /// again, except for a call in progress on another thread. A request that has no other waiter is
  /// cancelled.
  ///
  /// A resource that cannot be requested, or is not read-only, has one state, with the error.
  ///
  /// - Returns: A token, which retains the reactor. Store it.
  public func observe(
    _ resource: Resource, policy: FetchPolicy = .staleWhileRevalidate,
    @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (LoadState<Model>) -> Void
  ) -> ModelLayer.ObservationToken {
    states(for: resource, policy: policy).observe(body)
  }

  /// Calls `body` with the state of a resource now, and with every newer one, for as long as
  /// `owner` lives; see ``observe(_:policy:_:)``.
  ///
  /// ```swift
  /// articles.observe("articles", for: self) { screen, state in screen.show(state) }
  /// ```
  ///
  /// Neither the owner nor the reactor is retained. The next state after the owner's release ends
  /// the observation.
  public func observe<Owner: AnyObject & Sendable>(
    _ resource: Resource, for owner: Owner, policy: FetchPolicy = .staleWhileRevalidate,
    @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, LoadState<Model>) -> Void
  ) {
    let observer = StateObserver<Model>(
      engine.nextID(), isolation: body.isolation,
      .owned { [weak owner] (state: LoadState<Model>, isolation: isolated (any Actor)?) async -> Bool in
        guard let owner else { return false }
        await body(owner, state)
        return true
      })
    do {
      _ = try engine.subscribe(resource, policy, .observer(observer))
    } catch {
      engine.refuse(observer, resource, error)
    }
  }
}

extension LoadStates {
  /// Calls `body` with the state now, and with every newer one; polls if the sequence does. See
  /// ``Reactor/observe(_:policy:_:)``.
  ///
  /// - Returns: A token, which retains the reactor. Store it.
  public func observe(
    @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (LoadState<Model>) -> Void
  ) -> ModelLayer.ObservationToken {
    let observer = StateObserver<Model>(engine.nextID(), isolation: body.isolation, .isolated(body))
    let subscription = Subscription(self, observer: observer)
    return ModelLayer.ObservationToken { subscription.end() }
  }
}
