import HTTPTypes
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@testable import ReactorCore

@Suite(.timeLimit(.minutes(5))) struct `A key's gate` {
  private let gate = KeyedAsyncLock()
  private let key = RecordKey(method: .get, url: "https://api.example.com/notes")
  private let other = RecordKey(method: .get, url: "https://api.example.com/others")
  private let inside = Gate()
  private let order = Order()

  /// The order of the owners that were inside. A name is noted when its owner has entered.
  private final class Order: Sendable {
    private let names = Mutex<[String]>([])
    var noted: [String] { names.withLock { $0 } }
    func note(_ name: String) { names.withLock { $0.append(name) } }
  }

  /// Begins a visit that stays inside until ``inside`` lets it go.
  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  private func visit(_ key: RecordKey?, _ name: String) -> Task<Void, Never> {
    Task.immediate {
      do {
        try await gate.with(key) {
          order.note(name)
          await inside.waitIgnoringCancellation()
        }
      } catch {
        order.note("\(name): \(error is CancellationError ? "cancelled" : "\(error)")")
      }
    }
  }

  private func finish(_ tasks: Task<Void, Never>...) async {
    inside.open()
    for task in tasks { await task.value }
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `a key's gate lets one in at a time, in the order of arrival`() async throws {
    let tasks = ["a", "b", "c"].map { visit(key, $0) }
    for (index, expected) in [["a"], ["a", "b"], ["a", "b", "c"]].enumerated() {
      try await inside.waitForArrival(count: index + 1)
      #expect(order.noted == expected)
      #expect(inside.waitingCount == 1)
      inside.letOneThrough()
    }
    for task in tasks { await task.value }
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `a key's gate lets different keys in together`() async throws {
    let tasks = (visit(key, "a"), visit(other, "b"))
    try await inside.waitForArrival(count: 2)
    #expect(inside.waitingCount == 2)
    await finish(tasks.0, tasks.1)
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `the whole enters a gate when all keys have left, and later tasks wait`() async throws {
    let first = visit(key, "a")
    let second = visit(other, "b")
    let whole = visit(nil, "whole")
    let late = visit(RecordKey(method: .get, url: "https://api.example.com/late"), "late")
    #expect(order.noted == ["a", "b"])
    inside.letOneThrough()
    await first.value
    #expect(order.noted == ["a", "b"])
    inside.letOneThrough()
    try await inside.waitForArrival(count: 3)
    #expect(order.noted == ["a", "b", "whole"])
    inside.letOneThrough()
    try await inside.waitForArrival(count: 4)
    #expect(order.noted == ["a", "b", "whole", "late"])
    await finish(second, whole, late)
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `a key's gate lets one whole in at a time`() async throws {
    let tasks = (visit(nil, "a"), visit(nil, "b"))
    #expect(order.noted == ["a"])
    inside.letOneThrough()
    try await inside.waitForArrival(count: 2)
    #expect(order.noted == ["a", "b"])
    await finish(tasks.0, tasks.1)
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `the tasks that waited for the whole enter a gate together`() async throws {
    let whole = visit(nil, "whole")
    let tasks = (visit(key, "a"), visit(key, "b"), visit(other, "c"))
    inside.letOneThrough()
    try await inside.waitForArrival(count: 3)
    #expect(Set(order.noted) == ["whole", "a", "c"])
    await finish(whole, tasks.0, tasks.1, tasks.2)
    #expect(order.noted.last == "b")
  }

  @Test func `a task inside a gate does not wait for itself`() async throws {
    let result = try await gate.with(key) {
      try await gate.with(key) {
        try await gate.with(nil) { try await gate.with(other) { 42 } }
      }
    }
    #expect(result == 42)
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `a key's gate is another for each layer`() async throws {
    let another = KeyedAsyncLock()
    let task = visit(key, "a")
    #expect(try await another.with(key) { true })
    try await another.with(key) { #expect(order.noted == ["a"]) }
    await finish(task)
  }

  @Test func `the gate keeps a task outside that was spawned inside and is not awaited`() async throws {
    let executor = SteppedExecutor()
    let spawned = try await gate.with(key) {
      let task = spawn(on: executor) {
        try? await gate.with(key) { order.note("spawned") }
      }
      executor.run()
      order.note("left")
      return task
    }
    executor.run()
    await spawned.value
    #expect(order.noted == ["left", "spawned"])
  }

  @Test func `a key's gate passes on what is thrown, and opens`() async throws {
    await #expect(throws: NotEncoded.self) {
      try await gate.with(key) { throw NotEncoded(reason: "for the test") }
    }
    #expect(try await gate.with(key) { true })
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `a task that is cancelled while it waits leaves the lock, and the next enters`() async throws {
    let first = visit(key, "a")
    let second = visit(key, "b")
    let third = visit(key, "c")
    second.cancel()
    await second.value
    #expect(order.noted == ["a", "b: cancelled"])
    inside.letOneThrough()
    try await inside.waitForArrival(count: 2)
    #expect(order.noted == ["a", "b: cancelled", "c"])
    await finish(first, third)
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `the gate admits later waiters when a waiter for all keys is cancelled`() async throws {
    let first = visit(key, "a")
    let whole = visit(nil, "whole")
    let late = visit(other, "late")
    whole.cancel()
    try await inside.waitForArrival(count: 2)
    #expect(order.noted.sorted() == ["a", "late", "whole: cancelled"])
    await finish(first, whole, late)
  }
}

/// Work that an owner awaits from inside, in other tasks and for other keys.
@Suite(.timeLimit(.minutes(5))) struct `A key's gate, from inside` {
  private let gate = KeyedAsyncLock()
  private let key = RecordKey(method: .get, url: "https://api.example.com/notes")
  private let other = RecordKey(method: .get, url: "https://api.example.com/others")
  private let third = RecordKey(method: .get, url: "https://api.example.com/thirds")
  private let isInside = Gate()

  /// Begins a visit of `key` that stays inside until the gate opens.
  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  private func visit(_ key: RecordKey, for owner: LockOwner? = nil) -> Task<Void, any Error> {
    Task.immediate {
      try await LockOwner.$current.withValue(owner) {
        try await gate.with(key) { await isInside.waitIgnoringCancellation() }
      }
    }
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `a task inside for one key waits for the task inside for another`() async throws {
    let holder = visit(other)
    let nested = Task.immediate { try await gate.with(key) { try await gate.with(other) { isInside.isOpen } } }
    isInside.open()
    #expect(try await nested.value)
    try await holder.value
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `a task inside a gate that wants all keys waits for the others`() async throws {
    let holder = visit(other)
    let nested = Task.immediate { try await gate.with(key) { try await gate.with(nil) { isInside.isOpen } } }
    isInside.open()
    #expect(try await nested.value)
    try await holder.value
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `a task inside goes before one that waits for all keys`() async throws {
    let start = Gate()
    let nested = Task.immediate {
      try await gate.with(key) {
        try await start.wait()
        return try await gate.with(other) { true }
      }
    }
    let whole = Task.immediate { try await gate.with(nil) {} }
    let behind = Task.immediate { try await gate.with(third) {} }
    start.open()
    #expect(try await nested.value)
    try await whole.value
    try await behind.value
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `a gate admits a task that works for the task inside, and no other`() async throws {
    let passed = try await gate.with(key) {
      let owner = LockOwner.awaited()
      let stranger = Task.immediate {
        try await LockOwner.$current.withValue(nil) { try await gate.with(key) { true } }
      }
      let passed = try await Task {
        try await LockOwner.$current.withValue(owner) { try await gate.with(key) { true } }
      }.value
      stranger.cancel()
      await #expect(throws: CancellationError.self) { try await stranger.value }
      return passed
    }
    #expect(passed)
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `a gate admits work that had queued before a task inside awaited it`() async throws {
    let owner = LockOwner()
    try await gate.with(key) {
      let work = visit(key, for: owner)
      #expect(isInside.arrivalCount == 0)
      if let wait = LockOwner.wait() { KeyedAsyncLock.add(wait, to: owner) }
      try await isInside.waitForArrival()
      isInside.open()
      try await work.value
    }
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `the gate blocks work again once no holder awaits it`() async throws {
    let owner = LockOwner()
    let work = try await gate.with(key) {
      let wait = LockOwner.wait()
      if let wait { KeyedAsyncLock.add(wait, to: owner) }
      wait?.end()
      let work = visit(key, for: owner)
      #expect(isInside.arrivalCount == 0)
      return work
    }
    isInside.open()
    try await work.value
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test(arguments: [true, false])
  func `a gate admits work that a task inside awaited and gave up`(
    wantsAll: Bool
  ) async throws {
    let owner = LockOwner()
    let holder = visit(other)
    let work = try await gate.with(key) {
      let wait = LockOwner.wait()
      if let wait { KeyedAsyncLock.add(wait, to: owner) }
      let work = Task.immediate {
        try await LockOwner.$current.withValue(owner) {
          try await gate.with(wantsAll ? nil : other) { isInside.isOpen }
        }
      }
      wait?.end()
      return work
    }
    let behind = Task.immediate { try await gate.with(other) { isInside.isOpen } }
    isInside.open()
    try await holder.value
    #expect(try await work.value)
    #expect(try await behind.value)
  }

  @Test func `a key's gate, from inside, fails the wait that would close a circle, and names the keys`() async throws {
    let executor = SteppedExecutor()
    let starts = (Gate(), Gate())
    let first = nested(key, other, at: starts.0, on: executor)
    let second = nested(other, key, at: starts.1, on: executor)
    executor.run()
    starts.0.open()
    executor.run()
    starts.1.open()
    executor.run()
    let error = await #expect(throws: ReactorError.self) { try await second.value }
    guard case .deadlock(let keys) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(Set(keys) == [key, other])
    try await first.value
  }

  @Test func `a key's gate, from inside, fails a circle through two gates`() async throws {
    let executor = SteppedExecutor()
    let another = KeyedAsyncLock()
    let starts = (Gate(), Gate())
    let first = nested(key, key, at: starts.0, on: executor, inside: another)
    let second = Task(executorPreference: executor) {
      try await another.with(key) {
        try await starts.1.wait()
        try await gate.with(key) {}
      }
    }
    executor.run()
    starts.0.open()
    executor.run()
    starts.1.open()
    executor.run()
    await #expect(throws: ReactorError.self) { try await second.value }
    try await first.value
  }

  /// Begins a task that is inside for `outer` and, once `start` is open, wants to be inside for
  /// `inner` too.
  private func nested(
    _ outer: RecordKey, _ inner: RecordKey, at start: Gate, on executor: SteppedExecutor,
    inside innerGate: KeyedAsyncLock? = nil
  ) -> Task<Void, any Error> {
    Task(executorPreference: executor) {
      try await gate.with(outer) {
        try await start.wait()
        try await (innerGate ?? gate).with(inner) {}
      }
    }
  }
}
