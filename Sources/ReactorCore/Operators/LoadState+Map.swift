extension LoadState {
  /// The same state of another value; without a value, `transform` is not called.
  public func map<Result, Failure>(
    _ transform: (Value) throws(Failure) -> Result
  ) throws(Failure) -> LoadState<Result> {
    let value: Result? = if let value { try transform(value) } else { nil }
    return with(value)
  }

  /// The same state with `value` in place of its own.
  func with<Other>(_ value: Other?) -> LoadState<Other> {
    var state = LoadState<Other>(
      value: value, error: error, fetchStatus: fetchStatus, origin: origin, fetchedAt: fetchedAt, isStale: isStale,
      progress: progress, revision: revision, valueRevision: valueRevision)
    state.isRemoved = isRemoved
    return state
  }
}
