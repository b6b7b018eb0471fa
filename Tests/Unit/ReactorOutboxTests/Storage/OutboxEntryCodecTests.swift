import Foundation
import HTTPCaching
import Testing

@testable import ReactorOutbox

@Suite struct `Coding of an entry` {
  @Test(arguments: OutboxEntry.samples) func `an entry comes back as it was encoded`(_ entry: OutboxEntry) throws {
    #expect(try OutboxEntry(decoding: entry.stored()) == entry)
  }

  @Test func `the format's bytes are pinned`() throws {
    let id = try #require(UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F"))
    var entry = OutboxEntry(
      id: id, lane: "main", name: "AddPost", version: 1, arguments: Data("{}".utf8),
      submittedAt: Date(timeIntervalSinceReferenceDate: 1), idempotencyWindow: 86_400)
    #expect(
      try hex(entry.encoded()) == """
        895852544f42450a\
        9b5087dd583776ee\
        0100000000000000\
        6000000000000000\
        10000102030405060708090a0b0c0d0e0f\
        046d61696e0777616974696e6707416464506f7374\
        0100000000000000027b7d000000000000f03f\
        0000000000000000000000000000000000000000\
        000000000018f54000000000000000000000\
        00
        """)
    entry.awaited = ["tmp-1"]
    entry.draftStaysUntil = entry.submittedAt
    #expect(try hex(entry.encoded().suffix(15)) == "0105746d702d31000000000000f03f")
    entry.outcome = LastOutcome(.refused, status: 422, reason: "no", date: entry.submittedAt)
    entry.outcome?.refusal = LastOutcome.Refusal(contentType: "a/b", body: Data("{}".utf8))
    #expect(
      try hex(entry.encoded().suffix(34))
        == "0105746d702d3101000000000000f03f000103612f62020000000000000001027b7d")
  }

  private func hex(_ bytes: Data) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

  @Test func `a flipped bit at any place is found`() throws {
    let stored = try OutboxEntry.samples[1].stored()
    for index in stored.bytes.indices {
      for bit in 0..<8 {
        var damaged = stored
        damaged.bytes[index] ^= 1 << UInt8(bit)
        let error = #expect(throws: OutboxEntryError.self, "byte \(index), bit \(bit)") {
          try OutboxEntry(decoding: damaged)
        }
        if case .newerFormat = error { Issue.record("byte \(index), bit \(bit) is taken for a newer format") }
      }
    }
  }

  @Test func `an entry that is cut off or continued is found`() throws {
    let stored = try OutboxEntry.samples[1].stored()
    for count in stored.bytes.indices {
      var cut = stored
      cut.bytes = stored.bytes.prefix(count)
      #expect(throws: OutboxEntryError.truncated, "\(count) bytes") { try OutboxEntry(decoding: cut) }
    }
    var longer = stored
    longer.bytes.append(0)
    #expect(throws: OutboxEntryError.self) { try OutboxEntry(decoding: longer) }
  }

  @Test func `bytes under another id or lane are refused`() throws {
    let stored = try OutboxEntry.samples[0].stored()
    let other = StoredEntry(id: UUID(), number: stored.number, lane: stored.lane, bytes: stored.bytes)
    #expect(throws: OutboxEntryError.corrupt("its id belongs to another entry")) { try OutboxEntry(decoding: other) }
    var moved = stored
    moved.lane = "other"
    #expect(throws: OutboxEntryError.corrupt("it belongs to another lane")) { try OutboxEntry(decoding: moved) }
  }

  @Test func `an entry of a newer release is distinguished from a damaged one`() throws {
    var stored = try OutboxEntry.samples[0].stored()
    var writer = RecordWriter()
    writer.write(OutboxEntry.formatVersion + 1)
    stored.bytes.replaceSubrange(16..<24, with: writer.bytes)
    #expect(throws: OutboxEntryError.corrupt("the checksum is wrong")) { try OutboxEntry(decoding: stored) }
    writer = RecordWriter()
    writer.write(OutboxEntry.checksum([UInt8](stored.bytes)))
    stored.bytes.replaceSubrange(8..<16, with: writer.bytes)
    #expect(throws: OutboxEntryError.newerFormat(6)) { try OutboxEntry(decoding: stored) }
  }

  @Test func `an entry is read by each release that knows all of it`() throws {
    let formats = try OutboxEntry.samples.map { try $0.stored().bytes[16] }
    #expect(formats == [1, 1, 1, 2, 3, 4, 4, 5, 5, 5])
  }

  @Test(arguments: [
    ("Authorization", "https://api.example.com/posts"), ("proxy-AUTHORIZATION", "https://api.example.com/posts"),
    ("cookie", "https://api.example.com/posts"), ("Accept", "https://api.example.com/posts?access_TOKEN=secret-4711"),
    ("Accept", "https://user:secret-4711@api.example.com/posts"),
  ]) func `a request with a secret is not encoded, and the error does not have it`(field: String, url: String) throws {
    var entry = OutboxEntry.samples[0]
    entry.request = FrozenRequest(
      method: "POST", url: url, fields: [.init(name: field, value: "secret-4711")])
    let error = try #require(throws: OutboxEntryError.self) { try entry.encoded() }
    guard case .secret = error else { throw error }
    #expect(!"\(error)".contains("4711"))
  }

  @Test func `a program's own names of secrets are refused as well`() throws {
    var entry = OutboxEntry.samples[0]
    entry.request = FrozenRequest(method: "POST", url: "https://api.example.com/posts?pin=1")
    _ = try entry.encoded()
    #expect(throws: OutboxEntryError.secret("a query item, user or password of the URL")) {
      try entry.encoded(secretNames: ["PIN"])
    }
  }

  @Test func `an entry has at most a mebibyte`() throws {
    var entry = OutboxEntry.samples[0]
    let rest = try entry.encoded().count - entry.arguments.count
    // The number of the arguments takes two bytes more when they are large.
    entry.arguments = Data(count: StoredEntry.byteLimit - rest - 2)
    #expect(try entry.encoded().count == StoredEntry.byteLimit)
    entry.arguments.append(0)
    #expect(throws: OutboxEntryError.tooLarge(size: StoredEntry.byteLimit + 1, limit: StoredEntry.byteLimit)) {
      try entry.encoded()
    }
    entry.arguments = Data(count: StoredEntry.byteLimit * 2)
    #expect(throws: OutboxEntryError.self) { try entry.encoded() }
  }
}

extension OutboxEntry {
  /// A plain entry, one with the members of every format, one with unusual values, one that waits
  /// for ids, one whose draft stays, two with forms, and three that were refused with an answer.
  static var samples: [OutboxEntry] {
    let plain = OutboxEntry(
      id: UUID(), lane: "main", name: "AddPost", version: 1, arguments: Data("{}".utf8),
      submittedAt: Date(timeIntervalSinceReferenceDate: 800_000_000.125), idempotencyWindow: 86_400)
    var full = plain
    full.number = 7
    full.state = .unknown
    full.attempts = 3
    full.firstAttemptAt = plain.submittedAt + 1
    full.notBefore = plain.submittedAt + 60
    full.idempotencyKey = "\"k-1\""
    full.request = FrozenRequest(
      method: "POST", url: "https://api.example.com/posts",
      fields: [.init(name: "Content-Type", value: "application/json"), .init(name: "content-type", value: "ü")],
      body: Data(#"{"title": "one"}"#.utf8), isKeyed: true)
    full.outcome = LastOutcome(.later, status: 503, reason: "later", date: plain.submittedAt + 2)
    full.conflicts = 2
    full.endedAt = plain.submittedAt + 3
    var unusual = plain
    unusual.lane = "l\u{0}\r\nänes"
    unusual.version = -1
    unusual.arguments = Data()
    unusual.submittedAt = .distantPast
    unusual.idempotencyWindow = .infinity
    unusual.request = FrozenRequest(method: "PUT", url: "", body: Data())
    unusual.outcome = LastOutcome(.unknown, reason: "", date: .distantFuture)
    let waiting = plain.with { $0.awaited = [TemporaryID().string, "tmp-1"] }
    let staying = full.with { $0.draftStaysUntil = plain.submittedAt + 60 }
    let uploading = full.with { $0.request?.hasForm = true }
    let both = staying.with { $0.request?.hasForm = true }
    let refused = full.with { $0.outcome?.refusal = .init(contentType: "text/plain", body: Data("ü".utf8)) }
    let long = both.with { $0.outcome?.refusal = .init(contentType: nil, body: Data(count: 4_097)) }
    let bare = plain.with {
      $0.outcome = LastOutcome(.refused, status: 400, reason: "", date: .distantPast)
      $0.outcome?.refusal = .init(contentType: nil, body: Data())
    }
    return [plain, full, unusual, waiting, staying, uploading, both, refused, long, bare]
  }

  func stored() throws -> StoredEntry {
    StoredEntry(id: id, number: number, lane: lane, bytes: try encoded())
  }
}
