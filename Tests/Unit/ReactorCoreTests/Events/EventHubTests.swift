import HTTPTypes
import ReactorTesting
import Synchronization
import Testing

@testable import ReactorCore

/// An event that can be told from others by its number.
func numbered(_ number: Int, of emitter: Int = 0) -> ReactorEvent {
  ReactorEvent(
    key: RecordKey(method: .get, url: "https://api.example.com/\(emitter)"), model: "Note",
    kind: .saved(bytes: number))
}

/// The events that an observer got, as numbers.
final class Told: Sendable {
  private let events = Mutex<[ReactorEvent]>([])
  private let arrivals = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

  func add(_ event: ReactorEvent) {
    events.withLock { $0.append(event) }
    arrivals.continuation.yield()
  }

  var count: Int { events.withLock(\.count) }

  /// Returns once there are so many.
  func wait(for count: Int) async {
    for await _ in arrivals.stream where self.count >= count { return }
  }

  var numbers: [Int] { events.withLock { $0 }.map(\.number) }

  func numbers(of emitter: Int) -> [Int] {
    events.withLock { $0 }.filter { $0.key.url.hasSuffix("/\(emitter)") }.map(\.number)
  }
}

extension ReactorEvent {
  /// The number from ``numbered(_:of:)``; a count of lost events is negative.
  var number: Int {
    switch kind {
    case .saved(let bytes): bytes
    case .dropped(let count): -count
    default: 0
    }
  }
}

extension EventHub {
  func emit(_ event: @autoclosure () -> ReactorEvent) {
    append(event())
    deliver()
  }
}

@Suite(.timeLimit(.minutes(5))) struct `A hub of events` {
  private let hub = EventHub()
  private let told = Told()

  private func observe() -> ModelLayer.ObservationToken { hub.observe { [told] in told.add($0) } }

  @Test func `a hub delivers each event to each observer, in order`() {
    let other = Told()
    let tokens = [observe(), hub.observe { other.add($0) }]
    for number in 1...100 { hub.emit(numbered(number)) }
    #expect(told.numbers == Array(1...100))
    #expect(other.numbers == Array(1...100))
    for token in tokens { token.cancel() }
  }

  @Test func `a hub of events loses nothing and keeps each emitter's order, with eight at once`() async {
    let isInside = Mutex(false)
    let overlaps = Mutex(0)
    // Before the other, so that it has seen an event when that has.
    let guardian = hub.observe { _ in
      let wasInside = isInside.withLock { isInside in
        defer { isInside = true }
        return isInside
      }
      if wasInside { overlaps.withLock { $0 += 1 } }
      isInside.withLock { $0 = false }
    }
    let token = observe()
    await withTaskGroup { group in
      for emitter in 0..<8 {
        group.addTask { [hub] in
          for number in 1...500 { hub.emit(numbered(number, of: emitter)) }
        }
      }
    }
    await told.wait(for: 4_000)
    for emitter in 0..<8 { #expect(told.numbers(of: emitter) == Array(1...500)) }
    #expect(told.numbers.count == 4_000)
    #expect(overlaps.withLock { $0 } == 0)
    token.cancel()
    guardian.cancel()
  }

  @Test func `an observer gets the events that it causes after the current one`() {
    let nested = hub.observe { [hub, told] event in
      if event.number < 3 {
        hub.emit(numbered(event.number + 1))
        told.add(numbered(event.number * 10))
      }
    }
    let token = observe()
    hub.emit(numbered(1))
    #expect(told.numbers == [10, 1, 20, 2, 3])
    nested.cancel()
    token.cancel()
  }

  @Test func `a hub without observers creates no event`() {
    var made = 0
    func make() -> ReactorEvent {
      made += 1
      return numbered(made)
    }
    hub.emit(make())
    #expect(made == 0)
    let token = observe()
    hub.emit(make())
    #expect(made == 1)
    token.cancel()
    hub.emit(make())
    #expect(made == 1)
    #expect(told.numbers == [1])
  }

  @Test func `a new observer gets no earlier events`() {
    let first = observe()
    hub.append(numbered(1))
    first.cancel()
    let second = observe()
    hub.emit(numbered(2))
    #expect(told.numbers == [2])
    second.cancel()
  }

  /// The making of an event is somebody's code, and the last observer may leave meanwhile.
  @Test func `a hub of events keeps no event for a later observer, where the last leaves while it is made`() {
    let first = observe()
    hub.append(
      {
        first.cancel()
        return numbered(1)
      }())
    let second = observe()
    hub.emit(numbered(2))
    #expect(told.numbers == [2])
    second.cancel()
  }
}

@Suite(.timeLimit(.minutes(5))) struct `A token of an observation` {
  private let hub = EventHub()
  private let told = Told()

  @Test func `a token of an observation ends it when it is cancelled, and the others continue`() {
    let cancelled = hub.observe { [told] in told.add(numbered($0.number * 10)) }
    let other = hub.observe { [told] in told.add($0) }
    hub.emit(numbered(1))
    cancelled.cancel()
    cancelled.cancel()
    hub.emit(numbered(2))
    #expect(told.numbers == [10, 1, 2])
    #expect(hub.hasObservers)
    other.cancel()
    #expect(!hub.hasObservers)
  }

  @Test func `a token of an observation ends it when it is released`() {
    var token: ModelLayer.ObservationToken? = hub.observe { [told] in told.add($0) }
    hub.emit(numbered(1))
    #expect(token != nil)
    token = nil
    hub.emit(numbered(2))
    #expect(told.numbers == [1])
    #expect(!hub.hasObservers)
  }

  @Test func `an observer that cancels its own token is not called again`() {
    let token = Mutex<ModelLayer.ObservationToken?>(nil)
    let observation = hub.observe { [told] event in
      told.add(event)
      token.withLock { $0 }?.cancel()
    }
    token.withLock { $0 = observation }
    for number in 1...3 { hub.append(numbered(number)) }
    hub.deliver()
    #expect(told.numbers == [1])
    token.withLock { $0 = nil }
  }

  @Test func `a cancelled token releases its observer, even if that ends another observation`() {
    /// Cancels when it goes away, as an object that owns a token does.
    final class Owner: Sendable {
      let token: ModelLayer.ObservationToken
      init(_ token: ModelLayer.ObservationToken) { self.token = token }
      deinit { token.cancel() }
    }
    /// Its observer is all that holds the owner.
    func observeWithOwner() -> ModelLayer.ObservationToken {
      let owner = Owner(hub.observe { [told] in told.add($0) })
      return hub.observe { _ in _ = owner }
    }
    observeWithOwner().cancel()
    hub.emit(numbered(1))
    #expect(told.numbers == [])
    #expect(!hub.hasObservers)
  }

  @Test func `a token of an observation outlives its hub`() {
    var hub: EventHub? = EventHub()
    let token = hub?.observe { _ in }
    hub = nil
    token?.cancel()
    #expect(hub == nil)
  }

  @Test func `an event with an earlier turn is delivered before later ones, whichever thread delivers`() throws {
    let token = hub.observe { [told] in told.add($0) }
    let turn = try #require(hub.beginTurn(orEnqueue: numbered(1)))
    hub.emit(numbered(2))
    #expect(told.numbers == [])
    hub.deliver(numbered(1), in: turn)
    #expect(told.numbers == [1, 2])
    token.cancel()
  }

  @Test func `an event that finds others waiting waits behind them`() {
    let token = hub.observe { [told] in told.add($0) }
    hub.append(numbered(3))
    #expect(hub.beginTurn(orEnqueue: numbered(4)) == nil)
    hub.deliver()
    #expect(told.numbers == [3, 4])
    token.cancel()
  }

  @Test func `an event that comes while another is delivered waits behind it`() throws {
    let token = hub.observe { [hub, told] event in
      told.add(event)
      if told.numbers == [1] { #expect(hub.beginTurn(orEnqueue: numbered(2)) == nil) }
    }
    let turn = try #require(hub.beginTurn(orEnqueue: numbered(1)))
    hub.deliver(numbered(1), in: turn)
    #expect(told.numbers == [1, 2])
    token.cancel()
  }

  @Test func `without observers, no turn is taken and no event is created`() {
    hub.observe { _ in }.cancel()
    var wasMade = false
    func made() -> ReactorEvent {
      wasMade = true
      return numbered(1)
    }
    #expect(hub.beginTurn(orEnqueue: made()) == nil)
    #expect(!wasMade)
  }

  @Test func `a token that its observer retains releases everything with the hub`() {
    final class Owner: Sendable { let token = Mutex<ModelLayer.ObservationToken?>(nil) }
    weak var owner: Owner?
    do {
      let hub = EventHub()
      let observing = Owner()
      observing.token.withLock { $0 = hub.observe { _ in _ = observing } }
      owner = observing
      #expect(owner != nil)
    }
    #expect(owner == nil)
  }
}
