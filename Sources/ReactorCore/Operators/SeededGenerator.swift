import Synchronization

/// Random numbers that a seed settles: the same seed gives the same numbers in the same order (SplitMix64).
///
/// All who hold one draw from the same row, from any thread. Not for secrets.
public final class SeededGenerator: RandomNumberGenerator, Sendable {
  private let state: Atomic<UInt64>

  public init(seed: UInt64) { state = Atomic(seed) }

  public func next() -> UInt64 {
    var bits = state.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }
}
