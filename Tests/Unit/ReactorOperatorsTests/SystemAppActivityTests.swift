import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `The system's app activity` {
  @Test(arguments: [false, true])
  func `the system's app activity ends with its reader`(_ isDeparture: Bool) async throws {
    let begun = Gate(isOpen: true)
    let task = Task {
      try await begun.wait()
      var count = 0
      let activity = SystemAppActivity()
      for await _ in isDeparture ? activity.leftActive : activity.becameActive { count += 1 }
      return count
    }
    try await begun.waitForArrival()
    task.cancel()
    #expect(try await task.value == 0)
  }
}
