/// What a ``Live`` follows: the states of a resource, or any other.
struct LiveStates<Model: Sendable>: Sendable {
  typealias Sink = @Sendable (LoadState<Model>) async -> Void

  /// Subscribes; what it returns ends the subscription with its life.
  let follow: @Sendable (@escaping Sink) -> LiveFollowing<Model>
  let refresh: @Sendable () async -> Void
  /// Whether a state may be overtaken by one with a higher revision.
  let areRevised: Bool

  init(_ states: LoadStates<Model>) {
    follow = { sink in
      let subscription = states.subscribe()
      let task = spawn(on: states.engine.flow.configuration.taskExecutor) {
        while let state = await subscription.next() { await sink(state) }
      }
      return LiveFollowing(task, subscription)
    }
    refresh = {
      // What has no states changes something on the server.
      guard states.resource.readsOnly else { return }
      _ = try? await states.engine.fetch(states.resource, .networkOnly)
    }
    areRevised = true
  }

  init<States: AsyncSequence<LoadState<Model>, Never> & Sendable>(
    _ states: States, refresh: @escaping @Sendable () async -> Void
  ) {
    follow = { sink in
      let task = spawn(on: nil) {
        for await state in states { await sink(state) }
      }
      return LiveFollowing(task, nil)
    }
    self.refresh = refresh
    areRevised = false
  }
}

/// A subscription of a ``Live``; it ends with this object.
final class LiveFollowing<Model: Sendable>: Sendable {
  private let task: Task<Void, Never>
  private let subscription: Subscription<Model>?

  init(_ task: Task<Void, Never>, _ subscription: Subscription<Model>?) {
    self.task = task
    self.subscription = subscription
  }

  deinit {
    // The task may be on its way to the main actor: the subscription does not wait for it.
    subscription?.end()
    task.cancel()
  }

  /// What is known now, also where the task is on its way with it; `nil` where only the task can tell.
  func latest() -> LoadState<Model>? { subscription?.latest() }
}
