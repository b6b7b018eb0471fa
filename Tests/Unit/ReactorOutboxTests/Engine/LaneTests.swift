import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@testable import ReactorOutbox

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The order of lanes and their entries, whichever process submitted them.
@Suite("Lanes", .timeLimit(.minutes(2)))
struct LaneTests {
  @Test func `each lane has its turn beside others with steady work`() async throws {
    let writer = Writer { $0.concurrentLanes = 2 }
    let layer = writer.layer
    for path in ["a", "b", "c"] {
      for _ in 0..<40 { writer.transport.answer("/v1/\(path)", with: accepted) }
    }
    writer.outbox.pause()
    for lane in ["a", "b"] {
      for _ in 0..<30 { try await layer.submit(Push(path: lane)) }
    }
    let last = try await layer.submit(Push(path: "c"))
    writer.outbox.resume()
    _ = try await last.answer()
    // Its turn came after one entry of each of the others, or of the lanes that had begun by then.
    #expect(writer.sent.count <= 6, "\(writer.sent.count) were sent before")
    await writer.wait()
    #expect(writer.sent.count == 61)
    try await writer.end()
  }

  @Test func `a lane that is named by an id stays one lane when the server gives the id`() async throws {
    let writer = Writer { $0.mutations.append(Retitle.self) }
    let add = AddItem(name: "x")
    writer.transport.answer("/v1/items", with: .json(#"{"id": 7, "name": "x"}"#))
    writer.transport.answer(
      "/v1/items/7", with: .response(.tooManyRequests, fields: [.retryAfter: "60"]), accepted, accepted)
    writer.outbox.pause()
    try await writer.layer.submit(add)
    try await writer.layer.submit(Retitle(id: add.id.int, title: "older"))
    writer.outbox.resume()
    try await writer.clock.waitForSleepers()
    await writer.wait(for: "waiting, backoff")
    try await writer.layer.submit(Retitle(id: 7, title: "newer"))
    writer.clock.advance(by: .seconds(61))
    await writer.wait()
    #expect(writer.sent.suffix(3) == ["PATCH /v1/items/7 older", "PATCH /v1/items/7 older", "PATCH /v1/items/7 newer"])
    try await writer.end()
  }

  @Test func `an entry that another process submitted before is sent before`() async throws {
    let store = MemoryStore()
    let one = Writer(storage: store) { $0.sendsByItself = false }
    try await one.outbox.reload()
    let other = Writer(storage: store.reopened(), on: one.bench)
    try await other.outbox.reload()
    one.transport.answer("/v1/1", with: accepted)
    one.transport.answer("/v1/2", with: accepted)
    try await one.layer.submit(Add(name: "1"))
    _ = try await other.layer.submit(Add(name: "2")).answer()
    #expect(one.sent == ["POST /v1/1 1", "POST /v1/2 2"])
    try await other.end()
  }

  @Test func `drafts of another process go on top of earlier drafts`() async throws {
    let store = MemoryStore()
    let one = Writer(storage: store) {
      $0.sendsByItself = false
      $0.mutations.append(Replace.self)
    }
    try await one.fetch("a")
    try await one.layer.submit(Replace(name: "first"))
    let other = Writer(storage: store.reopened(), on: one.bench) { $0.sendsByItself = false }
    try await other.layer.submit(Replace(name: "second"))
    try await one.outbox.reload()
    #expect(one.shown == ["second"])
    try await one.end()
  }

  @Test func `an entry that another process withdrew is not shown as accepted`() async throws {
    let store = MemoryStore()
    let one = Writer(storage: store) { $0.sendsByItself = false }
    try await one.fetch("a")
    let submission = try await one.layer.submit(Add(name: "b"))
    let other = Writer(storage: store.reopened(), on: one.bench) { $0.sendsByItself = false }
    try await other.outbox.reload()
    #expect(await other.outbox.withdraw(submission.id))
    try await one.outbox.reload()
    #expect(one.shown == ["a"])
    try await one.end()
  }
}

/// Decisions of the program, and what keeps them waiting.
@Suite("Decisions while something does not end", .timeLimit(.minutes(2)))
struct UnendingTests {
  @Test func `discarding and retrying fail at once while the store fails`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store)
    let gate = Gate()
    writer.transport.answer("/v1/b", with: refused.held(at: gate), accepted)
    let submission = try await writer.layer.submit(Add(name: "b"))
    try await gate.waitForArrival()
    store.failure.store(true, ordering: .relaxed)
    async let settled: Void = writer.wait(for: "refused")
    gate.open()
    let time = advancing(writer.clock, by: .milliseconds(100))
    await settled
    time.cancel()
    #expect(await !writer.outbox.discard(submission.id))
    #expect(await !writer.outbox.retry(submission.id))
    store.failure.store(false, ordering: .relaxed)
    let later = advancing(writer.clock, by: .seconds(1))
    while await !writer.outbox.discard(submission.id) { await Task.yield() }
    later.cancel()
    #expect(writer.states.isEmpty)
  }

  @Test(arguments: ["withdraw", "stop", "removeAll"])
  func `a request that is never built keeps no caller waiting`(call: String) async throws {
    let writer = Writer(storage: MemoryStore()) { $0.mutations.append(Endless.self) }
    let layer = writer.layer
    let began = Endless.began.arrivalCount
    let submission = try await layer.submit(Endless())
    try await Endless.began.waitForArrival(count: began + 1)
    switch call {
    case "withdraw": #expect(await writer.outbox.withdraw(submission.id))
    case "stop": await writer.outbox.stop()
    default: try await layer.removeAll()
    }
    #expect(writer.sent.isEmpty)
    if call == "stop" {
      #expect(writer.states == ["waiting, stopped"])
    } else {
      #expect(writer.states.isEmpty)
      #expect(await TestSupport.error { try await submission.answer() }?.isCancelled == true)
      // The lane continues.
      writer.transport.answer("/v1/b", with: accepted)
      _ = try await layer.submit(Add(name: "b")).answer()
    }
  }

  @Test func `an entry that is submitted after a cancelled removal stays, and earlier entries go`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store) { $0.sendsByItself = false }
    try await writer.fetch("a")
    let layer = writer.layer
    let before = try await layer.submit(Add(name: "before"))
    let gate = Gate()
    let (step, removal) = try await writer.removalThatWaits(at: gate)
    removal.cancel()
    _ = await removal.result
    let after = try await layer.submit(Add(name: "after"))
    gate.open()
    _ = await step.result
    #expect(await TestSupport.error { try await before.answer() }?.isCancelled == true)
    for await entries in writer.outbox.states where entries.map(\.id) == [after.id] { break }
    #expect(try await store.reopened().contents(of: .shared).entries.map(\.id) == [after.id])
    writer.transport.answer("/v1/after", with: accepted)
    #expect(await writer.outbox.drain(within: .seconds(10)) == 0)
    #expect(writer.sent == ["POST /v1/after after"])
    // A later removal takes it.
    _ = try await layer.submit(Add(name: "last"))
    try await layer.removeAll()
    #expect(try await store.reopened().contents(of: .shared).entries.isEmpty)
  }
}

/// Attempts that did not reach the server.
@Suite("What could not be sent", .timeLimit(.minutes(2)))
struct UnsentTests {
  /// An entry whose backoff is long.
  private func writer(_ configure: (inout OutboxConfiguration) -> Void = { _ in }) async throws -> (Writer, UUID) {
    let writer = Writer { configuration in
      configuration.retry.firstDelay = .seconds(200)
      configure(&configuration)
    }
    writer.transport.answer("/v1/b", with: .failure(URLError(.cannotConnectToHost)), accepted)
    let submission = try await writer.layer.submit(Add(name: "b"))
    await writer.wait(for: "waiting, backoff")
    #expect(writer.sent.count == 1)
    return (writer, submission.id)
  }

  @Test func `an unsent entry is tried at once by drain and by resume`() async throws {
    let (one, _) = try await writer()
    #expect(await one.outbox.drain(within: .seconds(1)) == 0)
    let (two, _) = try await writer()
    two.outbox.resume()
    await two.wait()
  }

  @Test func `an unsent entry is tried at once when the server answers again`() async throws {
    let (writer, _) = try await writer()
    let other = Resource("other")
    writer.transport.answer("/v1/other", with: .failure(URLError(.cannotConnectToHost)), .json("[]"))
    _ = try? await writer.notes.fetch(other, policy: .networkOnly)
    _ = try await writer.notes.fetch(other, policy: .networkOnly)
    await writer.wait()
  }

  @Test func `a write waits for connectivity if the transport reports that there is no connection`() async throws {
    let writer = Writer()
    writer.transport.answer("/v1/b", with: .failure(ReactorError.noConnectivity), accepted)
    let submission = try await writer.layer.submit(Add(name: "b"))
    await writer.wait(for: "waiting, connectivity")
    writer.outbox.resume()
    _ = await TestSupport.error { try await submission.answer() }
    #expect(writer.states.isEmpty)
  }

  @Test func `an unsent write blocks only its own lane`() async throws {
    let (writer, _) = try await writer()
    writer.transport.answer("/v1/c", with: accepted)
    _ = try await writer.layer.submit(Add(name: "c", lane: "other")).answer()
    #expect(writer.states == ["waiting, backoff"])
  }

  @Test func `an unsent entry waits between attempts, whatever the policy says`() {
    var limits = OutboxEntry.Limits()
    limits.retry.firstDelay = .zero
    var entry = OutboxEntry(
      id: UUID(), lane: "main", name: "Add", version: 1, arguments: Data("{}".utf8), submittedAt: .distantPast,
      idempotencyWindow: 0)
    let now = Date(timeIntervalSince1970: 0)
    var waits: [Double] = []
    for _ in 1...4 {
      entry.begin(at: now)
      _ = entry.end(.unsent, status: nil, reason: "", at: now, limits, random: 1)
      waits.append(entry.notBefore?.timeIntervalSince(now) ?? 0)
    }
    #expect(waits.allSatisfy { $0 > 0 } && waits == waits.sorted())
  }

  @Test func `a tag that the server has refused is not sent again, however the clock was set`() async throws {
    let writer = Writer()
    try await writer.fetch("a", fields: [.eTag: "\"v1\"", .cacheControl: "no-cache"])
    writer.transport.answer("/v1/list", with: .response(.noContent, fields: [.eTag: "\"v2\""]))
    _ = try await writer.layer.submit(Append(name: "b")).answer()
    writer.clock.setWallClock(forward: .seconds(-3_600))
    writer.transport.answer(
      "/v1/list", with: Writer.answer(["c"], [.eTag: "\"v3\""]), .response(.preconditionFailed),
      Writer.answer(["c"], [.eTag: "\"v3\""]), .response(.noContent))
    _ = try await writer.notes.fetch(writer.list, policy: .networkOnly)
    _ = try await writer.layer.submit(Append(name: "d")).answer()
    let tags = writer.transport.requests.compactMap { $0.request.headerFields[.ifMatch] }
    #expect(tags.last == "\"v3\"" && tags.filter { $0 == "\"v2\"" }.count <= 1, "\(tags)")
  }
}

/// Lets time continue until it is cancelled.
private func advancing(_ clock: TestClock, by step: Duration) -> Task<Void, Never> {
  Task {
    while !Task.isCancelled {
      await Task.yield()
      clock.advance(by: step)
    }
  }
}

extension ReactorError {
  fileprivate var isCancelled: Bool { if case .cancelled = self { true } else { false } }
}

/// A change of an item, in the item's lane.
private struct Retitle: Mutation {
  var id: Int
  var title: String

  var lane: Lane { Lane(rawValue: "item-\(id)") }

  func request(_ known: Known) -> Resource { Resource("items/\(id)", method: .patch, body: Data(title.utf8)) }
}

private struct Replace: Mutation {
  var name: String

  func request(_ known: Known) -> Resource { Resource("replace", method: .post) }

  func draft(_ drafts: inout Drafts) { drafts.change([String].self, at: "list") { [name] in $0 = [name] } }
}

/// A mutation whose request is never made, and heeds no cancellation.
private struct Endless: Mutation {
  static let began = Gate()

  func request(_ known: Known) async -> Resource {
    await Self.began.waitIgnoringCancellation()
    return Resource("endless", method: .post)
  }
}
