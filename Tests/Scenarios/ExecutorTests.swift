import Dispatch
import Foundation
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

/// The executor of each step: a memory hit stays with its caller, disk and parsing never do.
@Suite("Executors", .timeLimit(.minutes(5)))
struct ExecutorTests {
  @Test func `a memory hit enqueues no job: it returns on the caller's own executor`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    let notes = bench.notes
    _ = try await notes.fetch("note")
    let executor = CountingExecutor()
    let jobs = await Task(executorPreference: executor) {
      let before = executor.jobs
      for policy in [FetchPolicy.cacheFirst, .cacheOnly, .staleWhileRevalidate] {
        for _ in 0..<100 { _ = try? await notes.fetch("note", policy: policy) }
      }
      return executor.jobs - before
    }.value
    #expect(jobs == 0)
    #expect(bench.log.count(.memoryHit) == 300)
  }

  @Test @MainActor func `a memory hit lets nothing else run on the main actor in between`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    _ = try await bench.notes.fetch("note")
    var hasOtherRun = false
    let other = Task { @MainActor in hasOtherRun = true }
    _ = try await bench.notes.fetch("note")
    #expect(!hasOtherRun)
    await other.value
    #expect(hasOtherRun)
  }

  @Test func `persistence, parsing and encoding never run on the caller's actor`() async throws {
    let seen = Mutex<[String: Bool]>([:])
    let note: @Sendable (String) -> Void = { name in
      seen.withLock { $0[name] = DispatchQueue.getSpecific(key: QueueActor.mark) != nil }
    }
    let parser = Parser<Note>(
      parse: { data in
        note("parse")
        return Parsed(try JSONDecoder().decode(Note.self, from: data))
      },
      encode: { value in
        note("encode")
        return try JSONEncoder().encode(value)
      })
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    var flow = bench.layer.flow(Note.self, parser: parser)
    let (load, save, remove) = (flow.loadFromPersistence, flow.saveToPersistence, flow.removeFromPersistence)
    flow.loadFromPersistence = {
      note("load")
      return try await load($0)
    }
    flow.saveToPersistence = {
      note("save")
      try await save($0, $1)
    }
    flow.removeFromPersistence = {
      note("remove")
      try await remove($0)
    }
    let reactor = Reactor(flow: flow)
    let caller = QueueActor()
    try await caller.run {
      note("caller")
      _ = try await reactor.fetch("note")
      try await reactor.save(Note(1, "two"), for: "note")
      await reactor.invalidate("note")
      try await reactor.remove("note")
      note("caller again")
    }
    #expect(
      seen.withLock(\.self) == [
        "caller": true, "load": false, "parse": false, "save": false, "encode": false, "remove": false,
        "caller again": true,
      ])
  }

  @Test func `every flight runs on the configured executor`() async throws {
    let executor = CountingExecutor()
    let bench = Bench { $0.taskExecutor = executor }
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    _ = try await bench.notes.fetch("note")
    #expect(executor.jobs > 0)
  }
}

/// A task executor that counts what it is given and runs it on the global queue.
private final class CountingExecutor: TaskExecutor {
  private let count = Atomic<Int>(0)

  var jobs: Int { count.load(ordering: .sequentiallyConsistent) }

  func enqueue(_ job: consuming ExecutorJob) {
    count.add(1, ordering: .sequentiallyConsistent)
    let job = UnownedJob(job)
    DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

/// An actor whose code can be told by a mark on its queue.
private actor QueueActor {
  static let mark = DispatchSpecificKey<Bool>()

  private let executor = QueueExecutor()
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private var runs = 0

  func run(_ body: @Sendable () async throws -> Void) async throws {
    // Without a use of its state, Swift 6.3 omits the hop to the actor before a nonsending call.
    runs += 1
    try await body()
  }
}

private final class QueueExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "caller")

  init() { queue.setSpecific(key: QueueActor.mark, value: true) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
