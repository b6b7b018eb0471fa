import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A grace period` {
  let clock = TestClock()
  let expired = Shared<[String]>([])
  let grace: GracePeriod

  init() { grace = GracePeriod(clock: clock) }

  private func begin(_ name: String) -> BackgroundActivity {
    grace.begin(name) { [expired] in expired.change { $0.append(name) } }
  }

  private func endInTask(within duration: Duration) -> Task<Void, Never> {
    Task { [grace] in await grace.end(within: duration) }
  }

  @Test func `a grace period ends at once where nothing runs`() async throws {
    await grace.end(within: .seconds(30))
    await grace.end(within: .never)
    try clock.checkNobodySleeps()
  }

  @Test func `a grace period lets two end, and expires the third`() async throws {
    let activities = ["a", "b", "c"].map(begin)
    let end = endInTask(within: .seconds(30))
    try await clock.waitForSleepers()
    activities[0].end()
    activities[1].end()
    clock.advance(by: .seconds(29))
    #expect(grace.activityCount == 1)
    #expect(expired.value == [])
    clock.advance(by: .seconds(1))
    await end.value
    #expect(expired.value == ["c"])
    #expect(grace.activityCount == 0)
    activities[2].end()
    try clock.checkNobodySleeps()
  }

  @Test func `a grace period ends with the last activity, before its time`() async throws {
    let first = begin("first")
    var second: BackgroundActivity? = begin("second")
    let end = endInTask(within: .seconds(30))
    try await clock.waitForSleepers()
    first.end()
    first.end()
    #expect(grace.activityCount == 1)
    withExtendedLifetime(second) {}
    second = nil
    await end.value
    #expect(expired.value == [])
    try clock.checkNobodySleeps()
  }

  @Test func `a grace period is over with the last activity, and later ones expire at once`() async throws {
    let last = begin("last")
    let end = endInTask(within: .seconds(30))
    try await clock.waitForSleepers()
    last.end()
    let late = begin("late")
    #expect(expired.value == ["late"])
    await end.value
    late.end()
    try clock.checkNobodySleeps()
  }

  @Test func `a grace period waits for activities that begin meanwhile, and expires later ones`() async throws {
    let first = begin("first")
    let end = endInTask(within: .seconds(30))
    try await clock.waitForSleepers()
    let second = begin("second")
    first.end()
    #expect(grace.activityCount == 1)
    second.end()
    await end.value
    #expect(expired.value == [])
    let late = begin("late")
    #expect(expired.value == ["late"])
    #expect(grace.activityCount == 0)
    late.end()
    #expect(expired.value == ["late"])
    try clock.checkNobodySleeps()
  }

  @Test func `requested twice, ends for both when the shorter time is over`() async throws {
    let activity = begin("a")
    let ends = [endInTask(within: .seconds(30)), endInTask(within: .seconds(10))]
    try await clock.waitForSleepers(count: 2)
    clock.advance(by: .seconds(10))
    for end in ends { await end.value }
    await grace.end(within: .seconds(30))
    #expect(expired.value == ["a"])
    activity.end()
    try clock.checkNobodySleeps()
  }

  @Test(arguments: [Duration.zero, .seconds(-1), .zero - .never])
  func `a grace period of no time expires all activities at once, in order`(duration: Duration) async throws {
    for clock in [clock, ContinuousClock(), SuspendingClock()] as [any Clock<Duration>] {
      let expired = Shared<[String]>([])
      let grace = GracePeriod(clock: clock)
      let activities = ["a", "b", "c"].map { name in grace.begin(name) { expired.change { $0.append(name) } } }
      await grace.end(within: duration)
      #expect(expired.value == ["a", "b", "c"])
      for activity in activities { activity.end() }
    }
    try clock.checkNobodySleeps()
  }

  /// A clock that tells when somebody begins to wait for it.
  private struct NotingClock<Base: Clock<Duration>>: Clock {
    let base: Base
    let isWaitedFor = Latch()

    var now: Base.Instant { base.now }
    var minimumResolution: Duration { base.minimumResolution }

    func sleep(until deadline: Base.Instant, tolerance: Duration?) async throws {
      isWaitedFor.open()
      try await base.sleep(until: deadline, tolerance: tolerance)
    }
  }

  /// Ends one activity while `end(within:)` waits.
  private func waitWithoutEnd(on clock: some Clock<Duration>) async throws {
    // No argument of the test: the largest duration has no description.
    for duration in [Duration.never, Duration(attoseconds: .max)] {
      let clock = NotingClock(base: clock)
      let grace = GracePeriod(clock: clock)
      let activity = grace.begin("") { [expired] in expired.change { $0.append("") } }
      let end = Task { await grace.end(within: duration) }
      try await clock.isWaitedFor.wait()
      activity.end()
      await end.value
    }
  }

  @Test func `a grace period of unlimited duration waits for the last activity`() async throws {
    try await waitWithoutEnd(on: clock)
    try await waitWithoutEnd(on: ContinuousClock())
    try await waitWithoutEnd(on: SuspendingClock())
    #expect(expired.value == [])
    try clock.checkNobodySleeps()
  }

  @Test func `cancelled, expires the rest at once`() async throws {
    let activity = begin("a")
    let end = endInTask(within: .seconds(30))
    try await clock.waitForSleepers()
    end.cancel()
    await end.value
    #expect(expired.value == ["a"])
    activity.end()
    try clock.checkNobodySleeps()
  }

  @Test func `an expiring activity may use the grace period`() async throws {
    let held = Shared<BackgroundActivity?>(nil)
    let activity = grace.begin("a") { [grace, expired] in
      held.change { $0.take() }?.end()
      _ = grace.begin("b") { expired.change { $0.append("b") } }
    }
    held.change { $0 = activity }
    await grace.end(within: .zero)
    #expect(expired.value == ["b"])
    #expect(grace.activityCount == 0)
  }

  @Test func `a grace period may be used by what goes with an activity that ends`() {
    let released = Latch()
    let other = begin("other")
    let activity: BackgroundActivity
    do {
      let owner = Owner(other, released)
      activity = grace.begin("a") { withExtendedLifetime(owner) {} }
    }
    activity.end()
    #expect(released.isOpen)
    #expect(grace.activityCount == 0)
  }

  /// Ends an activity with its own life.
  private final class Owner: Sendable {
    let activity: BackgroundActivity
    let released: Latch

    init(_ activity: BackgroundActivity, _ released: Latch) {
      self.activity = activity
      self.released = released
    }

    deinit {
      activity.end()
      released.open()
    }
  }
}
