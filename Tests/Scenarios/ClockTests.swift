import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// A second type over the URLs of ``Note``.
private struct Title: Codable, Sendable, Hashable {
  var text: String
}

/// The wall clock is set, or stands still, while a layer runs.
@Suite("Clocks that are set", .timeLimit(.minutes(5)))
struct ClockTests {
  /// Records that count up, each fresh for a minute.
  private func counting(persistence: (any Persistence)? = MemoryPersistence()) -> Bench {
    let bench = Bench(persistence: persistence) { $0.freshFor = .seconds(60) }
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "1").json), .json(Note(1, "2").json), .json(Note(1, "3").json))
    return bench
  }

  @Test(arguments: [true, false])
  func `a clock that is set back does not make a value in memory younger`(isPersistent: Bool) async throws {
    let bench = counting(persistence: isPersistent ? MemoryPersistence() : nil)
    #expect(try await bench.notes.fetch("note").text == "1")
    bench.clock.advance(by: .seconds(59))
    #expect(try await bench.notes.fetch("note").text == "1")
    bench.clock.setWallClock(back: .seconds(30))
    #expect(try await bench.notes.fetch("note").text == "1")
    bench.clock.advance(by: .seconds(2))
    #expect(bench.notes.states(for: "note").current.isStale)
  }

  @Test func `a newer value of the program's own store replaces a saved one`() async throws {
    let bench = Bench(persistence: nil) { $0.freshFor = .seconds(60) }
    bench.transport.answer("/v1/note", with: .json(Note(1, "1").json))
    let stored = Shared<Snapshot<Note>?>(nil)
    var flow = bench.layer.flow(Note.self)
    flow.loadFromPersistence = { _ in stored.value }
    flow.saveToPersistence = { snapshot, _ in stored.change { $0 = snapshot } }
    let notes = Reactor(flow: flow)
    #expect(try await notes.fetch("note").text == "1")
    bench.clock.advance(by: .seconds(120))
    let now = bench.clock.wallClock()
    stored.change { $0 = Snapshot(model: Note(1, "2"), fetchedAt: now) }
    #expect(try await notes.fetch("note").text == "2")
    #expect(bench.transport.requests.count == 1)
  }

  @Test(arguments: [ReactorConfiguration.Saving.awaited, .inBackground])
  func `a value that could not be saved stays newer than the record in its place`(
    saving: ReactorConfiguration.Saving
  ) async throws {
    let faulty = FaultyPersistence()
    let bench = Bench(persistence: faulty) {
      $0.freshFor = .seconds(60)
      $0.saving = saving
    }
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "1").json), .json(Note(1, "2").json), .json(Note(1, "3").json).held(at: gate))
    #expect(try await bench.notes.fetch("note").text == "1")
    try await bench.log.wait(for: .saved)
    bench.clock.advance(by: .seconds(120))
    faulty.fail(.save, with: Broken())
    #expect(try await bench.notes.fetchFromNetwork("note").text == "2")
    try await bench.log.wait(for: .saveFailed)
    // By the dates, the record is the newer one: the value is from the future.
    bench.clock.setWallClock(back: .seconds(60))
    let loads = faulty.calls(.load)
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "note").makeAsyncIterator()
    try await gate.waitForArrival()
    #expect(faulty.calls(.load) > loads)
    #expect(await states?.next()?.value?.text == "2")
    gate.open()
    #expect(await states?.first { $0.value?.text != "2" }?.value?.text == "3")
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a value that could not be saved stays the newer one once the server has confirmed it`() async throws {
    let faulty = FaultyPersistence()
    let bench = Bench(persistence: faulty) { $0.freshFor = .seconds(60) }
    let (one, two): (HTTPFields, HTTPFields) = ([.eTag: "\"1\""], [.eTag: "\"2\""])
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "1").json, fields: one), .json(Note(1, "2").json, fields: two),
      .response(.notModified, fields: two))
    #expect(try await bench.notes.fetch("note").text == "1")
    try await bench.log.wait(for: .saved)
    faulty.fail(.save, with: Broken())
    #expect(try await bench.notes.fetchFromNetwork("note").text == "2")
    try await bench.log.wait(for: .saveFailed)
    bench.clock.setWallClock(back: .seconds(600))
    // So that the request has the validators of the value in memory, which the answer confirms.
    faulty.fail(.load, with: Broken())
    #expect(try await bench.notes.fetchFromNetwork("note").text == "2")
    try await judgeOffline(bench, "2", faulty)
  }

  @Test func `a local value that could not be saved stays newer than the record in its place`() async throws {
    let faulty = FaultyPersistence()
    let bench = Bench(persistence: faulty) { $0.freshFor = .seconds(60) }
    bench.transport.answer("/v1/note", with: .json(Note(1, "1").json))
    #expect(try await bench.notes.fetch("note").text == "1")
    try await bench.log.wait(for: .saved)
    bench.clock.setWallClock(back: .seconds(600))
    faulty.fail(.save, with: Broken())
    try await bench.notes.save(Note(1, "mine"), for: "note")
    try await judgeOffline(bench, "mine", faulty)
  }

  @Test func `an overtaken answer, which is not saved, stays newer than the record in its place`() async throws {
    let faulty = FaultyPersistence()
    let bench = Bench(persistence: faulty) { $0.freshFor = .seconds(60) }
    let titles = bench.layer.reactor(Title.self)
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "1").json), .json(Note(1, "own").json).held(at: gate),
      .json(Note(1, "another's").json))
    #expect(try await bench.notes.fetch("note").text == "1")
    try await bench.log.wait(for: .saved)
    bench.clock.setWallClock(back: .seconds(600))
    let notes = bench.notes
    let caller = Task { try await notes.fetchFromNetwork("note").text }
    try await gate.waitForArrival()
    faulty.fail(.save, with: Broken())
    #expect(try await titles.fetchFromNetwork("note").text == "another's")
    gate.open()
    #expect(try await caller.value == "own")
    try await judgeOffline(bench, "own", faulty)
  }

  @Test func `a value that could not be saved gives way to another type's newer record`() async throws {
    let faulty = FaultyPersistence()
    let bench = Bench(persistence: faulty)
    let titles = bench.layer.reactor(Title.self)
    faulty.fail(.save, with: Broken())
    try await bench.notes.save(Note(1, "mine"), for: "note")
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "own").json).held(at: gate), .json(Note(1, "another's").json))
    let notes = bench.notes
    let caller = Task { try await notes.fetchFromNetwork("note").text }
    try await gate.waitForArrival()
    bench.clock.advance(by: .seconds(1))
    #expect(try await titles.fetchFromNetwork("note").text == "another's")
    gate.open()
    #expect(try await caller.value == "another's")
    try await bench.waitUntilNothingWaits()
  }

  /// Once the times of all are in the past again, the record is read, and does not replace what is
  /// shown.
  private func judgeOffline(_ bench: Bench, _ text: String, _ faulty: FaultyPersistence) async throws {
    bench.clock.advance(by: .seconds(1_200))
    bench.reachability.set(false)
    let loads = faulty.calls(.load)
    _ = await error { try await bench.notes.fetch("note") }
    #expect(faulty.calls(.load) > loads)
    #expect(bench.notes.cached("note")?.text == text)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a value from after the clock was set back has its whole life`() async throws {
    let bench = counting(persistence: nil)
    _ = try await bench.notes.fetch("note")
    bench.clock.setWallClock(back: .seconds(30))
    #expect(try await bench.notes.fetchFromNetwork("note").text == "2")
    bench.clock.advance(by: .seconds(59))
    #expect(try await bench.notes.fetch("note").text == "2")
    bench.clock.advance(by: .seconds(2))
    #expect(try await bench.notes.fetch("note").text == "3")
  }

  @Test func `a clock that was set back while the answer was under way does not make it younger`() async throws {
    let bench = Bench(persistence: nil) { $0.freshFor = .seconds(60) }
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "1").json).held(at: gate), .json(Note(1, "2").json))
    let notes = bench.notes
    let caller = Task { try await notes.fetch("note").text }
    try await gate.waitForArrival()
    bench.clock.setWallClock(back: .seconds(30))
    gate.open()
    #expect(try await caller.value == "1")
    bench.clock.advance(by: .seconds(61))
    #expect(try await bench.notes.fetch("note").text == "2")
  }

  @Test func `an invalidated value stays stale, in memory and on disk, when the clock is set back`() async throws {
    let bench = counting()
    _ = try await bench.notes.fetch("note")
    bench.clock.advance(by: .seconds(40))
    await bench.notes.invalidate("note")
    bench.clock.setWallClock(back: .seconds(20))
    #expect(bench.notes.states(for: "note").current.isStale)
    #expect(try await bench.restarted().notes.fetch("note").text == "2")
  }

  @Test(arguments: [Duration.seconds(3_600), .seconds(10), .zero])
  func `another type's stream gets the newer record, whatever the clock says`(back: Duration) async throws {
    let bench = Bench()
    let titles = bench.layer.reactor(Title.self)
    // No field tells them apart, and where nothing moves the clock no time either.
    bench.transport.answer("/v1/note", with: .json(Note(1, "1").json), .json(Note(1, "2").json))
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "note").makeAsyncIterator()
    #expect(await states?.first { $0.fetchStatus == .idle }?.value?.text == "1")
    bench.clock.setWallClock(back: back)
    #expect(try await titles.fetchFromNetwork("note").text == "2")
    #expect(await states?.first { $0.fetchStatus == .idle && !$0.isStale }?.value?.text == "2")
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `another type that asks later gets the newer record too`() async throws {
    let bench = Bench()
    let titles = bench.layer.reactor(Title.self)
    bench.transport.answer("/v1/note", with: .json(Note(1, "1").json), .json(Note(1, "2").json))
    #expect(try await bench.notes.fetch("note").text == "1")
    bench.clock.setWallClock(back: .seconds(10))
    #expect(try await titles.fetchFromNetwork("note").text == "2")
    // Both times are in the past by now, and the older value has the later one.
    bench.clock.advance(by: .seconds(20))
    #expect(try await bench.notes.fetch("note").text == "2")
  }

  @Test func `a local write is not lost to an older record when the clock is set back`() async throws {
    let faulty = FaultyPersistence(MemoryPersistence())
    let bench = Bench(persistence: faulty)
    bench.transport.answer("/v1/note", with: .json(Note(1, "server's").json))
    _ = try await bench.notes.fetch("note")
    bench.clock.advance(by: .seconds(3_600))
    faulty.fail(.save, with: CocoaError(.fileWriteOutOfSpace))
    try await bench.notes.save(Note(1, "mine"), for: "note")
    bench.clock.setWallClock(back: .seconds(1_800))
    #expect(try await bench.notes.fetch("note", policy: .cacheOnly).text == "mine")
    bench.reachability.set(false)
    _ = try? await bench.notes.fetch("note")
    #expect(bench.notes.cached("note")?.text == "mine")
  }

  @Test func `an overtaken answer does not give way to an older write from before the clock was set back`() async throws
  {
    let faulty = FaultyPersistence()
    let bench = Bench(persistence: faulty)
    let titles = bench.layer.reactor(Title.self)
    let fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept-Language"]
    func resource(_ language: String) -> Resource { Resource("note", headers: [.acceptLanguage: language]) }
    // Only in memory, and in the future from now on: newer than every record by its date.
    faulty.fail(.save, with: CocoaError(.fileWriteOutOfSpace))
    try await bench.notes.save(Note(1, "mine"), for: resource("de"))
    bench.clock.setWallClock(back: .seconds(1_800))
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "own").json, fields: fields).held(at: gate),
      .json(Note(1, "another's").json, fields: fields), .json(Note(1, "French").json, fields: fields))
    let notes = bench.notes
    let caller = Task { try await notes.fetchFromNetwork(resource("de")).text }
    try await gate.waitForArrival()
    // The first overtakes the answer. Of the records that are newer than the write, only the last
    // is remembered, and the second is another variant.
    #expect(try await titles.fetchFromNetwork(resource("de")).text == "another's")
    #expect(try await titles.fetchFromNetwork(resource("fr")).text == "French")
    gate.open()
    #expect(try await caller.value == "own")
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a clock ahead makes a value stale, and set right again it is requested once`() async throws {
    let bench = counting(persistence: nil)
    _ = try await bench.notes.fetch("note")
    bench.clock.setWallClock(forward: .seconds(86_400))
    #expect(try await bench.notes.fetch("note").text == "2")
    bench.clock.setWallClock(back: .seconds(86_400))
    #expect(try await bench.notes.fetch("note").text == "3")
    bench.clock.advance(by: .seconds(59))
    #expect(try await bench.notes.fetch("note").text == "3")
  }
}
