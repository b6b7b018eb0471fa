import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorTesting
import Synchronization
import Testing

/// The simulation itself: that a seed says all, and that what is wrong is found.
@Suite("A simulation", .timeLimit(.minutes(5)))
struct SimulationTests {
  @Test func `the same seed runs the same, and another does not`() async throws {
    let logs = [await Self.contention(1), await Self.contention(1), await Self.contention(2)]
    #expect(logs[0].count > 60)
    #expect(logs[0] == logs[1])
    #expect(logs[0] != logs[2])
  }

  @Test func `a dependence on order is found, with its seed and the fewest steps`() async {
    let found = Mutex<[String]>([])
    await withKnownIssue {
      await Simulation.run(seeds: 0..<200) { world in
        let cell = Mutex(0)
        await world.users(2, steps: 5...5, pause: .zero) { user in
          let before = cell.withLock(\.self)
          // Another may write here.
          try await world.clock.sleep(for: user.draws.duration(upTo: .milliseconds(3)))
          world.note("\(user.number) writes \(before + 1)")
          cell.withLock { $0 = before + 1 }
        }
        world.check(cell.withLock(\.self) == world.steps, "an update was lost")
      }
    } matching: { issue in
      found.withLock { $0 += issue.comments.map(\.rawValue) }
      return true
    }
    let report = found.withLock { $0.joined() }
    #expect(report.contains("an update was lost"))
    #expect(report.contains(/the first [2-9] of 10 steps suffice/))
    #expect(report.contains("writes 1"))
  }

  @Test func `a user that waits for an event that never happens is found`() async {
    await expectFailure("the simulation is stuck") { world in
      try await Gate().wait()
    }
  }

  @Test func `an endless run is found`() async {
    await expectFailure("did not end") { world in
      while !Task.isCancelled { try await world.clock.sleep(for: .seconds(1)) }
    }
  }

  @Test func `a task that escapes is found, by what it comes back to or by what waits for it`() async {
    await expectFailure("outside of the simulation") { world in
      await Task.detached {}.value
    }
  }

  @Test func `an error of the body is a failure, and one of a user is`() async {
    await expectFailure("Torn") { _ in throw Torn() }
    await expectFailure("user 0 got Torn") { world in await world.users(1, steps: 1...1) { _ in throw Torn() } }
  }

  @Test func `time passes when nothing else can happen, and takes none`() async {
    await Simulation.run(seeds: 0..<3) { world in
      try await world.clock.sleep(for: .seconds(86_400))
      world.check(world.clock.now.elapsed == .seconds(86_400), "the clock stands at \(world.clock.now.elapsed)")
    }
  }

  private func expectFailure(
    _ text: String, _ body: @escaping @Sendable (SimulatedWorld) async throws -> Void
  ) async {
    await withKnownIssue {
      await Simulation.run(seeds: 0..<1, body)
    } matching: { issue in
      issue.comments.contains { $0.rawValue.contains(text) }
    }
  }

  private static func contention(_ seed: UInt64) async -> [String] {
    await Simulation.log(seed: seed) { world in
      let counter = Counter()
      await world.users(5, steps: 10...20) { user in
        let before = await counter.count
        await counter.add(user.number)
        async let one = counter.add(1)
        async let two = counter.add(2)
        let sums = await (one, two)
        world.note("\(user.number): \(before) \(sums)")
      }
    }
  }
}

private struct Torn: Error {}

private actor Counter {
  private(set) var count = 0

  @discardableResult
  func add(_ number: Int) -> Int {
    count += number
    return count
  }
}
