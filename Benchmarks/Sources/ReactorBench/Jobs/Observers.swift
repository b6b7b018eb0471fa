import Observation
import ReactorCore
import Synchronization

/// The cost of a change for each closure observer and each `LiveResource`, from a local write until
/// the last of them has the new value. The limit is an array of closures.
enum Observers: Benchmark {
  static let name = "observers"
  static let question = "one change, seen by closures and by LiveResource objects"

  static func measure(_ bench: Bench) async throws {
    for count in [1, 1_000] {
      let (observed, closures) = (try await Observed(count), Closures(count))
      try await bench.compare(
        "one change, per observer of \(Table.whole(count))", to: "a closure array",
        target: count == 1 ? nil : .nanosecondsMore(250), operations: (count, count),
        job: { try await observed.change($0) }, limit: { closures.change($0) })
      let screens = try await Screens(count)
      try await bench.compare(
        "one change, per LiveResource of \(Table.whole(count))", to: "a closure array",
        target: count == 1 ? nil : .nanosecondsMore(1_000), operations: (count, count),
        job: { try await screens.change($0) }, limit: { closures.change($0) })
    }
  }
}

/// A value that closures observe.
final class Observed {
  private let audience = Audience()
  private let reactor = Reactor<Int>(flow: ReactorFlow { _ in 0 })
  private let count: Int
  private var value = 0
  private var tokens: [ModelLayer.ObservationToken] = []

  init(_ count: Int) async throws {
    self.count = count
    try await reactor.save(value, for: "counter")
    audience.expect(count)
    for _ in 0..<count {
      let seen = LastValue()
      tokens.append(
        reactor.observe("counter", policy: .cacheOnly) { [audience] state in
          if seen.isNew(state.value) { audience.hasSeen() }
        })
    }
    await audience.all()
  }

  func change(_ times: Int) async throws {
    for _ in 0..<times {
      value += 1
      audience.expect(count)
      try await reactor.save(value, for: "counter")
      await audience.all()
    }
  }
}

/// The last value that an observer has seen.
final class LastValue: Sendable {
  private let value = Atomic(-1)

  func isNew(_ new: Int?) -> Bool {
    guard let new, new > value.load(ordering: .relaxed) else { return false }
    value.store(new, ordering: .relaxed)
    return true
  }
}

/// A value that `LiveResource` objects follow.
@MainActor private final class Screens {
  private let reactor = Reactor<Int>(flow: ReactorFlow { _ in 0 })
  private let screens: [LiveResource<Int>]
  private var value = 0

  init(_ count: Int) async throws {
    try await reactor.save(value, for: "counter")
    let reactor = reactor
    screens = (0..<count).map { _ in LiveResource(reactor, "counter", policy: .cacheOnly) }
    for screen in screens { blackHole(screen.value) }
  }

  func change(_ times: Int) async throws {
    for _ in 0..<times {
      value += 1
      try await reactor.save(value, for: "counter")
      // They are notified in order.
      while screens.last?.value != value { await Task.yield() }
    }
  }
}

private final class Closures {
  private var observers: [(Int) -> Void] = []
  private var value = 0

  init(_ count: Int) {
    for _ in 0..<count {
      let seen = LastValue()
      observers.append { blackHole(seen.isNew($0)) }
    }
  }

  func change(_ times: Int) {
    for _ in 0..<times {
      value += 1
      for observer in observers { observer(value) }
    }
  }
}
