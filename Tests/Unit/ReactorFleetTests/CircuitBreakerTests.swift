import Testing

@testable import ReactorFleet

/// A breaker that an expectation may change.
private final class Breaker {
  private var value = CircuitBreaker()

  var isClosed: Bool { value.isClosed }
  var transitions: (open: Int, closed: Int) { value.transitions }
  func admits(at now: Duration) -> Bool { value.admits(at: now) }
  func succeeded(at now: Duration) { value.succeeded(at: now) }
  func failed(at now: Duration, jitter: Double) { value.failed(at: now, jitter: jitter) }
}

@Suite("The breaker of a store")
struct CircuitBreakerTests {
  @Test func `five failures in a row open it, and a success between them does not`() {
    let breaker = Breaker()
    for _ in 0..<4 { breaker.failed(at: .zero, jitter: 0) }
    breaker.succeeded(at: .zero)
    for _ in 0..<4 { breaker.failed(at: .zero, jitter: 0) }
    #expect(breaker.isClosed && breaker.admits(at: .zero))
    breaker.failed(at: .zero, jitter: 0)
    #expect(!breaker.isClosed && !breaker.admits(at: .milliseconds(999)))
  }

  @Test func `half of twenty calls in a second open it`() {
    let breaker = Breaker()
    for _ in 0..<10 {
      breaker.succeeded(at: .zero)
      #expect(breaker.isClosed)
      breaker.failed(at: .zero, jitter: 0)
    }
    #expect(!breaker.isClosed)
    let other = Breaker()
    // In another second each.
    for second in 0..<40 {
      if second % 2 == 0 {
        other.succeeded(at: .seconds(second))
      } else {
        other.failed(at: .seconds(second), jitter: 0)
      }
    }
    #expect(other.isClosed)
  }

  @Test func `one call checks whether the store is back, with exponential backoff`() {
    let breaker = Breaker()
    for _ in 0..<5 { breaker.failed(at: .zero, jitter: 0) }
    var now = Duration.zero
    for pause in [1, 2, 4, 8, 16, 30, 30] {
      #expect(!breaker.admits(at: now + .seconds(pause) - .milliseconds(1)))
      now += .seconds(pause)
      #expect(breaker.admits(at: now))
      #expect(!breaker.admits(at: now), "a second call is let through")
      breaker.failed(at: now, jitter: 0)
    }
    now += .seconds(30)
    #expect(breaker.admits(at: now))
    breaker.succeeded(at: now)
    #expect(breaker.isClosed && breaker.admits(at: now) && breaker.admits(at: now))
    breaker.succeeded(at: now)
    #expect(breaker.transitions == (open: 8, closed: 1))
  }

  @Test func `a call without a reported outcome keeps the breaker open for a second`() {
    let breaker = Breaker()
    for _ in 0..<5 { breaker.failed(at: .zero, jitter: 0) }
    #expect(breaker.admits(at: .seconds(1)))
    #expect(!breaker.admits(at: .milliseconds(1_999)))
    #expect(breaker.admits(at: .seconds(2)))
  }

  @Test func `jitter makes a pause shorter by up to a quarter`() {
    for (jitter, pause) in [(0.0, 1_000), (1, 750)] {
      let breaker = Breaker()
      for _ in 0..<5 { breaker.failed(at: .zero, jitter: jitter) }
      #expect(!breaker.admits(at: .milliseconds(pause - 1)) && breaker.admits(at: .milliseconds(pause)))
    }
  }
}
