public import Foundation
import Synchronization

/// The state of a resource on two axes: the known value, and the fetch under way.
///
/// ```swift
/// for await state in stories.states(for: "stories") {
///   show(state.value ?? [], isRefreshing: state.fetchStatus == .fetching, failure: state.error)
/// }
/// ```
///
/// An old value therefore stays visible while a new one loads, and after a failure.
public struct LoadState<Value> {
  /// The newest known value. It stays while a new one loads, and when that fails, but for a 404 or
  /// 410 (``ReactorConfiguration/removesGoneValues``).
  public var value: Value?
  /// The error of the latest attempt; `nil` after a success.
  public var error: ReactorError?
  /// The activity of the resource: idle, fetching, or waiting for connectivity.
  public var fetchStatus: FetchStatus
  /// The source of ``value``; `nil` without one.
  public var origin: Origin?
  /// The time at which ``value`` was fetched, or written locally.
  public var fetchedAt: Date?
  /// A Boolean value that indicates whether ``value`` was stale when this state was made.
  ///
  /// A value that becomes stale later makes no new state, unless
  /// ``ReactorConfiguration/revalidatesWhenStale`` is set.
  public var isStale: Bool
  /// The progress of the request in flight; `nil` if no request is in flight, or it has not
  /// reported progress.
  ///
  /// ```swift
  /// if let progress = state.progress { bar.value = progress.fractionCompleted }
  /// ```
  public var progress: TransferProgress?
  /// The number of the change that led to this state. It grows within a stream, which yields each
  /// revision at most once.
  public var revision: UInt64
  /// The number of the value, unique and growing within the process. 0 if unknown, as in a state
  /// that was made by hand.
  ///
  /// Two states that both have a value and agree in this number have the same value, even if they
  /// come from different sequences.
  public var valueRevision: UInt64

  /// The ids of the writes that ``value`` shows and that no server has accepted yet, in the order
  /// in which they were made; see `mutate(_:by:answer:draft:)` of ReactorWrites. The id of an
  /// outbox's write is that of its entry.
  ///
  /// ```swift
  /// show(state.value ?? [], isSaving: !state.drafts.isEmpty)
  /// ```
  ///
  /// A screen can mark such a value, for example with a clock beside a comment.
  public var drafts: [UUID] = []

  /// A Boolean value that indicates whether the value was removed, as at sign-out, and has been
  /// neither fetched nor written since.
  public var isRemoved = false

  /// A Boolean value that indicates whether ``value`` stands in for a value that is still loading.
  ///
  /// ReactorOperators makes such states: `placeholder(_:)` for a first load, without an ``origin``,
  /// and `dependentStates(keepsPreviousValue:_:)` with the value of the previous resource, which
  /// counts as stale. The states of a reactor have no placeholders.
  public var isPlaceholder = false

  /// A Boolean value that indicates whether ``value`` was invalidated, and has been neither fetched
  /// nor written since. A value that is stale for its age is not.
  package var isInvalidated = false

  /// The copy in memory below the changes, which the engine reads; `nil` without one.
  var base: (any AnyObject & Sendable)?

  /// Creates a state, for example in a preview or a test. By default it is idle and has no value.
  ///
  /// ```swift
  /// let loading = LoadState<[Story]>(fetchStatus: .fetching)
  /// let offline = LoadState(value: [story], error: .noConnectivity, isStale: true)
  /// ```
  public init(
    value: Value? = nil, error: ReactorError? = nil, fetchStatus: FetchStatus = .idle, origin: Origin? = nil,
    fetchedAt: Date? = nil, isStale: Bool = false, progress: TransferProgress? = nil, revision: UInt64 = 0,
    valueRevision: UInt64 = 0
  ) {
    self.value = value
    self.error = error
    self.fetchStatus = fetchStatus
    self.origin = origin
    self.fetchedAt = fetchedAt
    self.isStale = isStale
    self.progress = progress
    self.revision = revision
    self.valueRevision = valueRevision
  }

  /// The state for a simple screen to switch over: the value if there is one, else the error, else
  /// loading.
  ///
  /// ```swift
  /// switch state.phase {
  /// case .loading: showSpinner()
  /// case .loaded(let list): show(list)
  /// case .failed(let error): report(error)
  /// }
  /// ```
  ///
  /// A removed value does not load, since nothing fetches it. Its phase is `failed` with
  /// ``ReactorError/notCached``, although ``error`` is `nil`.
  public var phase: Phase {
    if let value { return .loaded(value) }
    if let error { return .failed(error) }
    return isRemoved ? .failed(.notCached) : .loading
  }

  /// The three states of a simple screen.
  ///
  /// ```swift
  /// switch state.phase {
  /// case .loading: ProgressView()
  /// case .loaded(let stories): List(stories) { Text($0.title) }
  /// case .failed(let error): Text(error.localizedDescription)
  /// }
  /// ```
  public enum Phase {
    /// There is neither a value nor an error.
    case loading
    /// There is a value, even if it is stale, or the latest attempt failed.
    case loaded(Value)
    /// There is no value, and the latest attempt failed, or the value was removed.
    case failed(ReactorError)
  }
}

extension LoadState: Sendable where Value: Sendable {}
extension LoadState.Phase: Sendable where Value: Sendable {}

/// The activity of a resource.
public enum FetchStatus: Sendable, Hashable {
  /// No fetch is under way.
  case idle
  /// A fetch from persistence or the network is under way.
  case fetching
  /// A fetch waits for connectivity, and continues when it returns.
  case paused
}

/// The source of ``LoadState/valueRevision``: growing numbers, each used once in the process.
///
/// The numbers distinguish two values even when one sequence's states follow another's.
package enum ValueRevision {
  private static let latest = Atomic<UInt64>(0)

  package static func next() -> UInt64 { latest.add(1, ordering: .relaxed).newValue }
}

extension LoadState {
  /// Returns the same state with a transformed value. Without a value, `transform` is not called.
  ///
  /// ```swift
  /// let count = state.map { $0.count }
  /// ```
  ///
  /// - Throws: The error that `transform` throws.
  public func map<Result, Failure>(
    _ transform: (Value) throws(Failure) -> Result
  ) throws(Failure) -> LoadState<Result> {
    let value: Result? = if let value { try transform(value) } else { nil }
    return with(value)
  }

  /// Sets ``drafts`` to the changes of the key and those of others in its value.
  mutating func note(pending: [UUID], beside others: [UUID]) {
    // A write may have several changes of one key.
    for id in pending where id != drafts.last { drafts.append(id) }
    for id in others where !drafts.contains(id) { drafts.append(id) }
  }

  /// Returns the same state with another value.
  package func with<Other>(_ value: Other?) -> LoadState<Other> {
    var state = LoadState<Other>(
      value: value, error: error, fetchStatus: fetchStatus, origin: origin, fetchedAt: fetchedAt, isStale: isStale,
      progress: progress, revision: revision, valueRevision: valueRevision)
    state.isRemoved = isRemoved
    state.isInvalidated = isInvalidated
    state.base = base
    state.isPlaceholder = isPlaceholder
    state.drafts = drafts
    return state
  }
}
