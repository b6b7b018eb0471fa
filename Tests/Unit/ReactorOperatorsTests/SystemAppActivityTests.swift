import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `The system's app activity` {
  @Test func `the system's app activity ends with its reader`() async throws {
    let begun = Gate(isOpen: true)
    let task = Task {
      try await begun.wait()
      var count = 0
      for await _ in SystemAppActivity().becameActive { count += 1 }
      return count
    }
    try await begun.waitForArrival()
    task.cancel()
    #expect(try await task.value == 0)
  }
}
