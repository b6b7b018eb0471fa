import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@testable import ReactorOperators

@Suite("Operators: switching what depends on a value", .timeLimit(.minutes(5)))
struct DependentStatesRaceTests {
  @Test func `a late state of the old sequence is dropped at the switch, and the new sequence waits for its end`()
    async throws
  {
    let gate = Gate()
    let outer = ScriptedStates<Int>()
    let inner = [ScriptedStates<String>("0", late: (gate, .loaded("late", 9))), ScriptedStates<String>("1")]
    var states = outer.dependentStates { inner[$0] }.makeAsyncIterator()
    outer.send(.loaded(0, 1))
    try await inner[0].begun().wait()
    inner[0].send(.loaded("old", 1))
    var seen = [await states.first { $0.value != nil }]
    outer.send(.loaded(1, 2))
    // It was cancelled, and holds a state in its hand.
    try await gate.waitForArrival()
    seen.append(await states.next(isolation: nil))
    #expect(inner[1].count == 0)
    gate.open()
    try await inner[1].begun().wait()
    #expect(inner[0].openCount == 0)
    inner[1].send(.loaded("new", 1))
    seen.append(await states.next(isolation: nil))
    #expect(seen.map { $0?.value } == ["old", nil, "new"])
    #expect(seen[1]?.fetchStatus == .fetching)
    let revisions = seen.compactMap { $0?.revision }
    #expect(revisions == Array(Set(revisions)).sorted())
    #expect(Set(seen.map { $0?.valueRevision }).count == 3)
  }

  @Test func `a state that its task hands in after the switch is dropped, before and after the new one has begun`()
    throws
  {
    var machine = DependentSwitch<String, Int>()
    guard case .begin("old", let old)? = machine.begin("old").first,
      case .cancel? = machine.begin("new").first
    else { return #expect(Bool(false), "the old one is not cancelled") }
    #expect(machine.receive(.loaded(1, 1), from: old).isEmpty)
    guard case .yield(let switched) = machine.next() else { return #expect(Bool(false), "nothing to give") }
    #expect(switched.value == nil && switched.fetchStatus == .fetching)
    guard case .begin("new", let new)? = machine.endInner().first else {
      return #expect(Bool(false), "the new one does not begin")
    }
    #expect(machine.receive(.loaded(1, 2), from: old).isEmpty)
    guard case .wait = machine.next() else { return #expect(Bool(false), "there is something to give") }
    _ = machine.receive(.loaded(2, 1), from: new)
    guard case .yield(let state) = machine.next() else { return #expect(Bool(false), "nothing to give") }
    #expect(state.value == 2 && state.revision > switched.revision)
  }

  @Test func `an endless sequence that ignores cancellation is left all the same`() async throws {
    let outer = ScriptedStates<Int>()
    let inner = [ScriptedStates<String>("0", endless: .loaded("old", 1)), ScriptedStates<String>("1")]
    var states = outer.dependentStates { inner[$0] }.makeAsyncIterator()
    outer.send(.loaded(0, 1))
    #expect(await states.first { $0.value != nil }?.value == "old")
    outer.send(.loaded(1, 2))
    try await inner[1].begun().wait()
    #expect(await states.first { $0.value != "old" }?.fetchStatus == .fetching)
    inner[1].send(.loaded("new", 1))
    #expect(await states.first { $0.value != nil }?.value == "new")
  }

  @Test func `a reader that was woken for the old one's state gets none of it after the switch`() async throws {
    let executor = HeldExecutor()
    let outer = ScriptedStates<Int>()
    let inner = [ScriptedStates<String>("0"), ScriptedStates<String>("1")]
    let sequence = outer.dependentStates { inner[$0] }
    let seen = Shared<[String?]>([])
    let reader = Task(executorPreference: executor) {
      for await state in sequence { seen.change { $0.append(state.value) } }
    }
    executor.run()
    outer.send(.loaded(0, 1))
    try await inner[0].begun().wait()
    try await executor.hasWork()
    executor.run()
    #expect(seen.value == [nil])
    inner[0].send(.loaded("old", 1))
    try await executor.hasWork()
    // The reader is to run for the old one's state. Before it does, the outer value is another.
    outer.send(.loaded(1, 2))
    try await inner[1].begun().wait()
    executor.run()
    #expect(seen.value == [nil, nil])
    inner[1].send(.loaded("new", 1))
    try await executor.hasWork()
    executor.run()
    #expect(seen.value == [nil, nil, "new"])
    reader.cancel()
    try await executor.hasWork()
    executor.run()
    await reader.value
  }

  @Test func `a value that flickers ends on what depends on the last`() async throws {
    let gate = Gate()
    let outer = ScriptedStates<Int>()
    let inner = [ScriptedStates<String>("0", late: (gate, .loaded("late", 9))), ScriptedStates<String>("1")]
    let numbers = Shared<[Int]>([])
    var states = outer.dependentStates { number in
      numbers.change { $0.append(number) }
      return inner[number]
    }.makeAsyncIterator()
    outer.send(.loaded(0, 1))
    try await inner[0].begun().wait()
    outer.send(.loaded(1, 2), .loaded(0, 3))
    try await gate.waitForArrival()
    gate.open()
    try await inner[0].begun(2).wait()
    inner[0].send(.loaded("again", 1))
    #expect(await states.first { $0.value != nil }?.value == "again")
    #expect(numbers.value == [0, 1, 0])
    #expect(inner[0].mostOpen == 1)
  }

  @Test func `a slow reader gets the latest state only, and revisions go up`() async throws {
    let (outer, inner) = (ScriptedStates<Int>(), ScriptedStates<Int>())
    let made = Shared(0)
    let done = Latch()
    var states = outer.dependentStates { number in
      made.change { $0 += 1 }
      if number == 2 { done.open() }
      return inner
    }.makeAsyncIterator()
    outer.send(.loaded(1, 1))
    try await inner.begun().wait()
    let first = await states.next(isolation: nil)
    for number in 1...100 { inner.send(.loaded(number, UInt64(number))) }
    inner.send(LoadState(value: 100, fetchStatus: .fetching, revision: 101, valueRevision: 100))
    inner.finish()
    try await inner.over().wait()
    let last = await states.next(isolation: nil)
    #expect(last?.value == 100 && last?.fetchStatus == .fetching)
    #expect(try #require(last?.revision) > #require(first?.revision))
    #expect(try #require(last?.valueRevision) > #require(first?.valueRevision))
    outer.send(LoadState(value: 1, error: .timedOut, revision: 2, valueRevision: 1), .loaded(2, 3))
    try await done.wait()
    #expect(made.value == 2)
  }

  @Test func `while the outer value is away what depends on it continues, and is shown again with it`() async throws {
    let (outer, inner) = (ScriptedStates<Int>(), ScriptedStates<String>())
    var states = outer.dependentStates { _ in inner }.makeAsyncIterator()
    outer.send(.loaded(1, 1))
    try await inner.begun().wait()
    inner.send(.loaded("a", 1))
    let before = await states.first { $0.value != nil }
    outer.send(LoadState(fetchStatus: .paused, revision: 2, valueRevision: 1))
    let away = await states.next(isolation: nil)
    #expect(away?.value == nil && away?.fetchStatus == .paused)
    outer.send(.loaded(1, 3))
    let after = await states.next(isolation: nil)
    #expect(after?.value == "a" && after?.valueRevision == before?.valueRevision)
    #expect(inner.count == 1 && inner.openCount == 1)
  }

  @Test func `the outer sequence is subscribed to when the iterator is made`() async throws {
    let outer = ScriptedStates<Int>()
    let sequence = outer.dependentStates { ScriptedStates<Int>("\($0)") }
    #expect(outer.openCount == 0)
    var states: Optional = sequence.makeAsyncIterator()
    #expect(outer.openCount == 1)
    outer.send(LoadState(fetchStatus: .fetching))
    #expect(await states?.next(isolation: nil)?.fetchStatus == .fetching)
    states = nil
    try await outer.over().wait()
  }

  @Test func `a thousand quick switches leave one subscription and one request`() async throws {
    let hold = Gate()
    let exits = Gate(isOpen: true)
    let entries = Shared(0)
    let last = Latch()
    let transport = ScriptedTransport { request, _ in
      entries.change { $0 += 1 }
      if request.path == "/v1/notes/1000" { last.open() }
      do { try await hold.wait() } catch {
        await exits.waitIgnoringCancellation()
        throw error
      }
      return .json(Note(1000, "last").json)
    }
    let bench = Bench(transport: transport)
    let outer = ScriptedStates<Int>()
    let made = Shared(0)
    let open = Shared((now: 0, most: 0))
    var states: Optional = outer.dependentStates { [notes = bench.notes] number in
      made.change { $0 += 1 }
      return Counted(base: notes.states(for: Resource("notes/\(number)")), open: open)
    }.makeAsyncIterator()
    for number in 1...1000 { outer.send(.loaded(number, UInt64(number))) }
    try await last.wait()
    #expect(made.value == 1000)
    #expect(open.value == (1, 1))
    let requests = entries.value
    try await exits.waitForArrival(count: requests - 1)
    #expect(bench.reachability.openStreams == 1)
    hold.open()
    #expect(await states?.first { $0.value != nil }?.value?.text == "last")
    #expect(bench.transport.inFlight == 0)
    states = nil
    try await outer.over().wait()
  }
}

/// Counts the open iterations.
private struct Counted: AsyncSequence, Sendable, Equatable {
  typealias Element = LoadState<Note>
  typealias Failure = Never

  let base: LoadStates<Note>
  let open: Shared<(now: Int, most: Int)>

  static func == (a: Counted, b: Counted) -> Bool { a.base == b.base }

  func makeAsyncIterator() -> Iterator {
    open.change { open in
      open.now += 1
      open.most = Swift.max(open.most, open.now)
    }
    return Iterator(base: base.makeAsyncIterator(), token: Token { [open] in open.change { $0.now -= 1 } })
  }

  struct Iterator: AsyncIteratorProtocol {
    var base: LoadStates<Note>.Iterator
    let token: Token

    mutating func next(isolation actor: isolated (any Actor)?) async -> LoadState<Note>? {
      await base.next(isolation: actor)
    }
  }
}

/// Runs what it is given when the test says so.
private final class HeldExecutor: TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])
  private let arrivals = Mutex<Latch>(Latch())

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
    arrivals.withLock(\.self).open()
  }

  /// Returns once there is something to run.
  func hasWork() async throws { try await arrivals.withLock(\.self).wait() }

  /// Runs what there is, up to where it waits.
  func run() {
    arrivals.withLock { $0 = Latch() }
    while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
