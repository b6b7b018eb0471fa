import HTTPTypes
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@testable import ReactorCore

@Suite(.timeLimit(.minutes(1))) struct `A key's gate` {
  private let gate = KeyGate()
  private let key = RecordKey(method: .get, url: "https://api.example.com/notes")
  private let other = RecordKey(method: .get, url: "https://api.example.com/others")
  private let inside = Gate()
  private let order = Order()

  /// Who was inside, in order. A name is noted when its owner has come in.
  private final class Order: Sendable {
    private let names = Mutex<[String]>([])
    var noted: [String] { names.withLock { $0 } }
    func note(_ name: String) { names.withLock { $0.append(name) } }
  }

  /// Begins a visit that stays inside until ``inside`` lets it go.
  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  private func visit(_ key: RecordKey?, _ name: String) -> Task<Void, Never> {
    Task.immediate {
      await gate.with(key) {
        order.note(name)
        await inside.waitIgnoringCancellation()
      }
    }
  }

  private func finish(_ tasks: Task<Void, Never>...) async {
    inside.open()
    for task in tasks { await task.value }
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `lets one in at a time, in the order of arrival`() async throws {
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
  @Test func `lets different keys in together`() async throws {
    let tasks = (visit(key, "a"), visit(other, "b"))
    try await inside.waitForArrival(count: 2)
    #expect(inside.waitingCount == 2)
    await finish(tasks.0, tasks.1)
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `lets the whole in when all keys have left, and holds back who comes after`() async throws {
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
  @Test func `lets one whole in at a time`() async throws {
    let tasks = (visit(nil, "a"), visit(nil, "b"))
    #expect(order.noted == ["a"])
    inside.letOneThrough()
    try await inside.waitForArrival(count: 2)
    #expect(order.noted == ["a", "b"])
    await finish(tasks.0, tasks.1)
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `lets those in together who waited for the whole`() async throws {
    let whole = visit(nil, "whole")
    let tasks = (visit(key, "a"), visit(key, "b"), visit(other, "c"))
    inside.letOneThrough()
    try await inside.waitForArrival(count: 3)
    #expect(Set(order.noted) == ["whole", "a", "c"])
    await finish(whole, tasks.0, tasks.1, tasks.2)
    #expect(order.noted.last == "b")
  }

  @Test func `does not make who is inside wait for itself`() async {
    let result = await gate.with(key) {
      await gate.with(key) {
        await gate.with(nil) { await gate.with(other) { 42 } }
      }
    }
    #expect(result == 42)
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `is another for each layer`() async throws {
    let another = KeyGate()
    let task = visit(key, "a")
    #expect(await another.with(key) { true })
    await another.with(key) { #expect(order.noted == ["a"]) }
    await finish(task)
  }

  @Test func `keeps a task outside that was spawned inside`() async {
    let executor = SteppedExecutor()
    let spawned = await gate.with(key) {
      let task = spawn(on: executor) {
        await gate.with(key) { order.note("spawned") }
      }
      executor.run()
      order.note("left")
      return task
    }
    executor.run()
    await spawned.value
    #expect(order.noted == ["left", "spawned"])
  }

  @Test func `passes on what is thrown, with its type, and opens`() async {
    do throws(ReactorError) {
      _ = try await gate.with(key) { () async throws(ReactorError) -> Int in throw .notCached }
      Issue.record("nothing was thrown")
    } catch {
      #expect("\(error)" == "not cached")
    }
    #expect(await gate.with(key) { true })
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func `is not left early by a task that is cancelled while it waits`() async throws {
    let first = visit(key, "a")
    let second = visit(key, "b")
    second.cancel()
    #expect(order.noted == ["a"])
    inside.letOneThrough()
    try await inside.waitForArrival(count: 2)
    #expect(order.noted == ["a", "b"])
    await finish(first, second)
  }
}
