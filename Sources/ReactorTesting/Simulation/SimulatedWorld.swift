public import ReactorCore
import Synchronization

/// One seed's world: a clock that runs when nothing else can, a network, a disk, and users who do as the seed says.
public final class SimulatedWorld: Sendable {
  /// A promise was broken; the message says which.
  public struct Violation: Error, CustomStringConvertible {
    public let description: String
  }

  private struct State {
    var steps = 0
    var trace: [String] = []
    var violation: Violation?
    var setBack = Duration.zero
  }

  public let seed: UInt64
  public let clock = TestClock()
  /// What the body of the simulation draws from.
  public let draws: SeededDraws
  public let network: SimulatedNetwork
  public let disk: SimulatedDisk
  public let reachability = ScriptedReachability(true)
  /// A configuration on this world's clock and executor, with a seed for its retries.
  public let configuration: ReactorConfiguration

  private let faults: Mutex<SimulatedFaults>
  private let state = Mutex(State())
  private let maximumSteps: Int
  private let keepsTrace: Bool

  init(seed: UInt64, executor: any TaskExecutor, maximumSteps: Int, keepsTrace: Bool) {
    self.seed = seed
    self.maximumSteps = maximumSteps
    self.keepsTrace = keepsTrace
    draws = SeededDraws(seed: seed)
    let faults = SimulatedFaults.drawn(from: draws)
    self.faults = Mutex(faults)
    network = SimulatedNetwork(draws.split(), clock, faults)
    disk = SimulatedDisk(draws.split(), clock, faults)
    var configuration = ReactorConfiguration()
    configuration.clock = clock
    configuration.now = clock.wallClock
    configuration.taskExecutor = executor
    configuration.retry.seed = seed
    configuration.powerSaving = ScriptedPowerSaving()
    self.configuration = configuration
    note("\(faults)")
  }

  /// What goes wrong. Drawn from the seed, unless it is set.
  public var currentFaults: SimulatedFaults {
    get { faults.withLock(\.self) }
    set {
      faults.withLock { $0 = newValue }
      network.setFaults(newValue)
      disk.setFaults(newValue)
    }
  }

  /// The steps that were taken.
  public var steps: Int { state.withLock(\.steps) }

  /// A line of the log that a failure shows, with the time.
  public func note(_ line: @autoclosure () -> String) {
    guard keepsTrace else { return }
    let text = "\(clock.now.elapsed / .milliseconds(1)) ms  \(line())"
    // What comes after a violation is its end.
    state.withLock { if $0.violation == nil { $0.trace.append(text) } }
  }

  /// Ends the run as failed, unless `condition` holds. The first counts.
  public func check(_ condition: Bool, _ message: @autoclosure () -> String) {
    guard !condition else { return }
    let violation = Violation(description: message())
    note("violated: \(violation)")
    state.withLock { $0.violation = $0.violation ?? violation }
  }

  var violation: Violation? { state.withLock(\.violation) }
  var trace: [String] { state.withLock(\.trace) }

  /// - Returns: `false` once as many were taken as this run may.
  func takeStep() -> Bool {
    state.withLock { state in
      guard state.steps < maximumSteps, state.violation == nil else { return false }
      state.steps += 1
      return true
    }
  }
}

extension SimulatedWorld {
  /// Runs users at once, each taking steps as long as drawn, with a pause before each; meanwhile the network comes and goes.
  ///
  /// Returns when all have ended. A user ends early when a step throws `CancellationError`; another error is a violation.
  ///
  /// - Parameter steps: of each user.
  public func users(
    _ count: Int, steps: ClosedRange<Int>, pause: Duration = .seconds(2),
    _ step: @escaping @Sendable (SimulatedUser) async throws -> Void
  ) async {
    let users = (0..<count).map { SimulatedUser(number: $0, draws: draws.split()) }
    let (weather, hands) = (draws.split(), draws.split())
    await withTaskGroup(of: Bool.self) { group in
      group.addTask { await self.weather(weather) }
      group.addTask { await self.setClock(hands) }
      for user in users {
        group.addTask {
          await self.live(user, user.draws.number(in: steps), pause, step)
          return true
        }
      }
      var living = count
      while living > 0, let isUser = await group.next() { living -= isUser ? 1 : 0 }
      group.cancelAll()
    }
    setConnected(true)
  }

  private func live(
    _ user: SimulatedUser, _ steps: Int, _ pause: Duration, _ step: (SimulatedUser) async throws -> Void
  ) async {
    for _ in 0..<steps {
      do {
        try await clock.sleep(for: user.draws.duration(upTo: pause))
        guard takeStep() else { return }
        try await step(user)
      } catch is CancellationError {
        return
      } catch {
        check(false, "user \(user.number) got \(error)")
      }
    }
  }

  /// Outages, as the faults have them, until it is cancelled.
  private func weather(_ draws: SeededDraws) async -> Bool {
    while currentFaults.outage > 0, (try? await clock.sleep(for: .seconds(1))) != nil {
      guard draws.chance(currentFaults.outage) else { continue }
      setConnected(false)
      try? await clock.sleep(for: draws.duration(upTo: .seconds(20)))
      setConnected(true)
    }
    return false
  }

  /// Sets the wall clock, as the faults have it, until it is cancelled.
  private func setClock(_ draws: SeededDraws) async -> Bool {
    while currentFaults.clockChange > 0, (try? await clock.sleep(for: .seconds(1))) != nil {
      if draws.chance(currentFaults.clockChange) { setClock(draws, upTo: currentFaults.clockStep) }
    }
    return false
  }

  /// Sets the wall clock back or ahead, as drawn: between two processes too, whose user does so.
  public func setClock(_ draws: SeededDraws, upTo longest: Duration) {
    let step = draws.duration(upTo: longest)
    let isBack = draws.chance(0.5)
    note("the wall clock is set \(isBack ? "back" : "ahead") by \(step / .seconds(1)) s")
    guard isBack else { return clock.setWallClock(forward: step) }
    clock.setWallClock(back: step)
    state.withLock { $0.setBack += step }
  }

  /// By how much the wall clock was set back in all.
  public var setBack: Duration { state.withLock(\.setBack) }

  private func setConnected(_ isConnected: Bool) {
    guard network.isDown == isConnected else { return }
    note(isConnected ? "the network is back" : "the network is gone")
    network.isDown = !isConnected
    reachability.set(isConnected)
  }
}

/// One who takes steps, with draws of one's own.
public struct SimulatedUser: Sendable {
  public let number: Int
  public let draws: SeededDraws

  /// Runs `body`, and now and then cancels it after a while, as one who leaves does.
  ///
  /// - Returns: what it gives; `nil` where it was cancelled before its end, whatever it made of that.
  public func impatiently<Value: Sendable>(
    in world: SimulatedWorld, probability: Double = 0.2, after longest: Duration = .milliseconds(500),
    _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value? {
    guard draws.chance(probability) else { return try await body() }
    let patience = draws.duration(upTo: longest)
    return try await withThrowingTaskGroup(of: Value?.self) { group in
      group.addTask { try await body() }
      group.addTask {
        try? await world.clock.sleep(for: patience)
        return nil
      }
      defer { group.cancelAll() }
      return try await group.next() ?? nil
    }
  }
}
