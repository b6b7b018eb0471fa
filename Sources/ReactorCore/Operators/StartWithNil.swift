extension AsyncSequence {
  /// The elements of this sequence after `nil`, for a value that is not known yet.
  ///
  /// Otherwise as ``_Concurrency/AsyncSequence/startWith(_:)``. An element that is itself optional is wrapped once more, so that
  /// its own `nil` is told from the first.
  public func startWithNil() -> StartWith<Self, Element?> {
    StartWith(base: self, first: nil) { $0 }
  }
}
