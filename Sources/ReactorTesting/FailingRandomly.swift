extension AsyncSequence {
  /// Returns this sequence with random failures, to test how a screen handles them.
  ///
  /// ```swift
  /// let flaky = stories.fetches("stories")
  ///   .failRandomly(with: URLError(.timedOut), probability: 0.3, using: SeededGenerator(seed: 7))
  /// ```
  ///
  /// - Parameters:
  ///   - error: The error that replaces an element. The sequence then ends.
  ///   - probability: The probability of a failure for each element, from 0 (never) to 1 (always).
  ///     Values outside are clamped, and NaN counts as 0.
  ///   - generator: The source of one random number for each element. Each iteration starts with a
  ///     copy of it. A ``ReactorTesting/SeededGenerator`` is shared by its copies, so a second
  ///     iteration fails at other elements.
  ///
  /// Errors, the end and the cancellation of this sequence are passed on. Runs on the caller's
  /// executor.
  public func failRandomly<Generator: RandomNumberGenerator & Sendable>(
    with error: any Error, probability: Double, using generator: Generator
  ) -> FailingRandomly<Self, Generator> {
    FailingRandomly(base: self, error: error, probability: probability, generator: generator)
  }
}

/// A sequence that fails at random; see
/// ``_Concurrency/AsyncSequence/failRandomly(with:probability:using:)``.
public struct FailingRandomly<Base: AsyncSequence, Generator: RandomNumberGenerator & Sendable>: AsyncSequence {
  /// An element of the base.
  public typealias Element = Base.Element
  /// The error of the base, or the error passed to `failRandomly`.
  public typealias Failure = any Error

  let base: Base
  let error: any Error
  let probability: Double
  let generator: Generator

  /// Returns an iterator with a copy of the generator.
  public func makeAsyncIterator() -> Iterator {
    Iterator(base: base.makeAsyncIterator(), error: error, probability: probability, generator: generator)
  }

  /// The iterator of a ``FailingRandomly`` sequence.
  public struct Iterator: AsyncIteratorProtocol {
    /// The base's iterator; `nil` after a random failure.
    var base: Base.AsyncIterator?
    let error: any Error
    let probability: Double
    var generator: Generator

    /// Returns the next element of the base, or fails at random. After a random failure it returns
    /// `nil`.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Base.Element? {
      guard let element = try await base?.next(isolation: actor) else { return nil }
      // The number is below 1, so a probability of 1 always fails. A comparison with NaN is false.
      guard Double.random(in: 0..<1, using: &generator) < probability else { return element }
      base = nil
      throw error
    }
  }
}

extension FailingRandomly: Sendable where Base: Sendable {}
