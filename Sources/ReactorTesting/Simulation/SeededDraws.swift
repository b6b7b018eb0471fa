import ReactorCore

/// What a seed decides: the same seed draws the same in the same order.
public struct SeededDraws: Sendable {
  private let generator: SeededGenerator

  public init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  /// Draws of their own, so that those of one part do not shift those of another.
  func split() -> SeededDraws { SeededDraws(seed: generator.next()) }

  /// - Parameter bound: below 1 counts as 1.
  public func number(below bound: Int) -> Int { Int(generator.next() % UInt64(max(1, bound))) }

  public func number(in range: ClosedRange<Int>) -> Int { range.lowerBound + number(below: range.count) }

  /// - Parameter probability: in 0…1.
  public func chance(_ probability: Double) -> Bool { Double(number(below: 1 << 20)) < probability * Double(1 << 20) }

  /// `nil` of nothing.
  public func element<Element>(of elements: [Element]) -> Element? {
    elements.isEmpty ? nil : elements[number(below: elements.count)]
  }

  /// In milliseconds; short times are as likely as long ones, so that both race.
  public func duration(upTo longest: Duration) -> Duration {
    let milliseconds = Int(longest / .milliseconds(1))
    return .milliseconds(number(below: 1 + number(below: milliseconds + 1)))
  }
}
