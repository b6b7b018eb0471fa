#if SQLite
  import Foundation
  import ReactorCore
  import Synchronization
  import TestSupport
  import Testing

  @testable import ReactorSQLite

  @Suite struct `Saves that arrive together` {
    private struct Refused: Error, Equatable { var operation: Int }

    /// The jobs that were performed together; waiting jobs run meanwhile.
    private final class Script: Sendable {
      let batches = Mutex<[[Int]]>([])
      let executor = ManualExecutor()
      /// Called once.
      let whilePerforming = Mutex<(@Sendable () -> Void)?>(nil)

      func perform(_ operations: [Int]) -> [Result<Void, any Error>] {
        batches.withLock { $0.append(operations) }
        whilePerforming.withLock { $0.take() }?()
        executor.runAll()
        return operations.map { $0 == 13 ? .failure(Refused(operation: $0)) : .success(()) }
      }
    }

    @Test func `saves that arrive at once, or during others, are performed together`()
      async throws
    {
      let script = Script()
      let queue = SQLiteWriteQueue<Int>(limit: 1_000, weight: { _ in 1 }, perform: { script.perform($0) })
      let tasks = (0..<50).map { operation in
        Task(executorPreference: script.executor) { try await queue.run(operation) }
      }
      script.executor.run(10)
      #expect(script.batches.withLock { $0 } == [])
      #expect(queue.waiterCount == 10)
      script.executor.runAll()
      #expect(script.batches.withLock { $0 } == [Array(0..<50)])
      for (operation, task) in tasks.enumerated() {
        if operation == 13 {
          await #expect(throws: Refused(operation: 13)) { try await task.value }
        } else {
          try await task.value
        }
      }
      #expect(queue.waiterCount == 0)
    }

    @Test func `a batch has a limit, and no caller leads twice`() async throws {
      let script = Script()
      let queue = SQLiteWriteQueue<Int>(limit: 3, weight: { $0 == 5 ? 100 : 1 }, perform: { script.perform($0) })
      let tasks = (0..<9).map { operation in
        Task(executorPreference: script.executor) { try await queue.run(operation) }
      }
      script.executor.runAll()
      #expect(script.batches.withLock { $0 } == [[0, 1, 2], [3, 4], [5], [6, 7, 8]])
      for task in tasks { try await task.value }
    }

    @Test func `saves that arrive while others are performed are the next batch`() async throws {
      let script = Script()
      let late = Mutex<[Task<Void, any Error>]>([])
      let queue = SQLiteWriteQueue<Int>(limit: 1_000, weight: { _ in 1 }, perform: { script.perform($0) })
      script.whilePerforming.withLock { body in
        body = {
          for operation in 10..<14 where operation != 13 {
            let task = Task(executorPreference: script.executor) { try await queue.run(operation) }
            late.withLock { $0.append(task) }
          }
        }
      }
      let first = Task(executorPreference: script.executor) { try await queue.run(1) }
      script.executor.runAll()
      #expect(script.batches.withLock { $0 } == [[1], [10, 11, 12]])
      try await first.value
      for task in late.withLock({ $0 }) { try await task.value }
    }

    @Test func `a caller that is slow to run blocks no other, and its save is performed`() async throws {
      let script = Script()
      let queue = SQLiteWriteQueue<Int>(limit: 1_000, weight: { _ in 1 }, perform: { script.perform($0) })
      let slow = Task(executorPreference: script.executor, priority: .background) { try await queue.run(1) }
      // It has come, and does not get to run again.
      script.executor.run(1)
      let other = ManualExecutor()
      let urgent = Task(executorPreference: other, priority: .high) { try await queue.run(2) }
      other.runAll()
      #expect(script.batches.withLock { $0 } == [[2, 1]])
      try await urgent.value
      script.executor.runAll()
      try await slow.value
      #expect(queue.waiterCount == 0)
    }

    @Test func `a woken caller that is slow to run blocks no other`() async throws {
      let script = Script()
      let queue = SQLiteWriteQueue<Int>(limit: 1, weight: { _ in 1 }, perform: { script.perform($0) })
      let other = ManualExecutor()
      let late = Mutex<[Task<Void, any Error>]>([])
      script.whilePerforming.withLock { body in
        body = {
          for (operation, priority) in [(2, TaskPriority.background), (3, .high)] {
            let task = Task(executorPreference: other, priority: priority) { try await queue.run(operation) }
            late.withLock { $0.append(task) }
          }
          other.runAll()
        }
      }
      let first = Task(executorPreference: script.executor) { try await queue.run(1) }
      script.executor.runAll()
      // The most urgent waiter is woken; before it runs, another comes.
      let newcomer = Task(executorPreference: script.executor) { try await queue.run(4) }
      script.executor.runAll()
      #expect(script.batches.withLock { $0 } == [[1], [4]])
      other.run(1)
      #expect(script.batches.withLock { $0 } == [[1], [4], [3]])
      other.runAll()
      #expect(script.batches.withLock { $0 } == [[1], [4], [3], [2]])
      for task in [first, newcomer] + late.withLock({ $0 }) { try await task.value }
    }

    @Test func `work that can wait is left if another caller is at work`() async throws {
      let batches = Mutex<[[Int]]>([])
      let inner = Mutex<SQLiteWriteQueue<Int>?>(nil)
      let queue = SQLiteWriteQueue<Int>(limit: 9, weight: { _ in 1 }) { operations in
        batches.withLock { $0.append(operations) }
        inner.withLock { $0 }?.runIfIdle(99)
        return operations.map { _ in .success(()) }
      }
      inner.withLock { $0 = queue }
      try await queue.run(1)
      queue.runIfIdle(2)
      #expect(batches.withLock { $0 } == [[1], [2]])
      inner.withLock { $0 = nil }
    }

    @Test func `each is acknowledged when others see it, and not before`() async throws {
      try await withDatabase { path in
        let (persistence, other) = (try SQLitePersistence(path: path), try SQLitePersistence(path: path))
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<100 {
            group.addTask {
              let key = RecordKey.sample("\(number)")
              try await persistence.save(.sample(key), for: key)
              #expect(try await other.load(key) == .sample(key))
            }
          }
          try await group.waitForAll()
        }
        #expect(persistence.writes.waiterCount == 0)
      }
    }

    @Test func `a save that fails does not fail the others`() async throws {
      try await withDatabase { path in
        let persistence = try SQLitePersistence(path: path)
        try change(
          path,
          """
          CREATE TRIGGER no BEFORE INSERT ON reactor_record WHEN new.url LIKE '%/bad'
          BEGIN SELECT RAISE(ABORT, 'no'); END
          """)
        let keys = ["a", "bad", "b"].map { RecordKey.sample($0) }
        let operations = keys.map { key in
          SQLiteWriter.Operation(kind: .save) {
            try SQLiteRows.save(SQLiteRows.Change(.sample(key), for: key, at: Date()), $0)
          }
        }
        let writer = SQLiteWriter(
          persistence.database, SQLiteEviction(bytes: 1_000_000, count: 1_000), now: { Date() })
        let results = writer.perform(operations)
        #expect(results.map { (try? $0.get()) != nil } == [true, false, true])
        #expect(throws: SQLitePersistenceError.sqlite(.save, path: path, code: 1811, message: "no")) {
          try results[1].get()
        }
        #expect(Set(try await persistence.entries(in: nil, url: nil).map(\.key)) == [keys[0], keys[2]])
        #expect(try numbers(path, "SELECT count FROM reactor_usage") == [2])
      }
    }
  }

  /// Runs jobs on the thread that says so.
  final class ManualExecutor: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      jobs.withLock { $0.append(job) }
    }

    /// Returns when no job is left.
    func runAll() { run(.max) }

    func run(_ limit: Int) {
      var count = 0
      while count < limit, let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
        job.runSynchronously(on: asUnownedTaskExecutor())
        count += 1
      }
    }
  }
#endif
