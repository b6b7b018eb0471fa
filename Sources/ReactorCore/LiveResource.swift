public import Observation

/// The state of a resource for a screen: `Observable`, so that SwiftUI, AppKit, UIKit and `Observations` follow it as it is.
///
/// ```swift
/// @State private var articles = LiveResource(api.articles, "articles")
///
/// var body: some View {
///   List(articles.value ?? []) { Text($0.title) }
///     .overlay { if articles.isLoading { ProgressView() } }
///     .refreshable { await articles.refresh() }
/// }
/// ```
///
/// Nothing happens until a property is read: then it subscribes, asks as the policy says, and follows each change until it is
/// released. Who reads ``value`` alone is told only of other values, not of requests that come and go. It never keeps itself alive;
/// when it is gone the subscription is, and a request that nobody else waits for is cancelled.
@MainActor
public final class LiveResource<Model: Sendable>: Observable {
  // What a read needs is inlined where it is read: a view reads often, and knows its model.
  @usableFromInline let registrar = ObservationRegistrar()
  @usableFromInline let paths = LivePaths<Model>()
  @usableFromInline private(set) var isFollowing = false
  @usableFromInline private(set) var latest = LoadState<Model>()
  private let states: LiveStates<Model>
  /// Its end is the subscription's.
  private var following: LiveFollowing<Model>?

  public convenience init(
    _ reactor: Reactor<Model>, _ resource: Resource, policy: FetchPolicy = .staleWhileRevalidate
  ) {
    self.init(reactor.states(for: resource, policy: policy))
  }

  /// Follows the states of a resource, polling if they do. ``refresh()`` asks the network.
  public init(_ states: LoadStates<Model>) {
    self.states = LiveStates(states)
  }

  /// Follows any states: mapped, dependent, or made of other sequences.
  ///
  /// - Parameter refresh: what ``refresh()`` does.
  public init<States: AsyncSequence<LoadState<Model>, Never> & Sendable>(
    _ states: States, refresh: @escaping @Sendable () async -> Void = {}
  ) {
    self.states = LiveStates(states, refresh: refresh)
  }

  /// What is known now, and what is being done about it. The first is there at once, from memory.
  @inlinable public var state: LoadState<Model> {
    follow()
    registrar.access(self, keyPath: paths.state)
    return latest
  }

  /// ``LoadState/value``.
  @inlinable public var value: Model? {
    follow()
    registrar.access(self, keyPath: paths.value)
    return latest.value
  }

  /// ``LoadState/error``.
  @inlinable public var error: ReactorError? {
    follow()
    registrar.access(self, keyPath: paths.error)
    return latest.error
  }

  /// A Boolean value that indicates whether it is being fetched, with a value to show or without.
  @inlinable public var isLoading: Bool {
    follow()
    registrar.access(self, keyPath: paths.isLoading)
    return latest.fetchStatus == .fetching
  }

  /// Asks the network, whatever is stored; returns when ``state`` says how it went. A request under way is joined. Without
  /// connectivity it fails at once. When the caller is cancelled it returns, and the request ends unless somebody else waits for it.
  public func refresh() async {
    follow()
    await states.refresh()
    if let state = following?.latest() { show(state) }
  }
}

extension LiveResource {
  @inlinable func follow() {
    if !isFollowing { beginToFollow() }
  }

  @usableFromInline func beginToFollow() {
    // Before it subscribes: who observes events may read this, now.
    isFollowing = true
    let following = states.follow { [weak self] state in
      await MainActor.run { self?.show(state) }
    }
    self.following = following
    if let state = following.latest() { show(state) }
  }

  private func show(_ state: LoadState<Model>) {
    // What was taken here may have overtaken what is on its way.
    guard !states.areRevised || state.revision > latest.revision || latest.revision == 0 else { return }
    let news = News(from: latest, to: state)
    registrar.willSet(self, keyPath: paths.state)
    if news.hasValue { registrar.willSet(self, keyPath: paths.value) }
    if news.hasError { registrar.willSet(self, keyPath: paths.error) }
    if news.hasLoading { registrar.willSet(self, keyPath: paths.isLoading) }
    latest = state
    if news.hasLoading { registrar.didSet(self, keyPath: paths.isLoading) }
    if news.hasError { registrar.didSet(self, keyPath: paths.error) }
    if news.hasValue { registrar.didSet(self, keyPath: paths.value) }
    registrar.didSet(self, keyPath: paths.state)
  }

  /// What two states differ in.
  private struct News {
    let hasValue: Bool
    let hasError: Bool
    let hasLoading: Bool

    init(from old: LoadState<Model>, to new: LoadState<Model>) {
      let isKnownSame = old.valueRevision == new.valueRevision && new.valueRevision > 0
      hasValue = (old.value == nil) != (new.value == nil) || (new.value != nil && !isKnownSame)
      hasError = old.error != nil || new.error != nil
      hasLoading = (old.fetchStatus == .fetching) != (new.fetchStatus == .fetching)
    }
  }
}

/// Each key path costs far more to make than to use.
@MainActor @usableFromInline
struct LivePaths<Model: Sendable> {
  @usableFromInline let state: KeyPath<LiveResource<Model>, LoadState<Model>>
  @usableFromInline let value: KeyPath<LiveResource<Model>, Model?>
  @usableFromInline let error: KeyPath<LiveResource<Model>, ReactorError?>
  @usableFromInline let isLoading: KeyPath<LiveResource<Model>, Bool>

  init() {
    state = \.state
    value = \.value
    error = \.error
    isLoading = \.isLoading
  }
}

/// What a ``LiveResource`` follows: the states of a resource, or any other.
struct LiveStates<Model: Sendable>: Sendable {
  typealias Sink = @Sendable (LoadState<Model>) async -> Void

  /// Subscribes; what it returns ends the subscription with its life.
  let follow: @Sendable (@escaping Sink) -> LiveFollowing<Model>
  let refresh: @Sendable () async -> Void
  /// A Boolean value that indicates whether a state may be overtaken by one with a higher revision.
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

/// A subscription of a ``LiveResource``; it ends with this object.
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
