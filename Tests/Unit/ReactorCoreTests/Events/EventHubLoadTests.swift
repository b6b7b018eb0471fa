import ReactorTesting
import Synchronization
import TestSupport
import Testing

@testable import ReactorCore

/// More happens than the observers can follow.
@Suite("A hub under load", .timeLimit(.minutes(5)))
struct EventHubLoadTests {
  private let executor = SteppedExecutor()
  private let hub: EventHub
  private let told = Told()

  init() { hub = EventHub(executor: executor) }

  /// During the observer's first call, others put down so many events.
  private func emitOne(while others: Int) -> ModelLayer.ObservationToken {
    let token = hub.observe { [hub, told] event in
      told.add(event)
      guard event.number == 1 else { return }
      for number in 0..<others { hub.append(numbered(2 + number)) }
    }
    hub.emit(numbered(1))
    return token
  }

  @Test func `a thread that delivers its own event delivers few of others, and a task continues`() {
    let token = emitOne(while: EventHub.bound + 1)
    #expect(told.numbers == [1])
    hub.emit(numbered(1_000))
    executor.run()
    #expect(told.numbers == Array(1...EventHub.bound + 2) + [1_000])
    #expect(executor.isIdle)
    hub.emit(numbered(7))
    #expect(told.numbers.last == 7)
    token.cancel()
  }

  @Test func `up to a limit, the emitting thread delivers the events of others`() {
    let token = emitOne(while: EventHub.bound)
    #expect(told.numbers == Array(1...EventHub.bound + 1))
    #expect(executor.isIdle)
    token.cancel()
  }

  @Test func `waiting events are bounded, and one event counts the lost ones`() {
    let token = emitOne(while: EventHub.capacity + 5)
    hub.emit(numbered(-1_000))
    executor.run()
    #expect(told.numbers == Array(1...EventHub.capacity + 1) + [-5, -1_000])
    token.cancel()
  }

  @Test func `a flush returns after the events that were queued before it, and does not wait for later ones`() async {
    let token = emitOne(while: EventHub.bound + 1)
    // It suspends while the hub's task has not run yet.
    let flushed = Task.immediate {
      await hub.flush()
      return told.count
    }
    hub.append(numbered(9_000))
    executor.run()
    #expect(await flushed.value >= EventHub.bound + 2)
    await hub.flush()
    #expect(told.numbers.last == 9_000)
    token.cancel()
    await hub.flush()
  }

  @Test func `a hit is not delayed by other callers' events`() async throws {
    var configuration = ReactorConfiguration()
    configuration.taskExecutor = executor
    configuration.keepUnusedFor = .never
    let reactor = Reactor(flow: ReactorFlow(configuration: configuration) { (resource: Resource) in resource.path })
    let task = Task(executorPreference: executor) { try await reactor.save("1", for: "a") }
    executor.run()
    try await task.value
    let engine = reactor.engine
    let token = reactor.observeEvents { [told] event in
      told.add(event)
      guard told.count == 1 else { return }
      for _ in 0..<1_000 { #expect(engine.hit("a", .cacheFirst) != nil) }
    }
    #expect(engine.hit("a", .cacheFirst) != nil)
    #expect(told.count == 1)
    executor.run()
    #expect(told.count == 1_001)
    token.cancel()
  }

  @Test func `a task that delivers events retains the hub until all are delivered`() {
    weak var weakHub: EventHub?
    do {
      let hub = EventHub(executor: executor)
      weakHub = hub
      let token = hub.observe { [weak hub, told] event in
        told.add(event)
        guard event.number == 1 else { return }
        for number in 2...100 { hub?.append(numbered(number)) }
      }
      hub.emit(numbered(1))
      withExtendedLifetime(token) { executor.run() }
    }
    #expect(told.numbers == Array(1...100))
    #expect(weakHub == nil)
  }

  /// Emitters, bursts and observers in any order, compared with what they should get: each event
  /// once and in order, or counted as lost; and no thread delivers more events of others than the
  /// bound.
  @Test(arguments: UInt64(1)...5) func `all events are delivered or counted, and no thread works for long`(
    seed: UInt64
  ) {
    var random = SplitMix64(seed: seed)
    var (last, delivered, burst) = (0, 0, 0)
    let pending = Mutex(0)
    let token = hub.observe { [hub, told] event in
      told.add(event)
      // Others put down what they have, while this one is told.
      for number in pending.withLock({ pending -> Range<Int> in
        defer { pending = 0 }
        return 0..<pending
      }) { hub.append(numbered(number + 1, of: 1)) }
    }
    for step in 1...60 {
      if Int.random(in: 0..<4, using: &random) == 0 { executor.run() }
      burst = [0, 0, 1, 10, 64, 65, 200, 20_000][Int.random(in: 0..<8, using: &random)]
      pending.withLock { $0 = burst }
      delivered = told.count
      last = step
      hub.emit(numbered(step))
      #expect(told.count - delivered <= 1 + EventHub.bound, "seed \(seed), step \(step)")
    }
    executor.run()
    let own = told.numbers(of: 0).filter { $0 > 0 }
    #expect(own == own.sorted() && Set(own).count == own.count)
    #expect(own.count == last || told.numbers.contains { $0 < 0 })
    #expect(executor.isIdle)
    token.cancel()
  }
}
