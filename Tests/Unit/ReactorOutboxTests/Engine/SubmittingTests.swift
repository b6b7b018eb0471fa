import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import ReactorTesting
import TestSupport
import Testing

@Suite("A mutation that is submitted", .timeLimit(.minutes(5)))
struct SubmittingTests {
  @Test func `its id is a random UUID, of version 4`() {
    let ids = (0..<200).map { _ in OutboxConfiguration().makeID() }
    #expect(Set(ids).count == 200)
    for id in ids { #expect(id.uuid.6 >> 4 == 4 && id.uuid.8 >> 6 == 2) }
    // Each of the other bits is set in some of them, and clear in others.
    let bytes = ids.map { id in withUnsafeBytes(of: id.uuid) { Array($0) } }
    for place in 0..<16 where place != 6 && place != 8 {
      #expect(bytes.reduce(0) { $0 | $1[place] } == 255)
      #expect(bytes.reduce(255) { $0 & $1[place] } == 0)
    }
  }

  @Test func `a mutation is shown at once, saved, sent, and stays when it is accepted`() async throws {
    let writer = Writer()
    try await writer.fetch("a")
    let gate = Gate()
    writer.transport.answer("/v1/b", with: .json("\"done\"").held(at: gate))
    var states: LoadStates<[String]>.Iterator? = writer.notes.states(for: writer.list, policy: .cacheOnly)
      .makeAsyncIterator()
    #expect(await states?.next()?.value == ["a"])
    let submission = try await writer.layer.submit(Add(name: "b"))
    #expect(writer.shown == ["a", "b"])
    #expect(writer.confirmed == ["a"])
    let state = await states?.next()
    states = nil
    #expect(state?.value == ["a", "b"])
    #expect(state?.drafts == [submission.id])
    #expect(writer.outbox.entries.map(\.id) == [submission.id])
    #expect(try await writer.storage.contents(of: .shared).entries.map(\.id) == [submission.id])
    try await gate.waitForArrival()
    #expect(writer.states == ["sending"])
    gate.open()
    #expect(try await submission.answer() == "\"done\"")
    #expect(writer.shown == ["a", "b"])
    #expect(writer.confirmed == ["a", "b"])
    #expect(writer.outbox.entries.isEmpty)
    #expect(writer.sent == ["POST /v1/b b"])
    #expect(writer.keys.allSatisfy { $0 != nil })
    // The resource of the draft is asked for again.
    writer.transport.answer("/v1/list", with: Writer.answer(["a", "b", "c"]))
    #expect(try await writer.notes.fetch(writer.list) == ["a", "b", "c"])
    #expect(writer.shown == ["a", "b", "c"])
    try await writer.end()
  }

  @Test func `a refusal removes only its draft, and the entry stays until it is discarded`() async throws {
    let writer = Writer()
    try await writer.fetch("a")
    let gate = Gate()
    writer.transport.answer("/v1/b", with: refused.held(at: gate))
    writer.transport.answer("/v1/c", with: .json("\"done\""))
    let first = try await writer.layer.submit(Add(name: "b"))
    let second = try await writer.layer.submit(Add(name: "c"))
    #expect(writer.shown == ["a", "b", "c"])
    gate.open()
    let error = await TestSupport.error { try await first.answer() }
    #expect(error?.status == 422)
    #expect(try await second.answer() == "\"done\"")
    #expect(writer.shown == ["a", "c"])
    #expect(writer.states == ["refused"])
    #expect(await writer.outbox.discard(first.id))
    #expect(writer.outbox.entries.isEmpty)
    #expect(try await writer.storage.contents(of: .shared).entries.allSatisfy { $0.id != first.id })
    try await writer.end()
  }

  @Test func `entries of a lane are sent one after the other, and lanes beside each other`() async throws {
    let writer = Writer()
    let gates = [Gate(), Gate()]
    writer.transport.answer("/v1/a", with: accepted.held(at: gates[0]))
    writer.transport.answer("/v1/x", with: accepted.held(at: gates[1]))
    writer.transport.answer("/v1/b", with: accepted)
    try await writer.layer.submit(Add(name: "a"))
    try await writer.layer.submit(Add(name: "b"))
    try await writer.layer.submit(Add(name: "x", lane: "other"))
    for gate in gates { try await gate.waitForArrival() }
    #expect(writer.states == ["sending", "waiting, turn", "sending"])
    gates[1].open()
    await writer.wait(for: "sending", "waiting, turn")
    gates[0].open()
    await writer.wait()
    #expect(writer.sent.last == "POST /v1/b b")
    try await writer.end()
  }

  @Test func `without connectivity it waits, and goes when that returns`() async throws {
    let writer = Writer()
    try await writer.fetch("a")
    writer.bench.reachability.set(false)
    let submission = try await writer.layer.submit(Add(name: "b"))
    #expect(writer.shown == ["a", "b"])
    await writer.wait(for: "waiting, connectivity")
    #expect(writer.sent.isEmpty)
    writer.transport.answer("/v1/b", with: .json("\"done\""))
    writer.bench.reachability.set(true)
    #expect(try await submission.answer() == "\"done\"")
    try await writer.end()
  }

  @Test func `a lost answer is requested again with the same bytes under the same key`() async throws {
    let writer = Writer()
    writer.transport.answer("/v1/b", with: .failure(URLError(.networkConnectionLost)), .json("\"done\""))
    let submission = try await writer.layer.submit(Add(name: "b"))
    await writer.wait(for: "unknown, backoff")
    #expect(!(await writer.outbox.withdraw(submission.id)))
    writer.clock.advance(by: .seconds(600))
    #expect(try await submission.answer() == "\"done\"")
    #expect(writer.sent == ["POST /v1/b b", "POST /v1/b b"])
    #expect(Set(writer.keys).count == 1)
    try await writer.end()
  }

  @Test func `a structured key is in quotes, and a bare one that is saved stays bare`() async throws {
    let writer = Writer { $0.idempotencyKeyForm = .structured }
    writer.transport.answer("/v1/b", with: .json("\"done\""))
    _ = try await writer.layer.submit(Add(name: "b")).answer()
    let key = try #require(writer.keys.first ?? nil)
    #expect(key.hasPrefix("\"") && key.hasSuffix("\"") && key.count == 38)
    try await writer.end()
    let old = Writer(storage: MemoryStore())
    old.bench.reachability.set(false)
    let request = OutboxRequest(url: Bench.url.appending(path: "b"), idempotencyKey: "a-1")
    try await old.layer.submit(request)
    let next = old.relaunched { $0.idempotencyKeyForm = .structured }
    old.outbox.pause()
    next.transport.answer("/v1/b", with: .json("\"done\""))
    next.bench.reachability.set(true)
    await next.wait()
    #expect(next.keys == ["a-1"])
    try await next.end()
  }

  @Test func `without a window an unknown outcome is not repeated, and retry sends the same bytes`() async throws {
    let writer = Writer { $0.idempotencyWindow = .zero }
    try await writer.fetch("a")
    writer.transport.answer("/v1/b", with: .failure(URLError(.networkConnectionLost)), .json("\"done\""))
    let submission = try await writer.layer.submit(Add(name: "b"))
    _ = await TestSupport.error { try await submission.answer() }
    #expect(writer.states == ["unresolved"])
    #expect(writer.shown == ["a"])
    #expect(writer.keys == [nil])
    #expect(await writer.outbox.retry(submission.id))
    #expect(writer.shown == ["a", "b"])
    await writer.wait()
    #expect(writer.sent == ["POST /v1/b b", "POST /v1/b b"])
    try await writer.end()
  }

  @Test func `withdraw takes back what was not sent`() async throws {
    let writer = Writer()
    try await writer.fetch("a")
    let gate = Gate()
    writer.transport.answer("/v1/b", with: accepted.held(at: gate))
    let first = try await writer.layer.submit(Add(name: "b"))
    let second = try await writer.layer.submit(Add(name: "c"))
    try await gate.waitForArrival()
    #expect(!(await writer.outbox.withdraw(first.id)))
    #expect(await writer.outbox.withdraw(second.id))
    let error = await TestSupport.error { try await second.answer() }
    #expect(error?.isCancelled == true)
    #expect(writer.shown == ["a", "b"])
    gate.open()
    await writer.wait()
    #expect(writer.sent == ["POST /v1/b b"])
    try await writer.end()
  }

  @Test func `pause sends nothing until resume`() async throws {
    let writer = Writer()
    writer.outbox.pause()
    try await writer.layer.submit(Add(name: "b"))
    #expect(writer.states == ["waiting, paused"])
    writer.transport.answer("/v1/b", with: accepted)
    writer.outbox.resume()
    await writer.wait()
    #expect(writer.sent.count == 1)
    try await writer.end()
  }

  @Test func `a 401 pauses, loses nothing, and resume continues`() async throws {
    let writer = Writer()
    writer.transport.answer("/v1/b", with: .response(.unauthorized), .json("\"done\""))
    let submission = try await writer.layer.submit(Add(name: "b"))
    await writer.wait(for: "waiting, sign in")
    #expect(writer.outbox.entries.first?.attempts == 0)
    writer.outbox.resume()
    #expect(try await submission.answer() == "\"done\"")
    try await writer.end()
  }

  @Test func `drain says how many are left, and waits for what can go`() async throws {
    let writer = Writer()
    let gate = Gate()
    writer.transport.answer("/v1/a", with: accepted.held(at: gate))
    writer.transport.answer("/v1/b", with: .response(.serviceUnavailable))
    try await writer.layer.submit(Add(name: "a", lane: "one"))
    try await gate.waitForArrival()
    async let left = writer.outbox.drain(within: .seconds(60))
    gate.open()
    #expect(await left == 0)
    writer.bench.reachability.set(false)
    try await writer.layer.submit(Add(name: "b"))
    #expect(await writer.outbox.drain(within: .seconds(1)) == 1)
    writer.outbox.pause()
    writer.bench.reachability.set(true)
    try await writer.layer.removeAll()
    try await writer.end()
  }

  @Test func `a mutation that holds a secret, only reads, or is too large is refused`() async throws {
    struct Odd: Mutation {
      var kind: String
      func request(_ known: Known) -> Resource {
        switch kind {
        case "header": Resource("x", method: .post, headers: [.authorization: "Bearer s3cret"])
        case "query": Resource("x", method: .post, query: ["access_token": "s3cret"])
        default: Resource("x")
        }
      }
    }
    let writer = Writer()
    for kind in ["header", "query", "reads"] {
      let submission = try await writer.layer.submit(Odd(kind: kind))
      let error = await TestSupport.error { try await submission.answer() }
      #expect(error?.isInvalidResource == true, "\(kind)")
      #expect(!"\(String(describing: error))".contains("s3cret"))
    }
    let error = await TestSupport.error {
      try await writer.layer.submit(Add(name: String(repeating: "x", count: 2 << 20)))
    }
    #expect(error?.isInvalidResource == true)
    #expect(writer.states == ["refused", "refused", "refused"])
    #expect(writer.sent.isEmpty)
    for entry in try await writer.storage.contents(of: .shared).entries {
      #expect(!String(decoding: entry.bytes, as: UTF8.self).contains("s3cret"))
    }
    try await writer.end()
  }
}
