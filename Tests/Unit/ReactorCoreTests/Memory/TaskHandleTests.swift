import ReactorTesting
import Synchronization
import Testing

@testable import ReactorCore

@Suite(.timeLimit(.minutes(5))) struct `A flight's task` {
  private let gate = Gate()

  /// A task that stands at the gate.
  private func standing(_ priority: TaskPriority? = nil) -> Task<Void, Never> {
    Task(priority: priority) { [gate] in await gate.waitIgnoringCancellation() }
  }

  @Test func `a flight's task is cancelled when it begins, where that was asked before`() async {
    let flight = TaskHandle(priority: nil)
    let task = standing()
    flight.cancel()
    #expect(!task.isCancelled)
    flight.attach(task)
    #expect(task.isCancelled)
    gate.open()
    await task.value
  }

  @Test func `a flight's task is cancelled once it runs`() async {
    let flight = TaskHandle(priority: nil)
    let task = standing()
    flight.attach(task)
    #expect(!task.isCancelled)
    flight.cancel()
    #expect(task.isCancelled)
    gate.open()
    await task.value
  }

  @Test func `a flight's task is not cancelled any more once it is released`() async {
    let flight = TaskHandle(priority: nil)
    let task = standing()
    flight.attach(task)
    flight.release()
    flight.cancel()
    #expect(!task.isCancelled)
    gate.open()
    await task.value
  }

  @Test func `a flight's task is not cancelled where it was released before it began`() async {
    let flight = TaskHandle(priority: nil)
    let task = standing()
    flight.release()
    flight.cancel()
    flight.attach(task)
    #expect(!task.isCancelled)
    gate.open()
    await task.value
  }

  @Test func `a flight's task stays cancelled when it is released after that`() async {
    let flight = TaskHandle(priority: nil)
    let task = standing()
    flight.cancel()
    flight.release()
    flight.attach(task)
    #expect(task.isCancelled)
    gate.open()
    await task.value
  }

  @Test func `a flight's task begins with the highest priority that was requested`() {
    let flight = TaskHandle(priority: .low)
    flight.escalate(to: .high)
    flight.escalate(to: .medium)
    #expect(flight.priority == .high)
  }

  @Test func `a flight's task begins with the priority requested where it had none`() {
    let flight = TaskHandle(priority: nil)
    #expect(flight.priority == nil)
    flight.escalate(to: .low)
    #expect(flight.priority == .low)
  }

  @Test func `a flight's task has no priority to begin with once it was cancelled`() {
    let flight = TaskHandle(priority: .low)
    flight.cancel()
    flight.escalate(to: .high)
    #expect(flight.priority == nil)
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test(arguments: [true, false])
  func `a flight's task is escalated while it runs, and where that was asked just before`(isAttachedFirst: Bool) async {
    let flight = TaskHandle(priority: .low)
    let priority = Mutex(TaskPriority.background)
    let task = Task(priority: .low) { [gate] in
      await gate.waitIgnoringCancellation()
      priority.withLock { $0 = Task.currentPriority }
    }
    if isAttachedFirst { flight.attach(task) }
    flight.escalate(to: .high)
    if !isAttachedFirst { flight.attach(task) }
    gate.open()
    await task.value
    #expect(priority.withLock { $0 } == .high)
  }
}
