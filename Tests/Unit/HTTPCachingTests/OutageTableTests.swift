import HTTPCaching
import Testing

@Suite struct `A table of outages` {
  private struct Failure: Error {}
  private typealias Outcome = OutageTable<Failure>.Outcome

  private var table = OutageTable<Failure>()
  private let a = Self.key("https://api.example.com/a")
  private let b = Self.key("https://api.example.com/b?q=1")
  private let other = Self.key("https://cdn.example.com/a")
  private let refused = Outcome.failed(Failure(), ofConnection: true)
  private let unavailable = Outcome.failed(Failure(), ofConnection: false)

  private static func key(_ url: String) -> RecordKey { RecordKey(method: .get, url: url) }

  private mutating func admit(_ key: RecordKey, isAwaited: Bool = false, at seconds: Double) -> String {
    switch table.admit(key, isAwaited: isAwaited, at: .seconds(seconds)) {
    case .send: "send"
    case .sendOnce: "once"
    case .refuse: "refuse"
    }
  }

  @discardableResult
  private mutating func end(_ key: RecordKey, _ outcome: Outcome, at seconds: Double) -> OutageTable<Failure>.Change? {
    table.ended(key, with: outcome, at: .seconds(seconds), jitter: 0)
  }

  @Test mutating func `a failed connection is an outage of the whole server, and of no other`() {
    #expect(end(a, refused, at: 0) == .began)
    #expect(admit(b, at: 0.5) == "refuse")
    #expect(admit(other, at: 0.5) == "send")
    #expect(end(b, .answered, at: 3) == .ended(after: .seconds(3)))
    #expect(admit(a, at: 3) == "send")
    #expect(table.isEmpty)
  }

  @Test mutating func `one request at a time looks whether the server is back, and backs off`() {
    end(a, refused, at: 0)
    var sent: [Int] = []
    for tenth in 0..<1_000 where admit(tenth.isMultiple(of: 2) ? a : b, at: Double(tenth) / 10) == "once" {
      sent.append(tenth / 10)
      #expect(admit(b, at: Double(tenth) / 10) == "refuse")
      #expect(end(b, refused, at: Double(tenth) / 10) == nil)
    }
    #expect(sent == [1, 3, 7, 15, 31, 61, 91])
  }

  @Test mutating func `a caller without a fallback gets the error for a second, and then makes a request`() {
    end(a, refused, at: 0)
    end(a, refused, at: 10)
    #expect(admit(b, isAwaited: true, at: 10.9) == "refuse")
    #expect(admit(b, isAwaited: true, at: 11) == "once")
    #expect(admit(a, isAwaited: true, at: 11.5) == "once")
    #expect(admit(a, at: 11.5) == "refuse")
  }

  @Test mutating func `a status is an outage of one record, and five in a row are one of the server`() {
    #expect(end(a, unavailable, at: 0) == .began)
    #expect(admit(a, at: 0.5) == "refuse")
    #expect(admit(b, at: 0.5) == "send")
    for number in 1...4 { end(Self.key("https://api.example.com/\(number)"), unavailable, at: 0.5) }
    #expect(admit(b, at: 0.6) == "refuse")
  }

  @Test mutating func `failures with an answer in between are no outage of the server`() {
    for number in 1...20 {
      end(Self.key("https://api.example.com/\(number)"), unavailable, at: 0)
      end(a, .answered, at: 0)
    }
    #expect(admit(b, at: 0) == "send")
  }

  @Test mutating func `a request that says nothing of the server neither begins an outage nor ends it`() {
    #expect(end(a, .unknown, at: 0) == nil)
    #expect(table.isEmpty)
    end(a, refused, at: 0)
    #expect(admit(a, at: 1) == "once")
    #expect(end(a, .unknown, at: 1) == nil)
    #expect(admit(a, at: 1) == "once")
  }

  @Test mutating func `a request that never ends keeps the others away for half a minute`() {
    end(a, refused, at: 0)
    #expect(admit(a, at: 1) == "once")
    #expect(admit(a, at: 30.9) == "refuse")
    #expect(admit(a, at: 31) == "once")
  }

  @Test mutating func `no more than a thousand are remembered`() {
    for number in 0..<3_000 { end(Self.key("https://host-\(number).example.com/"), refused, at: Double(number)) }
    #expect(admit(Self.key("https://host-1999.example.com/"), at: 3_000) == "send")
    #expect(admit(Self.key("https://host-2999.example.com/"), at: 2_999) == "refuse")
  }
}
