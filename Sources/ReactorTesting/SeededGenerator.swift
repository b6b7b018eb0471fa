import ReactorCore

/// Random numbers that a seed settles: the same seed gives the same numbers in the same order (SplitMix64).
///
/// All holders of one generator draw from the same sequence, from any thread. Not for secrets.
public final class SeededGenerator: RandomNumberGenerator, Sendable {
  private let numbers: SplitMix64

  public init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

  public func next() -> UInt64 { numbers.next() }
}
