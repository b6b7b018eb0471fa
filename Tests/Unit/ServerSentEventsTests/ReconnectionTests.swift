import Foundation
import HTTPTypes
import ReactorCore
import Testing

@testable import ServerSentEvents

@Suite("The decision about the next connection") struct ReconnectionTests {
  private let now = Date(timeIntervalSince1970: 1_795_262_400)

  /// The decision as text, with the wait at its ceiling.
  private func decision(
    _ reconnection: inout Reconnection, _ outcome: Reconnection.Outcome, random: Double = 1
  ) -> String {
    switch reconnection.decision(after: outcome, now: now, random: random) {
    case .end: "end"
    case .fail(.request(.server(let response, _))): "fail \(response.status.code)"
    case .fail(.notAnEventStream): "fail type"
    case .fail(.request(.network)): "fail network"
    case .fail: "fail"
    case .reconnect(let delay): "\(delay / .seconds(1))"
    }
  }

  private func refused(_ status: Int, _ fields: HTTPFields = [:]) -> Reconnection.Outcome {
    .refused(.request(.server(HTTPResponse(status: .init(code: status), headerFields: fields), body: Data())))
  }

  private let lost = EventSourceError.request(.network(TransportError.connectionFailed("reset")))

  @Test(arguments: [
    (400, "fail 400"), (401, "fail 401"), (403, "fail 403"), (404, "fail 404"), (409, "fail 409"), (410, "fail 410"),
    (301, "fail 301"), (408, "2.0"), (425, "2.0"), (429, "2.0"), (500, "2.0"), (501, "2.0"), (502, "2.0"), (503, "2.0"),
    (504, "2.0"), (599, "2.0"),
  ])
  func `after a status is what the table of EventSource says`(status: Int, expected: String) {
    var reconnection = Reconnection()
    #expect(decision(&reconnection, refused(status)) == expected)
  }

  @Test func `ends with 204`() {
    var reconnection = Reconnection()
    #expect(decision(&reconnection, .noContent) == "end")
  }

  @Test func `drops a position that the server has forgotten, once`() {
    var reconnection = Reconnection(lastEventID: "7")
    #expect(decision(&reconnection, refused(410)) == "2.0")
    #expect(reconnection.lastEventID == "")
    #expect(decision(&reconnection, refused(410)) == "fail 410")
  }

  @Test func `waits twice as long after each failure, up to a minute, at a random point of it`() {
    var reconnection = Reconnection()
    let delays = (0..<8).map { _ in decision(&reconnection, refused(503)) }
    #expect(delays == ["2.0", "4.0", "8.0", "16.0", "32.0", "60.0", "60.0", "60.0"])
    #expect(decision(&reconnection, refused(503), random: 0.5) == "30.0")
    #expect(decision(&reconnection, refused(503), random: 0) == "0.0")
  }

  @Test(arguments: [
    ("30", "30.0"), ("1", "2.0"), ("86400", "600.0"), ("x", "2.0"), ("99999999999999999999", "600.0"),
    ("Sat, 21 Nov 2026 12:00:30 GMT", "30.0"),
  ])
  func `waits as long as the server asks, within ten minutes`(field: String, expected: String) {
    var reconnection = Reconnection()
    #expect(decision(&reconnection, refused(503, [.retryAfter: field])) == expected)
  }

  @Test func `is reset by ten seconds of life, not by a response`() {
    var reconnection = Reconnection()
    let closed = { (life: Duration) in Reconnection.Outcome.ended(nil, life: life) }
    var delays: [String] = []
    for life in [Duration.seconds(1), .seconds(9.9), .seconds(1), .seconds(10), .zero] {
      reconnection.connected()
      delays.append(decision(&reconnection, closed(life)))
    }
    #expect(delays == ["2.0", "4.0", "8.0", "2.0", "2.0"])
    #expect(decision(&reconnection, .refused(lost)) == "4.0")
  }

  @Test func `takes an end behind an event for a long poll, and a cut for a failure`() {
    var reconnection = Reconnection()
    for _ in 0..<3 {
      reconnection.connected()
      reconnection.received(.event(ServerSentEvent(data: "a")))
      #expect(decision(&reconnection, .ended(nil, life: .zero)) == "2.0")
    }
    for expected in ["2.0", "4.0"] {
      reconnection.connected()
      reconnection.received(.event(ServerSentEvent(data: "a")))
      #expect(decision(&reconnection, .ended(lost, life: .zero)) == expected)
    }
    // The events of an earlier connection do not count, nor do signs of life.
    reconnection.connected()
    reconnection.received(.life)
    #expect(decision(&reconnection, .ended(nil, life: .zero)) == "8.0")
  }

  @Test(arguments: [(3_000, "3.0"), (0, "0.1"), (99, "0.1"), (90_000, "90.0"), (86_400_000, "600.0")])
  func `begins with the wait of the stream, within its bounds`(milliseconds: Int, expected: String) {
    var reconnection = Reconnection()
    reconnection.connected()
    reconnection.received(.retry(.milliseconds(milliseconds)))
    #expect(decision(&reconnection, .ended(nil, life: .seconds(10))) == expected)
  }

  @Test func `grows a wait of the stream beyond a minute no more`() {
    var reconnection = Reconnection()
    reconnection.received(.retry(.seconds(90)))
    for _ in 0..<3 { #expect(decision(&reconnection, .refused(lost)) == "90.0") }
  }

  @Test func `fails with a type that is no event stream, but after a success asks within five minutes`() {
    let page = Reconnection.Outcome.refused(.notAnEventStream(contentType: "text/html"))
    var reconnection = Reconnection()
    #expect(decision(&reconnection, page) == "fail type")
    reconnection.connected()
    #expect((0..<10).map { _ in decision(&reconnection, page) }.last == "300.0")
  }

  @Test func `keeps the position of events and of blocks without data`() {
    var reconnection = Reconnection(lastEventID: "0")
    reconnection.received(.event(ServerSentEvent(data: "a", id: "1")))
    #expect(reconnection.lastEventID == "1")
    reconnection.received(.position("2"))
    #expect(reconnection.lastEventID == "2")
    reconnection.received(.life)
    #expect(reconnection.lastEventID == "2")
    reconnection.received(.position(""))
    #expect(reconnection.lastEventID == "")
  }

  @Test func `fails with an error that comes again`() {
    var reconnection = Reconnection()
    for error in [
      EventSourceError.lineTooLong(limit: 1), .eventTooLarge(limit: 1), .idTooLong(limit: 1), .request(.cancelled),
    ] {
      reconnection.connected()
      #expect(decision(&reconnection, .ended(error, life: .seconds(10))) == "fail")
    }
    #expect(decision(&reconnection, .refused(.request(.streamingUnsupported))) == "fail")
    #expect(decision(&reconnection, .refused(.request(.invalidResource("")))) == "fail")
  }

  @Test func `fails with the last failure after as many attempts as the policy allows`() {
    var policy = RetryPolicy.reconnecting
    policy.attempts = 3
    var reconnection = Reconnection(policy)
    #expect((0..<3).map { _ in decision(&reconnection, refused(503)) } == ["2.0", "4.0", "fail 503"])
    reconnection = Reconnection(policy)
    #expect((0..<3).map { _ in decision(&reconnection, .ended(nil, life: .zero)) } == ["2.0", "4.0", "fail network"])
  }
}
