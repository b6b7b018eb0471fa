import Foundation
import HTTPCaching

/// Refreshing a response before it is stale, so that no caller waits for it. Each use refreshes it
/// with a probability that grows as it expires (XFetch: Vattani, Chierichetti and Lowenstein,
/// *Optimal Probabilistic Cache Stampede Prevention*, VLDB 2015).
enum EarlyRefresh {
  /// The largest share of its lifetime by which a response is refreshed earlier, so that responses
  /// that arrived together are not refreshed together.
  static let jitter = 0.05

  /// Returns `true` if a response is to be refreshed.
  ///
  /// - Parameters:
  ///   - age: The age in seconds.
  ///   - lifetime: The freshness lifetime in seconds. Below ten, nothing is refreshed early.
  ///   - cost: The time that the request took in seconds. Above a tenth of the lifetime, nothing is
  ///     refreshed early.
  ///   - random: A random number in 0..<1, another one for each use.
  ///   - share: A number in 0..<1, the same one on each server.
  static func isDue(
    age: Double, lifetime: Double, cost: Double, random: @autoclosure () -> Double, share: @autoclosure () -> Double
  ) -> Bool {
    guard lifetime >= 10, cost >= 0, lifetime >= 10 * cost else { return false }
    // The logarithm is less than 40, so most uses return here.
    guard age + 40 * cost >= lifetime * (1 - jitter) else { return false }
    return age - cost * log(max(random(), 1e-17)) >= lifetime * (1 - jitter * share())
  }

  /// Returns a number in 0..<1 that every server has for a response.
  static func share(of key: RecordKey, receivedAt: Date) -> Double {
    let text = "\(key.identity) \(receivedAt.timeIntervalSince1970)"
    // FNV-1a, then the finalizer of SplitMix64: a change in the last letters must affect every bit.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
    hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
    return Double((hash ^ (hash >> 31)) >> 11) / Double(1 << 53)
  }
}
