import Foundation
import HTTPTypes
import Testing

@testable import ReactorCore
@testable import ReactorInspector

@Suite("The row of a key")
struct KeyRowTests {
  private static let key = RecordKey(method: .get, url: "https://a.example/notes")
  private static let subject = Subject(layer: 1, key: key)

  private static func status(
    _ model: String, _ condition: KeyStatus.Condition = .fresh, fetchedAt: Double? = 0, lifetime: Double? = 60,
    bytes: Int = 0, observers: Int = 0, waiters: Int = 0, phase: FlightPhase? = nil, error: ReactorError? = nil
  ) -> KeyStatus {
    KeyStatus(
      key: key, model: model, condition: condition, origin: fetchedAt == nil ? nil : .network,
      fetchedAt: fetchedAt.map { Date(timeIntervalSince1970: $0) }, age: fetchedAt.map { _ in 1.5 }, lifetime: lifetime,
      bytes: bytes, observers: observers, waiters: waiters, phase: phase, error: error)
  }

  @Test func `the row of several models shows the newest copy, with all waiters and observers`() {
    let row = KeyRow(
      Self.subject,
      [
        Self.status("B", .fresh, fetchedAt: 9, bytes: 5, observers: 1, error: .timedOut),
        Self.status("A", .stale, fetchedAt: 3, bytes: 7, observers: 2, waiters: 4, phase: .paused),
      ], last: nil)
    #expect(row.model == "A, B" && row.state == "fresh" && row.origin == "network")
    #expect(row.bytes == 7 && row.observers == 3 && row.waiters == 4 && row.phase == "paused" && row.hasFailed)
    #expect(row.age == 1_500 && row.lifetime == 60_000)
    #expect(row.key == "GET https://a.example/notes")
  }

  @Test func `without a copy is absent, or failed where that came last`() {
    let failed = TimelineEvent(at: 7, name: .failed, model: "Note")
    #expect(KeyRow(Self.subject, [], last: nil).state == "absent")
    #expect(KeyRow(Self.subject, [], last: TimelineEvent(at: 7, name: .evicted, model: "Note")).state == "absent")
    let row = KeyRow(Self.subject, [], last: failed)
    #expect(row.state == "failed" && row.hasFailed && row.model == "Note" && row.seen == 7)
    #expect(KeyRow(Self.subject, [Self.status("A", .absent, fetchedAt: nil)], last: failed).state == "absent")
  }

  @Test(arguments: [Double.infinity, 1e300, .nan]) func `the row of a copy without a lifetime has no end of freshness`(
    _ lifetime: Double
  ) {
    #expect(KeyRow(Self.subject, [Self.status("A", lifetime: lifetime)], last: nil).lifetime == nil)
  }

  @Test func `its details have the limits of requests, with the time of more, and the equivalent that was used`() throws
  {
    func detail(_ fields: HTTPFields, _ kind: ReactorEvent.Kind? = nil) throws -> String {
      var status = Self.status("A", fetchedAt: 10)
      status.head = Record.Head(
        identity: "", status: .ok, fields: fields, requestedAt: .distantPast, receivedAt: .distantPast)
      var ledger = Ledger()
      if let kind { ledger.record(ReactorEvent(key: Self.key, model: "A", kind: kind), of: 1, at: 1) }
      let detail = KeyDetail(Self.subject, [status], ledger.histories[Self.subject], now: 0)
      return String(decoding: try JSONEncoder().encode(detail), as: UTF8.self)
    }
    let name = try #require(HTTPField.Name("RateLimit"))
    let limits = try detail([name: #""burst";r=0;t=30, "day";r=7"#])
    #expect(limits.contains(#""until":40000"#))
    #expect(limits.contains(#""policy":"burst""#) && limits.contains(#""remaining":7"#))
    // Those of a response from another cache are out of date.
    #expect(try detail([name: #""burst";r=0;t=30"#, .age: "3"]).contains(#""limits":[]"#))
    let other = RecordKey(method: .get, url: "https://a.example/notes?u=1")
    #expect(try detail([:], .equivalentHit(of: other)).contains(#""reason":"GET https:\/\/a.example\/notes?u=1""#))
  }

  @Test(arguments: TimelineEvent.Name.allCases) func `and any event can be sent`(_ name: TimelineEvent.Name) throws {
    let event = TimelineEvent(at: .infinity, name: name, duration: .nan, model: "Note")
    #expect(try JSONEncoder().encode(event).isEmpty == false)
  }
}
