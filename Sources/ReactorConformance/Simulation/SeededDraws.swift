import ReactorCore
import ReactorTesting

/// Random choices with a seed. The same seed makes the same choices in the same order.
///
/// ```swift
/// let draws = SeededDraws(seed: 7)
/// let pause = draws.duration(upTo: .seconds(5))
/// if draws.chance(0.1), let name = draws.element(of: ["ann", "bob"]) { leave(name) }
/// ```
///
/// Copies share one sequence, from any thread.
public struct SeededDraws: Sendable {
  private let generator: SeededGenerator

  /// Creates choices at the start of the seed's sequence.
  public init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  /// Returns choices with a separate sequence, so that one part of a program does not shift
  /// another's choices.
  package func split() -> SeededDraws { SeededDraws(seed: generator.next()) }

  /// Returns a number from zero up to, but not including, `bound`.
  ///
  /// - Parameter bound: The upper bound; values below 1 count as 1.
  public func number(below bound: Int) -> Int { Int(generator.next() % UInt64(max(1, bound))) }

  /// Returns a number in `range`.
  public func number(in range: ClosedRange<Int>) -> Int { range.lowerBound + number(below: range.count) }

  /// Returns `true` with the given probability.
  ///
  /// - Parameter probability: The probability, from 0 to 1.
  public func chance(_ probability: Double) -> Bool { Double(number(below: 1 << 20)) < probability * Double(1 << 20) }

  /// Returns one of the elements, or `nil` if the array is empty.
  public func element<Element>(of elements: [Element]) -> Element? {
    elements.isEmpty ? nil : elements[number(below: elements.count)]
  }

  /// Returns a duration in whole milliseconds, from zero to `longest`. Short durations are likelier
  /// than long ones, so that both take part in races.
  public func duration(upTo longest: Duration) -> Duration {
    let milliseconds = Int(longest / .milliseconds(1))
    return .milliseconds(number(below: 1 + number(below: milliseconds + 1)))
  }
}
