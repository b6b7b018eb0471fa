extension AsyncSequence {
  /// Returns this sequence with random failures in it: for trying out how a screen takes them.
  ///
  /// - Parameters:
  ///   - error: the error that is thrown in an element's place; the sequence has ended then.
  ///   - probability: of each element, from 0 (never) to 1 (always). A value outside counts as the nearer end, and a
  ///     value that is no number as 0.
  ///   - generator: draws one number for each element. Each iteration begins with the generator as it is here. With a
  ///     ``ReactorTesting/SeededGenerator``, which is shared, a sequence that is run again fails elsewhere.
  ///
  /// This sequence's own failure, end and cancellation are passed on, undisturbed. Runs on the caller's executor.
  public func failRandomly<Generator: RandomNumberGenerator & Sendable>(
    with error: any Error, probability: Double, using generator: Generator
  ) -> FailingRandomly<Self, Generator> {
    FailingRandomly(base: self, error: error, probability: probability, generator: generator)
  }
}

/// A sequence that sometimes fails; see ``_Concurrency/AsyncSequence/failRandomly(with:probability:using:)``.
public struct FailingRandomly<Base: AsyncSequence, Generator: RandomNumberGenerator & Sendable>: AsyncSequence {
  public typealias Element = Base.Element
  public typealias Failure = any Error

  let base: Base
  let error: any Error
  let probability: Double
  let generator: Generator

  public func makeAsyncIterator() -> Iterator {
    Iterator(base: base.makeAsyncIterator(), error: error, probability: probability, generator: generator)
  }

  public struct Iterator: AsyncIteratorProtocol {
    /// `nil` after the end.
    var base: Base.AsyncIterator?
    let error: any Error
    let probability: Double
    var generator: Generator

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
