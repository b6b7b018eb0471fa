import Testing

@testable import HTTPCaching

@Suite struct `A duration` {
  // The type of each table is written out, since the compiler takes many seconds to infer it.
  private static let seconds: [(Duration, Double)] = [
    (.zero, 0), (.milliseconds(1_500), 1.5), (.seconds(-2), -2), (.nanoseconds(1), 1e-9),
    (.never, .infinity), (.never + .seconds(1), .infinity), (.never * 2, .infinity),
    (.seconds(Int64.min) * 2, -.infinity),
  ]

  @Test(arguments: seconds)
  func `a duration is a number of seconds, and saturates`(duration: Duration, seconds: Double) {
    #expect(duration.inSeconds == seconds)
  }

  private static let durations: [(Double, Duration)] = [
    (0, .zero), (1.5, .milliseconds(1_500)), (-1, .zero), (-.infinity, .zero), (.nan, .zero),
    (.signalingNaN, .zero), (.infinity, .never), (.greatestFiniteMagnitude, .never), (Double(Int64.max), .never),
    (.leastNonzeroMagnitude, .zero), (1e15, .seconds(1_000_000_000_000_000)),
  ]

  @Test(arguments: durations)
  func `a duration is made from any number of seconds`(seconds: Double, duration: Duration) {
    #expect(Duration(saturatingSeconds: seconds) == duration)
  }

  @Test func `a duration is below never, made from the greatest number that is`() {
    let duration = Duration(saturatingSeconds: Double(Int64.max).nextDown)
    #expect(duration < .never)
    #expect(duration > .seconds(Int64.max / 2))
  }

  private static let sums: [(Duration, Duration, Duration)] = [
    (.seconds(1), .seconds(2), .seconds(3)), (.zero, .zero, .zero),
    (.seconds(1), .seconds(-3), .seconds(-2)), (.never, .zero, .never), (.zero, .never, .never),
    (.never, .never, .never), (.never, .seconds(-5), .never), (.seconds(Int64.max - 1), .seconds(1), .never),
    (.seconds(Int64.max - 1), .seconds(2), .never), (.seconds(Int64.max / 2 + 1), .seconds(Int64.max / 2 + 1), .never),
    (.seconds(Int64.max - 1) + .milliseconds(600), .milliseconds(600), .never),
    (.seconds(Int64.max - 2), .seconds(1), .seconds(Int64.max - 1)),
    (.seconds(Int64.min), .seconds(-1), .seconds(Int64.min) - .seconds(1)),
  ]

  @Test(arguments: sums)
  func `a duration is added to another, at most never`(a: Duration, b: Duration, sum: Duration) {
    #expect(a.saturatingAdd(b) == sum)
    #expect(b.saturatingAdd(a) == sum)
  }
}
