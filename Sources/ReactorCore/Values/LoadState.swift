public import Foundation
import Synchronization

/// What is known of a resource, and what is being done about it: two axes, so that an old value can be shown while a new one
/// loads, and after a failure.
public struct LoadState<Value> {
  /// The newest value known, whatever happened since.
  public var value: Value?
  /// Of the latest attempt; `nil` after a success.
  public var error: ReactorError?
  public var fetchStatus: FetchStatus
  /// Where ``value`` came from; `nil` without one.
  public var origin: Origin?
  /// When ``value`` was fetched, or written locally.
  public var fetchedAt: Date?
  /// A Boolean value that indicates whether ``value`` was stale when this state was made.
  public var isStale: Bool
  /// Of the request under way.
  public var progress: TransferProgress?
  /// Counts up with each change of the reactor's knowledge; a stream gives none twice.
  public var revision: UInt64
  /// Grows with each value that the library comes to know, in the whole process: two states that have a value and agree in this have
  /// the same one, whatever sequences they are from. 0: not known, as in a state that was made by hand.
  public var valueRevision: UInt64

  /// A Boolean value that indicates whether the value was removed, as at sign-out, and nobody has
  /// asked for it or written it since.
  public var isRemoved = false

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

  /// What a simple screen switches on: the value if there is one, else the error, else loading.
  ///
  /// What was removed is not loading, since nobody asks for it: ``ReactorError/notCached``, though there is no ``error``.
  public var phase: Phase {
    if let value { return .loaded(value) }
    if let error { return .failed(error) }
    return isRemoved ? .failed(.notCached) : .loading
  }

  public enum Phase {
    case loading
    case loaded(Value)
    case failed(ReactorError)
  }
}

extension LoadState: Sendable where Value: Sendable {}
extension LoadState.Phase: Sendable where Value: Sendable {}

/// What is being done about a resource.
public enum FetchStatus: Sendable, Hashable {
  /// Nothing.
  case idle
  /// Persistence or the network is being asked.
  case fetching
  /// It waits for connectivity, and asks when that is back.
  case paused
}

/// Numbers for values that load states show: growing, and each given once in the process. So a value can be told from another
/// also where the states of one sequence follow those of another.
package enum ValueRevision {
  private static let latest = Atomic<UInt64>(0)

  package static func next() -> UInt64 { latest.add(1, ordering: .relaxed).newValue }
}

extension LoadState {
  /// The same state of another value; without a value, `transform` is not called.
  public func map<Result, Failure>(
    _ transform: (Value) throws(Failure) -> Result
  ) throws(Failure) -> LoadState<Result> {
    let value: Result? = if let value { try transform(value) } else { nil }
    return with(value)
  }

  /// The same state with `value` in place of its own.
  package func with<Other>(_ value: Other?) -> LoadState<Other> {
    var state = LoadState<Other>(
      value: value, error: error, fetchStatus: fetchStatus, origin: origin, fetchedAt: fetchedAt, isStale: isStale,
      progress: progress, revision: revision, valueRevision: valueRevision)
    state.isRemoved = isRemoved
    return state
  }
}
