public import Observation

/// An `Observable` state of one resource, for SwiftUI, AppKit, UIKit and `Observations`.
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
/// The first read of a property subscribes: it fetches as the policy says and follows every later
/// change. Until then, nothing happens.
///
/// A view that reads only ``value`` updates when the value changes, not when requests start or end.
///
/// The subscription ends when the object is released, and does not keep it alive. A request that
/// has no other waiter is then cancelled.
@MainActor
public final class LiveResource<Model: Sendable>: Observable {
  // Inlinable, because views read these often, and specialize them for their model.
  @usableFromInline let registrar = ObservationRegistrar()
  @usableFromInline let paths = LivePaths<Model>()
  @usableFromInline private(set) var isFollowing = false
  @usableFromInline private(set) var latest = LoadState<Model>()
  private let states: LiveStates<Model>
  /// The revision of ``latest``; `nil` before the first state.
  private var revision: UInt64?
  /// The subscription; releasing it unsubscribes.
  private var following: LiveFollowing<Model>?

  /// Creates the state of a resource, by default with ``FetchPolicy/staleWhileRevalidate``.
  ///
  /// ```swift
  /// let stories = LiveResource(layer.reactor([Story].self), "stories")
  /// ```
  public convenience init(
    _ reactor: Reactor<Model>, _ resource: Resource, policy: FetchPolicy = .staleWhileRevalidate
  ) {
    self.init(reactor.states(for: resource, policy: policy))
  }

  /// Follows the states of a resource; polls if `states` does. ``refresh()`` fetches from the
  /// network.
  ///
  /// ```swift
  /// let stories = LiveResource(reactor.states(for: "stories", polling: .seconds(30)))
  /// ```
  public init(_ states: LoadStates<Model>) {
    self.states = LiveStates(states)
  }

  /// Follows any sequence of states: mapped, dependent, or composed of other sequences.
  ///
  /// ```swift
  /// let titles = LiveResource(stories.states(for: "stories").mapValues { $0.map(\.title) })
  /// ```
  ///
  /// After the sequence ends, the last state remains.
  ///
  /// - Parameter refresh: The work of ``refresh()``. By default, none.
  public init<States: AsyncSequence<LoadState<Model>, Never> & Sendable>(
    _ states: States, refresh: @escaping @Sendable () async -> Void = {}
  ) {
    self.states = LiveStates(states, refresh: refresh)
  }

  /// The latest state. The first read returns the state in memory at once.
  @inlinable public var state: LoadState<Model> {
    follow()
    registrar.access(self, keyPath: paths.state)
    return latest
  }

  /// The newest known value; see ``LoadState/value``.
  @inlinable public var value: Model? {
    follow()
    registrar.access(self, keyPath: paths.value)
    return latest.value
  }

  /// The error of the latest attempt; see ``LoadState/error``.
  @inlinable public var error: ReactorError? {
    follow()
    registrar.access(self, keyPath: paths.error)
    return latest.error
  }

  /// A Boolean value that indicates whether a fetch is under way, with or without a value to show.
  @inlinable public var isLoading: Bool {
    follow()
    registrar.access(self, keyPath: paths.isLoading)
    return latest.fetchStatus == .fetching
  }

  /// Fetches from the network, whatever is stored, and returns when ``state`` has the outcome.
  ///
  /// ```swift
  /// List(stories.value ?? []) { Text($0.title) }
  ///   .refreshable { await stories.refresh() }
  /// ```
  ///
  /// It joins a request that is in flight. Without connectivity it fails at once; ``error`` has the
  /// reason. A cancelled caller returns at once. The request continues while the resource is
  /// observed, as it is by this object: SwiftUI cancels the task of `refreshable` when it rebuilds
  /// the view.
  ///
  /// A resource that is not read-only has no states, and is not sent.
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
    // Set first: subscribing can call an observer of events that reads this object.
    isFollowing = true
    let following = states.follow { [weak self] in self?.show($0) }
    self.following = following
    if let state = following.latest() { show(state) }
  }

  private func show(_ state: LoadState<Model>) {
    // A state that was read synchronously may be newer than a state that is about to arrive.
    if states.areRevised, let revision, state.revision <= revision { return }
    revision = state.revision
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

  /// The properties in which two states differ.
  private struct News {
    let hasValue: Bool
    let hasError: Bool
    let hasLoading: Bool

    init(from old: LoadState<Model>, to new: LoadState<Model>) {
      let isKnownSame = old.valueRevision == new.valueRevision && new.valueRevision > 0
      // Asked as rarely as possible: it copies a value whose size the compiler does not know.
      hasValue =
        isKnownSame ? (old.value == nil) != (new.value == nil) : new.value != nil || old.value != nil
      hasError = old.error != nil || new.error != nil
      hasLoading = (old.fetchStatus == .fetching) != (new.fetchStatus == .fetching)
    }
  }
}

/// The key paths of a ``LiveResource``, created once for each object: creating one costs far more
/// than using it.
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

/// The source of a ``LiveResource``: the states of a resource, or any other sequence of states.
struct LiveStates<Model: Sendable>: Sendable {
  typealias Sink = @MainActor @Sendable (LoadState<Model>) -> Void

  /// Subscribes. Releasing the result unsubscribes.
  let follow: @Sendable (@escaping Sink) -> LiveFollowing<Model>
  let refresh: @Sendable () async -> Void
  /// A Boolean value that indicates whether states have revisions, so that an older one can be
  /// dropped.
  let areRevised: Bool

  init(_ states: LoadStates<Model>) {
    follow = { sink in
      let observer = StateObserver<Model>(states.engine.nextID(), isolation: MainActor.shared, .onMainActor(sink))
      return LiveFollowing(nil, Subscription(states, observer: observer))
    }
    refresh = states.fetchAnew
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

/// A subscription of a ``LiveResource``; releasing this object unsubscribes.
final class LiveFollowing<Model: Sendable>: Sendable {
  private let task: Task<Void, Never>?
  private let subscription: Subscription<Model>?

  init(_ task: Task<Void, Never>?, _ subscription: Subscription<Model>?) {
    self.task = task
    self.subscription = subscription
  }

  deinit {
    subscription?.end()
    task?.cancel()
  }

  /// Returns the latest state, even if it has yet to be shown; `nil` if only the task has states.
  func latest() -> LoadState<Model>? { subscription?.latest() }
}
