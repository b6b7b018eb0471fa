public import ReactorCore

/// Load states that ``combined(_:errors:)`` takes: those of a reactor, and what operators make of
/// them.
///
/// Conform a sequence of your own:
///
/// ```swift
/// extension Countdown: CombinableStates { func refresh() async {} }
/// ```
public protocol CombinableStates<Model>: AsyncSequence where Element == LoadState<Model>, Failure == Never {
  /// The type of the values.
  associatedtype Model

  /// Fetches from the network, and returns when the fetch has ended. Its outcome, a failure too, is
  /// in the states.
  func refresh() async
}

/// Combines the states of several resources into one, with the values of all.
///
/// ```swift
/// let dashboard = combined(accounts.states(for: "me"), articles.states(for: "articles"))
/// for await state in dashboard {
///   if let (account, articles) = state.value { show(account, articles) }
/// }
/// ```
///
/// There is a value as long as every part has one. ``combinedAsTheyCome(_:errors:)`` does not wait
/// for all of them.
///
/// The state is fetching if a part is, else paused if a part is. It is stale if a part is, and has
/// the date of the oldest value, and the origin that all values have, if they have the same.
/// ``CombinedErrors`` says which error it has. ``CombinedStates/refresh()`` fetches all parts.
///
/// A slow reader gets only the latest state. `LoadState.revision` counts the states of the result.
///
/// Each part is iterated in its own task, from `makeAsyncIterator()` on. The tasks are cancelled
/// when the iterator is released or the reader's task is cancelled. The result ends then, or when
/// all parts have ended.
///
/// - Parameters:
///   - parts: The states of each resource.
///   - errors: The errors of parts that the state has.
public func combined<each Part: CombinableStates & Sendable>(
  _ parts: repeat each Part, errors: CombinedErrors = .ofAnyPart
) -> CombinedStates<(repeat (each Part).Model)> where repeat (each Part).Model: Sendable {
  let refreshes = refreshes(repeat each parts)
  let parts = (repeat each parts)
  return CombinedStates(refreshes: refreshes, errors: errors) { complete(repeat CombinedPart(each parts)) }
}

/// Combines the states of several resources into one, with the values that are there.
///
/// ```swift
/// let dashboard = combinedAsTheyCome(accounts.states(for: "me"), articles.states(for: "articles"))
/// for await state in dashboard {
///   if let (account, articles) = state.value { show(account, articles ?? []) }
/// }
/// ```
///
/// There is a value as long as one part has one. All else is as with ``combined(_:errors:)``.
///
/// - Parameters:
///   - parts: The states of each resource.
///   - errors: The errors of parts that the state has.
public func combinedAsTheyCome<each Part: CombinableStates & Sendable>(
  _ parts: repeat each Part, errors: CombinedErrors = .ofAnyPart
) -> CombinedStates<(repeat (each Part).Model?)> where repeat (each Part).Model: Sendable {
  let refreshes = refreshes(repeat each parts)
  let parts = (repeat each parts)
  return CombinedStates(refreshes: refreshes, errors: errors) { partial(repeat CombinedPart(each parts)) }
}

/// The errors of parts that a combined state has. If there are several, it has the first one, in
/// the order of the parts.
public enum CombinedErrors: Sendable, Hashable {
  /// The error of any part, even if the part has a value.
  case ofAnyPart
  /// The error of a part without a value. If a refetch fails, the part shows its old value, and no
  /// error.
  case ofMissingParts
}

/// The states of several resources as one; see ``combined(_:errors:)``.
public struct CombinedStates<Value: Sendable>: CombinableStates, Sendable {
  /// The tuple of the parts' values.
  public typealias Model = Value
  public typealias Element = LoadState<Value>
  public typealias Failure = Never

  private let refreshes: [@Sendable () async -> Void]
  private let errors: CombinedErrors
  private let parts: @Sendable () -> CombinedParts<Value>

  fileprivate init(
    refreshes: [@Sendable () async -> Void], errors: CombinedErrors,
    parts: @escaping @Sendable () -> CombinedParts<Value>
  ) {
    self.refreshes = refreshes
    self.errors = errors
    self.parts = parts
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(subscription: CombinedSubscription(CombinedFollower(parts(), errors)))
  }

  /// Fetches all parts from the network at once, and returns when the last fetch has ended.
  ///
  /// ```swift
  /// List { … }.refreshable { await dashboard.refresh() }
  /// ```
  ///
  /// A cancelled caller returns at once. The requests continue while the resources are observed.
  public func refresh() async {
    await withDiscardingTaskGroup { group in
      for refresh in refreshes { group.addTask { await refresh() } }
    }
  }

  /// One subscription to all parts; releasing the iterator ends it.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let subscription: CombinedSubscription<Value>

    public mutating func next(isolation actor: isolated (any Actor)?) async -> LoadState<Value>? {
      await subscription.next()
    }
  }
}

extension LiveResource {
  /// Follows several resources as one. `refresh()` fetches all of them.
  ///
  /// ```swift
  /// let parts = combined(accounts.states(for: "me"), articles.states(for: "articles"))
  /// let dashboard = LiveResource(parts)
  /// ```
  public convenience init(_ states: CombinedStates<Model>) {
    self.init(states, refresh: { await states.refresh() })
  }
}

// MARK: What can be combined

extension LoadStates: CombinableStates {
  /// Fetches from the network, as `LiveResource.refresh()` does.
  public func refresh() async { await fetchAnew() }
}

extension MappedValues: CombinableStates where Base: CombinableStates {
  /// The type of the derived values.
  public typealias Model = Derived
  /// Fetches the states that are mapped.
  public func refresh() async { await base.refresh() }
}

extension PlaceholderStates: CombinableStates where Base: CombinableStates {
  /// The type of the values and of the placeholder.
  public typealias Model = Value
  /// Fetches the states that have a placeholder.
  public func refresh() async { await base.refresh() }
}

// MARK: Parts

/// The latest state of one part, behind the lock of ``CombinedFollower``.
struct CombinedPart<Model: Sendable>: Sendable {
  let latest: CombinedValue<Model>
  let source: CombinedSource

  /// Subscribes, so that nothing is missed until the task runs.
  init<States: CombinableStates<Model> & Sendable>(_ states: States) {
    let latest = CombinedValue<Model>()
    let iterator = SendingBox(states.makeAsyncIterator())
    self.latest = latest
    source = { receive in
      if let iterator = iterator.take() { await Self.follow(iterator, latest, receive) }
    }
  }

  private static func follow<Iterator: AsyncIteratorProtocol>(
    _ iterator: consuming Iterator, _ latest: CombinedValue<Model>, _ receive: CombinedReceiver
  ) async where Iterator.Element == LoadState<Model>, Iterator.Failure == Never {
    while !Task.isCancelled, let state = await iterator.next(isolation: nil) {
      // The value that is replaced is released after the unlock.
      var value = state.value
      receive(state.with(state.value.map { _ in () })) { latest.exchange(&value) }
    }
  }
}

private func refreshes<each Part: CombinableStates & Sendable>(_ parts: repeat each Part)
  -> [@Sendable () async -> Void]
{
  var refreshes: [@Sendable () async -> Void] = []
  for part in repeat each parts { refreshes.append { await part.refresh() } }
  return refreshes
}

private func complete<each Model: Sendable>(
  _ parts: repeat CombinedPart<each Model>
) -> CombinedParts<(repeat each Model)> {
  let latest = (repeat (each parts).latest)
  return CombinedParts(sources: sources(repeat each parts)) {
    do { return (repeat try (each latest).required()) } catch { return nil }
  }
}

private func partial<each Model: Sendable>(
  _ parts: repeat CombinedPart<each Model>
) -> CombinedParts<(repeat (each Model)?)> {
  let latest = (repeat (each parts).latest)
  return CombinedParts(sources: sources(repeat each parts)) {
    for part in repeat each latest {
      if part.isPresent { return (repeat (each latest).value) }
    }
    return nil
  }
}

private func sources<each Model: Sendable>(_ parts: repeat CombinedPart<each Model>) -> [CombinedSource] {
  var sources: [CombinedSource] = []
  for part in repeat each parts { sources.append(part.source) }
  return sources
}
