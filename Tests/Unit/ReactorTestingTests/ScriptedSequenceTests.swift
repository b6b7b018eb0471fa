import ReactorTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A scripted sequence` {
  private let numbers = ScriptedSequence<Int>()

  @Test func `a scripted sequence gives what was sent, in order, and ends`() async {
    numbers.send(1, 2)
    numbers.send(3)
    numbers.finish()
    var read: [Int] = []
    for await number in numbers { read.append(number) }
    #expect(read == [1, 2, 3] && numbers.hasEnded)
  }

  @Test func `a scripted sequence waits until its reader has handled all, and requests more`() async throws {
    let gate = Gate()
    let read = Shared(0)
    let reader = Task { [numbers] in
      for await number in numbers {
        await gate.waitIgnoringCancellation()
        read.change { $0 = number }
      }
    }
    numbers.send(1, 2)
    let wait = Task { [numbers] in try await numbers.waitUntilHandled() }
    try await gate.waitForArrival()
    #expect(read.value == 0)
    gate.open()
    try await wait.value
    #expect(read.value == 2)
    numbers.send(3)
    numbers.finish()
    try await numbers.waitUntilHandled()
    #expect(read.value == 3)
    await reader.value
  }

  @Test func `a scripted sequence does not wait for a reader that was cancelled`() async throws {
    let reader = Task { [numbers] in for await _ in numbers {} }
    numbers.send(1)
    try await numbers.waitUntilHandled()
    reader.cancel()
    try await numbers.waitUntilEnded()
    numbers.send(2)
    try await numbers.waitUntilHandled()
  }

  @Test func `a scripted sequence does not wait for a reader that has left its loop`() async throws {
    let reader = Task { [numbers] in
      for await number in numbers where number == 2 { break }
    }
    numbers.send(1, 2, 3)
    await reader.value
    try await numbers.waitUntilHandled()
    let gate = Gate()
    let next = Task { [numbers] in
      for await number in numbers {
        await gate.waitIgnoringCancellation()
        if number == 4 { break }
      }
    }
    try await gate.waitForArrival()
    numbers.send(4)
    let handled = Shared(false)
    let wait = Task { [numbers] in
      try await numbers.waitUntilHandled()
      handled.change { $0 = true }
    }
    // The reader is at the third element.
    #expect(!handled.value)
    gate.open()
    try await wait.value
    await next.value
    // However often readers leave.
    for number in 5...20 {
      numbers.send(number)
      for await _ in numbers { break }
      try await numbers.waitUntilHandled()
    }
  }

  @Test func `a wait of a scripted sequence ends when it is cancelled`() async throws {
    let wait = Task { [numbers] in try await numbers.waitUntilHandled() }
    wait.cancel()
    await #expect(throws: CancellationError.self) { try await wait.value }
  }
}
