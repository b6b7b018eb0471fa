import ReactorCore

/// A random number generator with a seed (SplitMix64). The same seed gives the same numbers in the
/// same order.
///
/// ```swift
/// var generator = SeededGenerator(seed: 7)
/// let order = ["a", "b", "c"].shuffled(using: &generator)
/// ```
///
/// All holders of one generator share its sequence, from any thread. Never use it for secrets.
public final class SeededGenerator: RandomNumberGenerator, Sendable {
  private let numbers: SplitMix64

  /// Creates a generator at the start of the seed's sequence.
  public init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

  /// Returns the next number of the sequence.
  public func next() -> UInt64 { numbers.next() }
}
