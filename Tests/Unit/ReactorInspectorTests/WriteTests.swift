import Foundation
import HTTPTypes
import ReactorOutbox
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore
@testable import ReactorInspector

@Suite("The writes that an inspector shows", .timeLimit(.minutes(5)))
struct WriteTests {
  @Test func `the writes that an inspector shows are absent without an outbox, and appear with one`() async throws {
    let bench = Bench()
    let inspector = Inspector(bench)
    var feed = await inspector.live()
    #expect(try await feed.frame().writes == ReadWrites(hasOutbox: false, count: 0, rows: []))
    _ = bench.layer.outbox
    #expect(try await feed.frame(after: bench.clock).writes == ReadWrites(hasOutbox: true, count: 0, rows: []))
    try await bench.waitUntilNothingWaits()
  }

  @Test func `are listed with their lanes in the order of submission, with the reason why each waits`() async throws {
    let bench = Bench()
    bench.reachability.set(false)
    let first = try await bench.layer.submit(Put(name: "a"))
    try await bench.layer.submit(Put(name: "x", lane: "photos"))
    try await bench.layer.submit(Put(name: "b"))
    let inspector = Inspector(bench)
    var feed = await inspector.live()
    let rows = try #require(await feed.frame().writes).rows
    #expect(rows.map(\.lane) == ["main", "photos", "main"])
    #expect(rows.map(\.reason) == ["waits for connectivity", "waits for connectivity", "waits for its turn"])
    #expect(rows.map(\.commands) == [["withdraw"], ["withdraw"], ["withdraw"]])
    let row = try #require(rows.first)
    #expect(row.id == "1-\(first.id.uuidString)" && row.tag == String(first.id.uuidString.prefix(8)))
    #expect(row.layer == 1 && row.name == "Put" && row.state == "waiting" && row.attempts == 0)
    #expect(row.submittedAt == bench.clock.wallClock().milliseconds && row.url == nil && row.status == nil)
    try await bench.layer.removeAll()
    bench.reachability.set(true)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `have the time of the next attempt, the request without secrets, and the latest status`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/a", with: .response(.serviceUnavailable, fields: [.retryAfter: "30"]), .json("{}"))
    let submission = try await bench.layer.submit(Put(name: "a"))
    let row = try #require(await bench.write { $0.until != nil })
    #expect(row.state == "waiting" && row.reason == "tries again")
    #expect(row.until == bench.clock.wallClock().milliseconds + 30_000)
    #expect(row.method == "PUT" && row.url == "https://api.example.com/v1/a" && row.status == 503)
    #expect(row.attempts == 1 && row.commands.isEmpty)
    bench.clock.advance(by: .seconds(30))
    try await submission.answer()
    try await bench.waitUntilNothingWaits()
  }

  @Test func `say that they pause, need a sign-in, or wait for an id`() async throws {
    let bench = Bench()
    bench.layer.outbox.pause()
    let creation = Create()
    try await bench.layer.submit(creation)
    try await bench.layer.submit(Put(name: creation.id.string, lane: "other"))
    #expect(bench.layer.writes?.map(\.reason) == ["paused", "paused"])
    bench.transport.answer("/v1/create", with: .response(.unauthorized))
    bench.layer.outbox.resume()
    _ = await bench.write { $0.reason == "waits for a sign-in" }
    bench.reachability.set(false)
    bench.layer.outbox.resume()
    let rows = try #require(bench.layer.writes).map { WriteRow($0, layer: 1) }
    #expect(rows.map(\.reason) == ["waits for connectivity", "waits for the id of \(rows[0].tag)"])
    try await bench.layer.removeAll()
    bench.reachability.set(true)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `the writes that an inspector shows that wait for a decision say which`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/a", with: .response(.unprocessableContent, body: Data("s3cret".utf8)))
    bench.transport.answer("/v1/b", with: .response(.preconditionFailed))
    try await bench.layer.submit(Put(name: "a", lane: "refused"))
    try await bench.layer.submit(Put(name: "b", lane: "conflicted"))
    let refused = try #require(await bench.write { $0.state == "refused" })
    #expect(refused.reason == "the server answered 422 with 6 bytes")
    #expect(refused.commands == ["retry", "discard"])
    let conflicted = try #require(await bench.write { $0.state == "conflicted" })
    #expect(conflicted.reason == "the value has changed on the server; waits for a decision")
    #expect(conflicted.commands == ["retry", "discard"])
    try await bench.layer.removeAll()
    try await bench.waitUntilNothingWaits()
  }

  @Test func `are sent again only when they change, within a second even where no outbox reports it`() async throws {
    let bench = Bench()
    bench.reachability.set(false)
    try await bench.layer.submit(Put(name: "a"))
    let inspector = Inspector(bench)
    var feed = await inspector.live()
    #expect(try await feed.frame().writes?.count == 1)
    try await bench.notes.save(Note(1, "one"), for: "note")
    #expect(try await feed.frame(after: bench.clock).writes == nil)
    try await bench.layer.submit(Put(name: "b"))
    #expect(try await feed.frame(after: bench.clock).writes?.count == 2)
    try await bench.layer.removeAll()
    bench.reachability.set(true)

    let silent = Bench()
    let layer = silent.drained
    try await layer.submit(Put(name: "c"))
    let other = Inspector(clock: silent.clock, now: silent.clock.wallClock)
    other.show(layer)
    feed = await other.live()
    #expect(try await feed.frame().writes?.rows.map(\.reason) == ["waits for its turn"])
    silent.reachability.set(false)
    silent.clock.advance(by: .seconds(1))
    #expect(try await feed.frame(after: silent.clock).writes?.rows.map(\.reason) == ["waits for connectivity"])
    try await bench.waitUntilNothingWaits()
  }

  @Test func `the writes that an inspector shows are five hundred at most, and counted beyond`() throws {
    let writes = (0...WriteList.limit).map { _ in WriteStatus(id: UUID(), lane: "main", name: "", state: .waiting) }
    let list = WriteList([(1, nil), (2, writes), (3, writes)])
    #expect(list.hasOutbox && list.count == 2 * writes.count)
    #expect(list.rows.map(\.id) == writes.dropLast().map { "2-\($0.id.uuidString)" })
  }
}

@Suite("What an inspector does to a write", .timeLimit(.minutes(5)))
struct WriteCommandTests {
  @Test func `withdraw takes back an unsent write`() async throws {
    let bench = Bench()
    bench.reachability.set(false)
    let inspector = Inspector(bench)
    let submission = try await bench.layer.submit(Put(name: "a"))
    let id = "1-\(submission.id.uuidString)"
    for command in ["retry", "discard"] {
      #expect(await inspector.post("/inspector/\(command)?write=\(id)").status == .conflict)
    }
    #expect(await inspector.post("/inspector/withdraw?write=\(id)", token: "x").status == .forbidden)
    #expect(bench.layer.outbox.entries.count == 1)
    #expect(await inspector.post("/inspector/withdraw?write=\(id)").status == .noContent)
    #expect(bench.layer.outbox.entries.isEmpty)
    #expect(await inspector.post("/inspector/withdraw?write=\(id)").status == .conflict)
    bench.reachability.set(true)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `retry sends a refused one again, and discard removes it`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/a", with: .response(.unprocessableContent), .response(.forbidden))
    let inspector = Inspector(bench)
    try await bench.layer.submit(Put(name: "a"))
    let id = try #require(await bench.write { $0.status == 422 }).id
    #expect(await inspector.post("/inspector/withdraw?write=\(id)").status == .conflict)
    #expect(await inspector.post("/inspector/retry?write=\(id)").status == .noContent)
    #expect(await bench.write { $0.status == 403 }?.state == "refused")
    #expect(bench.transport.requestCount == 2)
    #expect(await inspector.post("/inspector/discard?write=\(id)").status == .noContent)
    #expect(bench.layer.outbox.entries.isEmpty)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `is refused for a write of no layer that is shown`() async throws {
    let bench = Bench()
    bench.reachability.set(false)
    let inspector = Inspector(bench)
    let write = try await bench.layer.submit(Put(name: "a")).id.uuidString
    for id in ["2-\(write)", write, "1-", "-\(write)", "1-\(write)x", ""] {
      #expect(await inspector.post("/inspector/withdraw?write=\(id)").status == .notFound, "\(id)")
    }
    #expect(bench.layer.outbox.entries.count == 1)
    try await bench.layer.removeAll()
    bench.reachability.set(true)
    try await bench.waitUntilNothingWaits()
  }
}

@Suite("A hostile write", .timeLimit(.minutes(5)))
struct HostileWriteTests {
  static let names = [
    "</script><img src=x onerror=alert(1)>", "main\n\ndata: {\"isFirst\":true}\n\n", "\u{2028}\r\n: x", "\"}]",
    "\u{202E}niam",
    "",
  ]

  @Test(arguments: names) func `has its lane as it is, in one line of JSON`(_ name: String) async throws {
    let bench = Bench()
    bench.reachability.set(false)
    try await bench.layer.submit(Put(name: "a", lane: Lane(rawValue: name)))
    let inspector = Inspector(bench)
    var feed = await inspector.live()
    let data = try #require(await feed.next())
    #expect(try ReadFrame(data).writes?.rows.map(\.lane) == [name])
    #expect(data.dropLast(2).allSatisfy { $0 != 0x0A && $0 != 0x0D })
    try await bench.layer.removeAll()
    bench.reachability.set(true)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a hostile write shows no secret of its URL, its error or its mutation`() async throws {
    let bench = Bench()
    let storage = MemoryOutboxStorage()
    let first = bench.layer(with: OutboxConfiguration(storage: storage, mutations: []))
    // Frozen while `pin` was no secret.
    bench.transport.answer("/v1/a", with: .response(.unprocessableContent, body: Data("s3cret".utf8)))
    try await first.submit(Put(name: "a", pin: "s3cret"))
    for await entries in first.outbox.states where entries.contains(where: { $0.status == 422 }) { break }
    first.outbox.pause()
    try await first.submit(Code(text: "s3cret"))
    await first.outbox.stop()

    let second = bench.layer(
      with: OutboxConfiguration(storage: storage, mutations: [Put.self, Strict.self]), secretQueryItems: ["pin"])
    try await second.outbox.reload()
    let inspector = Inspector(clock: bench.clock, now: bench.clock.wallClock)
    inspector.show(second)
    var feed = await inspector.live()
    let data = try #require(await feed.next())
    let rows = try #require(try ReadFrame(data).writes).rows
    #expect(rows.map(\.state) == ["refused", "unreadable"])
    #expect(rows.first?.url == "https://api.example.com/v1/a?pin=…")
    #expect(rows.last?.reason == "the mutation Code cannot be encoded or decoded")
    #expect(rows.last?.commands == ["discard"])
    #expect(!String(decoding: data, as: UTF8.self).contains("s3cret"))
    // The program itself learns the whole reason.
    guard case .unreadable(let reason) = second.outbox.entries.last?.state else {
      Issue.record("the entry can be read")
      return
    }
    #expect(reason.contains("s3cret"))
    try await bench.waitUntilNothingWaits()
  }
}

/// A PUT whose conflicts wait for the program.
private struct Put: Mutation {
  static var name: String { "Put" }
  static var onConflict: ConflictPolicy { .ask }

  var name: String
  var pin: String?
  var lane: Lane = .main

  func request(_ known: Known) -> Resource {
    guard let pin else { return Resource("\(name)", method: .put) }
    return Resource("\(name)", method: .put, query: ["pin": pin])
  }
}

/// A POST whose answer gives an id.
private struct Create: Mutation {
  var id = TemporaryID()

  func request(_ known: Known) -> Resource { Resource("create", method: .post) }
  func settle(_ answer: Void, _ settlement: inout Settlement) { settlement.identify(id, as: 1) }
}

/// A mutation that a later release reads otherwise.
private struct Code: Mutation {
  var text: String

  func request(_ known: Known) -> Resource { Resource("code", method: .post) }
}

/// The later release: its decoding quotes what it finds.
private struct Strict: Mutation {
  static var name: String { "Code" }

  init(from decoder: any Decoder) throws {
    let text = try decoder.container(keyedBy: Key.self).decode(String.self, forKey: .text)
    throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "\(text) is no code"))
  }

  func encode(to encoder: any Encoder) {}
  func request(_ known: Known) -> Resource { Resource("code", method: .post) }

  private enum Key: CodingKey { case text }
}

extension Bench {
  /// Returns the first write that `isWanted`, once there is one.
  fileprivate func write(_ isWanted: (WriteRow) -> Bool) async -> WriteRow? {
    for await _ in layer.outbox.states {
      let rows = (layer.writes ?? []).map { WriteRow($0, layer: 1) }
      if let row = rows.first(where: isWanted) { return row }
    }
    return nil
  }

  /// A layer whose outbox sends nothing by itself.
  fileprivate var drained: ModelLayer {
    var outbox = OutboxConfiguration()
    outbox.sendsByItself = false
    return layer(with: outbox)
  }

  fileprivate func layer(with outbox: OutboxConfiguration, secretQueryItems: Set<String> = []) -> ModelLayer {
    var configuration = ReactorConfiguration()
    configuration.clock = clock
    configuration.now = clock.wallClock
    configuration.keepUnusedFor = .never
    configuration.retry = .never
    configuration.secretQueryItems = secretQueryItems
    return ModelLayer(
      backend: Backend(baseURL: Bench.url, transport: transport, reachability: reachability),
      configuration: configuration, extensions: [.outbox(outbox)])
  }
}
