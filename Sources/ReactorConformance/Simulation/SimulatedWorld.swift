public import ReactorCore
public import ReactorTesting
import Synchronization

/// The world of one seed: a clock that advances when nothing else can run, a network, a disk, and
/// users with random actions.
public final class SimulatedWorld: Sendable {
  /// A violated promise, with its message.
  public struct Violation: Error, CustomStringConvertible {
    /// The message of ``SimulatedWorld/check(_:_:)``.
    public let description: String
  }

  private struct State {
    var steps = 0
    var trace: [String] = []
    var violation: Violation?
    var setBack = Duration.zero
  }

  /// The seed of this run.
  public let seed: UInt64
  /// The clock of the world. It advances when nothing else can run.
  public let clock = TestClock()
  /// The random choices for the body of the simulation.
  public let draws: SeededDraws
  /// The network of the world, which is the transport of its layers.
  public let network: SimulatedNetwork
  /// The disk of the world, which survives ``SimulatedDisk/crash()``.
  public let disk: SimulatedDisk
  /// The connectivity of the world. It follows the outages during ``users(_:steps:pause:_:)``.
  public let reachability = ScriptedReachability(true)
  /// A configuration with this world's clock and executor, and a seed for its retries.
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
    configuration.lowPower.source = ScriptedPowerSaving()
    self.configuration = configuration
    note("\(faults)")
  }

  /// The faults of the network and the disk. Drawn from the seed, unless the body sets them.
  public var currentFaults: SimulatedFaults {
    get { faults.withLock(\.self) }
    set {
      faults.withLock { $0 = newValue }
      network.setFaults(newValue)
      disk.setFaults(newValue)
    }
  }

  /// The number of steps that all users have taken.
  public var steps: Int { state.withLock(\.steps) }

  /// Appends a line with the time to the log that a failure shows.
  public func note(_ line: @autoclosure () -> String) {
    guard keepsTrace else { return }
    let text = "\(clock.now.elapsed / .milliseconds(1)) ms  \(line())"
    // Lines after a violation belong to the shutdown.
    state.withLock { if $0.violation == nil { $0.trace.append(text) } }
  }

  /// Fails the run unless `condition` holds. The first violation is reported.
  ///
  /// ```swift
  /// world.check(balance >= 0, "the balance is \(balance)")
  /// ```
  public func check(_ condition: Bool, _ message: @autoclosure () -> String) {
    guard !condition else { return }
    let violation = Violation(description: message())
    note("violated: \(violation)")
    state.withLock { $0.violation = $0.violation ?? violation }
  }

  var violation: Violation? { state.withLock(\.violation) }
  var trace: [String] { state.withLock(\.trace) }

  /// Counts a step.
  ///
  /// - Returns: `false` once the run has used up its steps, or was violated.
  func takeStep() -> Bool {
    state.withLock { state in
      guard state.steps < maximumSteps, state.violation == nil else { return false }
      state.steps += 1
      return true
    }
  }
}

extension SimulatedWorld {
  /// Runs users concurrently. Each takes a random number of steps, with a random pause before each.
  /// Meanwhile the network goes down and up, and the wall clock is set, according to the faults.
  ///
  /// ```swift
  /// await world.users(4, steps: 1...8) { user in
  ///   _ = try await user.impatiently(in: world) { try await stories.fetch("stories") }
  /// }
  /// ```
  ///
  /// Returns when all users have ended. A user ends early when a step throws `CancellationError`.
  /// Any other error is a violation.
  ///
  /// - Parameters:
  ///   - count: The number of users.
  ///   - steps: The range of the number of steps of each user.
  ///   - pause: The maximum pause before a step.
  ///   - step: One step of a user.
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

  /// Simulates outages, as the faults decide, until it is cancelled.
  private func weather(_ draws: SeededDraws) async -> Bool {
    while currentFaults.outage > 0, (try? await clock.sleep(for: .seconds(1))) != nil {
      guard draws.chance(currentFaults.outage) else { continue }
      setConnected(false)
      try? await clock.sleep(for: draws.duration(upTo: .seconds(20)))
      setConnected(true)
    }
    return false
  }

  /// Sets the wall clock, as the faults decide, until it is cancelled.
  private func setClock(_ draws: SeededDraws) async -> Bool {
    while currentFaults.clockChange > 0, (try? await clock.sleep(for: .seconds(1))) != nil {
      if draws.chance(currentFaults.clockChange) { setClock(draws, upTo: currentFaults.clockStep) }
    }
    return false
  }

  /// Sets the wall clock back or ahead by a random duration of at most `longest`. Call it to change
  /// the clock between two processes.
  public func setClock(_ draws: SeededDraws, upTo longest: Duration) {
    let step = draws.duration(upTo: longest)
    let isBack = draws.chance(0.5)
    note("the wall clock is set \(isBack ? "back" : "ahead") by \(step / .seconds(1)) s")
    guard isBack else { return clock.setWallClock(forward: step) }
    clock.setWallClock(back: step)
    state.withLock { $0.setBack += step }
  }

  /// The total by which the wall clock was set back.
  public var setBack: Duration { state.withLock(\.setBack) }

  private func setConnected(_ isConnected: Bool) {
    guard network.isDown == isConnected else { return }
    note(isConnected ? "the network is back" : "the network is gone")
    network.isDown = !isConnected
    reachability.set(isConnected)
  }
}

/// A user who takes steps, with its own random choices.
public struct SimulatedUser: Sendable {
  /// The number of the user, from zero.
  public let number: Int
  /// The random choices of this user.
  public let draws: SeededDraws

  package init(number: Int, draws: SeededDraws) {
    self.number = number
    self.draws = draws
  }

  /// Runs `body`, and sometimes cancels it after a while, like a user who leaves a screen.
  ///
  /// - Parameters:
  ///   - world: The world whose clock measures the time.
  ///   - probability: The probability that `body` gets a time limit. Default: 0.2.
  ///   - longest: The maximum time limit. Default: 500 ms.
  ///   - body: The work of the user.
  /// - Returns: The result of `body`, or `nil` if `body` was cancelled first, even if it then
  ///   returns a result.
  /// - Throws: The error of `body`, unless `body` was cancelled first.
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
