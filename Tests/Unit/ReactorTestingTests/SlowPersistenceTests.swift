import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A slow persistence` {
  private let key = RecordKey(method: .get, url: "https://api.example.com/a", scope: .shared)
  private let clock = TestClock()
  private let persistence = FaultyPersistence()

  private var record: Record {
    let head = Record.Head(
      identity: key.identity, status: .ok, fields: [:], requestedAt: clock.date, receivedAt: clock.date)
    return Record(head: head, body: Data("[1]".utf8))
  }

  @Test func `a slow save is carried out in its time, and only one`() async throws {
    persistence.delay(.save, by: .seconds(2), on: clock)
    let save = Task { [record] in try await persistence.save(record, for: key) }
    try await clock.waitForSleepers()
    #expect(try await persistence.load(key) == nil)
    clock.advance(by: .seconds(2))
    try await save.value
    #expect(try await persistence.load(key) != nil)
    try await persistence.save(record, for: key)
    try clock.checkNobodySleeps()
  }

  @Test func `a slow load ends when it is cancelled; a slow save is carried out`() async throws {
    persistence.delay(.load, by: .seconds(2), on: clock)
    persistence.delay(.save, by: .seconds(2), on: clock)
    let load = Task { try await persistence.load(key) }
    load.cancel()
    await #expect(throws: CancellationError.self) { try await load.value }
    let save = Task { [record] in try await persistence.save(record, for: key) }
    save.cancel()
    try await save.value
    #expect(try await persistence.load(key) != nil)
    try clock.checkNobodySleeps()
  }

  @Test func `a crash loses a slow save that was not acknowledged`() async throws {
    persistence.delay(.save, by: .seconds(2), on: clock)
    let save = Task { [record] in try await persistence.save(record, for: key) }
    try await clock.waitForSleepers()
    persistence.crash()
    clock.advance(by: .seconds(2))
    await #expect(throws: FaultyPersistence.Crashed.self) { try await save.value }
    #expect(try await persistence.load(key) == nil)
    try await persistence.save(record, for: key)
    #expect(try await persistence.load(key) != nil)
    try clock.checkNobodySleeps()
  }

  @Test(arguments: [Duration.zero, .seconds(-1)])
  func `a zero or negative delay is no delay`(duration: Duration) async throws {
    persistence.delay(.load, by: duration, on: clock)
    #expect(try await persistence.load(key) == nil)
  }
}
