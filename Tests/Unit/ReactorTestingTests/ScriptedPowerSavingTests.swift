import ReactorTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Scripted power saving` {
  let powerSaving = ScriptedPowerSaving()

  @Test func `scripted power saving is off until it is set`() {
    #expect(!powerSaving.isOn)
    powerSaving.set(true)
    #expect(powerSaving.isOn)
  }

  @Test func `scripted power saving yields the current value, then the changes`() async {
    var first = powerSaving.updates.makeAsyncIterator()
    powerSaving.set(true)
    var second = powerSaving.updates.makeAsyncIterator()
    powerSaving.set(true)
    powerSaving.set(false)
    #expect([await first.next(), await first.next(), await first.next()] == [false, true, false])
    #expect([await second.next(), await second.next()] == [true, false])
  }

  @Test func `scripted power saving forgets a cancelled stream`() async {
    let updates = powerSaving.updates
    #expect(powerSaving.openStreams == 1)
    let task = Task { for await _ in updates {} }
    task.cancel()
    await task.value
    #expect(powerSaving.openStreams == 0)
  }

  @Test func `scripted power saving forgets a released stream`() {
    _ = powerSaving.updates
    #expect(powerSaving.openStreams == 0)
  }

  @Test func `scripted power saving waits until each reader has handled the value`() async throws {
    try await powerSaving.waitUntilHandled()
    let gate = Gate()
    let read = Shared<[Bool]>([])
    let readers = [powerSaving.updates, powerSaving.updates].map { updates in
      Task {
        for await isOn in updates {
          await gate.waitIgnoringCancellation()
          read.change { $0.append(isOn) }
        }
      }
    }
    powerSaving.set(true)
    let wait = Task { [powerSaving] in try await powerSaving.waitUntilHandled() }
    try await gate.waitForArrival(count: 2)
    #expect(read.value.isEmpty)
    gate.open()
    try await wait.value
    #expect(read.value.count { $0 } == 2 && read.value.count == 4)
    for reader in readers { reader.cancel() }
    for reader in readers { await reader.value }
    powerSaving.set(false)
    try await powerSaving.waitUntilHandled()
    #expect(powerSaving.openStreams == 0)
  }

  @Test func `the streams of scripted power saving end when it is released`() async {
    var powerSaving: ScriptedPowerSaving? = ScriptedPowerSaving(true)
    var iterator = powerSaving?.updates.makeAsyncIterator()
    #expect(await iterator?.next() == true)
    powerSaving = nil
    #expect(await iterator?.next() == nil)
  }
}
