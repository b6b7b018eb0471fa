public import ReactorCore

extension AsyncSequence {
  /// Returns the states of this sequence with transformed values.
  ///
  /// ```swift
  /// let titles = articles.states(for: "articles").mapValues { $0.map(\.title) }
  /// ```
  ///
  /// `transform` is called once for each new value, that is, for each new
  /// `LoadState.valueRevision`. If it returns `nil`, or a state has no value, the last derived
  /// value stays. It is dropped when the value is removed. A placeholder is transformed like a
  /// value, and nothing that was derived from it stays.
  ///
  /// `LoadState.valueRevision` comes from the value that the derived value was made from. The rest
  /// of a state is passed on unchanged, and so are failure, completion and cancellation. Runs on
  /// the caller's executor.
  public func mapValues<Value, Derived>(
    _ transform: @escaping @Sendable (Value) -> Derived?
  ) -> MappedValues<Self, Value, Derived> where Element == LoadState<Value> {
    MappedValues(base: self, transform: transform)
  }
}

/// The load states of a derived value; see ``_Concurrency/AsyncSequence/mapValues(_:)``.
public struct MappedValues<Base: AsyncSequence, Value, Derived>: AsyncSequence
where Base.Element == LoadState<Value> {
  public typealias Element = LoadState<Derived>
  public typealias Failure = Base.Failure

  let base: Base
  let transform: @Sendable (Value) -> Derived?

  public func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), transform: transform) }

  /// An iterator that stores the last derived value.
  public struct Iterator: AsyncIteratorProtocol {
    var base: Base.AsyncIterator
    let transform: @Sendable (Value) -> Derived?
    private var follower = ValueFollower()
    /// The derived value, with the revision of the value that it was made from.
    private var derived: (value: Derived, revision: UInt64)?
    /// A Boolean value that indicates whether ``derived`` was made from a placeholder.
    private var isPlaceholder = false

    init(base: Base.AsyncIterator, transform: @escaping @Sendable (Value) -> Derived?) {
      self.base = base
      self.transform = transform
    }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(Base.Failure) -> Element? {
      guard let state = try await base.next(isolation: actor) else { return nil }
      update(for: state)
      var mapped = state.with(derived?.value)
      if let derived { mapped.valueRevision = derived.revision }
      return mapped
    }

    private mutating func update(for state: LoadState<Value>) {
      let change = follower.follow(state)
      if state.isPlaceholder, change != .same, let value = state.value {
        if derived?.revision != state.valueRevision {
          derived = transform(value).map { ($0, state.valueRevision) }
          isPlaceholder = true
        }
        return
      }
      if isPlaceholder { (derived, isPlaceholder) = (nil, false) }
      switch change {
      case .new:
        guard let value = state.value.flatMap(transform) else { return }
        derived = (value, state.valueRevision)
      case .lost: derived = nil
      case .same, .absent: break
      }
    }
  }
}

extension MappedValues: Sendable where Base: Sendable {}

/// The change of the value from one load state to the next in a sequence.
enum ValueChange {
  /// There is another value.
  case new
  /// The value is the same.
  case same
  /// There is no value yet, or not in this state. A known value is still valid.
  case absent
  /// There is no longer a value: it was removed, or the sequence now shows another resource.
  case lost
}

/// Tracks the value in a sequence of load states.
struct ValueFollower {
  /// `LoadState.valueRevision` of the latest value; `nil` before the first value, or if it is lost.
  private var revision: UInt64?

  /// Returns the change that a state is. A placeholder does not count as a value, unless it is the
  /// kept latest value.
  mutating func follow<Value>(_ state: LoadState<Value>) -> ValueChange {
    guard state.value == nil || (state.isPlaceholder && revision != state.valueRevision) else {
      defer { revision = state.valueRevision }
      // States that were made by hand may not number their values.
      return revision == state.valueRevision && state.valueRevision > 0 ? .same : .new
    }
    let isSettled = state.fetchStatus == .idle && state.error == nil
    // A slow reader may have missed the state without a value.
    let isAnother = revision.map { state.valueRevision > $0 } ?? false
    guard isSettled || isAnother else { return .absent }
    revision = nil
    return .lost
  }
}
