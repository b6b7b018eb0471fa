extension AsyncSequence {
  /// This sequence, in which any element may be replaced by `error`: for trying out how a screen takes failures.
  ///
  /// - Parameters:
  ///   - error: what is thrown; the sequence has ended then.
  ///   - probability: of each element, from 0 (never) to 1 (always). What is outside counts as the nearer end, and what is
  ///     no number as 0.
  ///   - generator: what decides, one number for each element. All iterations draw from it, so that a sequence that is run again
  ///     does not fail at the same place each time.
  ///
  /// This sequence's own failure, end and cancellation are passed on, undisturbed. Runs on the caller's executor.
  public func failRandomly(
    with error: any Error, probability: Double, using generator: SeededGenerator
  ) -> FailingRandomly<Self> {
    FailingRandomly(base: self, error: error, probability: probability, generator: generator)
  }
}

/// A sequence that sometimes fails; see ``_Concurrency/AsyncSequence/failRandomly(with:probability:using:)``.
public struct FailingRandomly<Base: AsyncSequence>: AsyncSequence {
  public typealias Element = Base.Element
  public typealias Failure = any Error

  let base: Base
  let error: any Error
  let probability: Double
  let generator: SeededGenerator

  public func makeAsyncIterator() -> Iterator {
    Iterator(base: base.makeAsyncIterator(), error: error, probability: probability, generator: generator)
  }

  public struct Iterator: AsyncIteratorProtocol {
    /// `nil` after the end.
    var base: Base.AsyncIterator?
    let error: any Error
    let probability: Double
    var generator: SeededGenerator

    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Base.Element? {
      guard let element = try await base?.next(isolation: actor) else { return nil }
      // Below 1, so that 1 is always; a comparison with what is no number is false.
      guard Double.random(in: 0..<1, using: &generator) < probability else { return element }
      base = nil
      throw error
    }
  }
}

extension FailingRandomly: Sendable where Base: Sendable {}
