import ReactorConformance
import ReactorTesting
import ServerSentEvents
import TestSupport
import Testing

/// The page *The rules of event streams* is this suite's input, so that it says what is.
@Suite("Every rule of event streams") struct EventStreamRulesTests {
  private static let tables =
    (try? Repository.markdown("Sources/ServerSentEvents/ServerSentEvents.docc/EventStreams.md").tables) ?? []

  @Test func `the page has each row once, and the suite for any parser the same ones`() throws {
    // The third one has servers that were run.
    try #require(Self.tables.count == 3)
    #expect(Self.tables[0].rows == EventStreamConformance.Row.all.map(\.cells))
    let numbers = Self.tables.prefix(2).flatMap(\.rows).compactMap(\.first).compactMap { Int($0) }
    #expect(numbers.sorted() == Array(1...54))
    // The rows of the second table, each of which has a test in these suites.
    #expect(Self.tables[1].rows.compactMap(\.first) == ["35", "36", "49", "50", "51", "52", "53", "54"])
  }

  @Test func `every stream is parsed as its row says, cut at every byte`() {
    EventStreamConformance { pieces in
      var parser = EventStreamParser()
      var events: [ServerSentEvent] = []
      for piece in pieces { try parser.feed(piece) { events.append($0) } }
      return .init(
        events: events, lastEventID: parser.lastEventID,
        retry: parser.retry.map { $0 / .milliseconds(1) }.map { Int64($0) })
    }.run()
  }

  @Test func `a stream is read as UTF-8, whatever its piece begins with`() throws {
    #expect(try events(in: Array("data:ok…\n\n".utf8)) == [ServerSentEvent(data: "ok…")])
  }

  @Test func `a line over the limit ends the stream, and keeps the position`() throws {
    let longest = [UInt8](repeating: UInt8(ascii: "a"), count: 1 << 20)
    for ending in [[], Array("\n\ndata:b\n\n".utf8)] {
      var parser = EventStreamParser()
      try parser.feed("id:1\n\nid:2\n".utf8) { _ in }
      try parser.feed(longest) { _ in Issue.record("an event") }
      let error = #expect(throws: EventSourceError.self) {
        try parser.feed([UInt8(ascii: "a")] + ending) { _ in Issue.record("an event") }
      }
      #expect(error.map { "\($0)" } == "\(EventSourceError.lineTooLong(limit: 1_048_576))")
      #expect(parser.lastEventID == "1")
      // The stream has ended, whatever comes.
      #expect(throws: EventSourceError.self) { try parser.feed("\n\n".utf8) { _ in Issue.record("an event") } }
    }
    var parser = EventStreamParser()
    #expect(throws: EventSourceError.self) {
      try parser.feed(longest + Array("a\n".utf8)) { _ in Issue.record("an event") }
    }
    var whole = EventStreamParser()
    try whole.feed(longest + Array("\n".utf8)) { _ in }
  }

  @Test func `an event over the limit ends the stream, behind the events before it`() throws {
    let lines = Array(String(repeating: "data:\n", count: 1_000_000).utf8)
    var parser = EventStreamParser()
    var count = 0
    let error = #expect(throws: EventSourceError.self) {
      try parser.feed(Array("data:a\n\n".utf8) + lines) { _ in count += 1 }
    }
    #expect(error.map { "\($0)" } == "\(EventSourceError.eventTooLarge(limit: 4_194_304))")
    #expect(count == 1)
  }

  @Test func `the comments of a quiet stream have no limit`() throws {
    var parser = EventStreamParser()
    let comments = Array(String(repeating: ":\n", count: 3_000_000).utf8)
    try parser.feed(comments) { _ in Issue.record("an event") }
    try parser.feed("data:a\n\n".utf8) { #expect($0.data == "a") }
  }

  @Test func `an id over the limit ends the stream`() throws {
    var parser = EventStreamParser()
    try parser.feed("id:\(String(repeating: "a", count: 1_024))\n\n".utf8) { _ in }
    #expect(parser.lastEventID.utf8.count == 1_024)
    let error = #expect(throws: EventSourceError.self) {
      try parser.feed("id:\(String(repeating: "a", count: 1_025))\ndata:a\n\n".utf8) { _ in Issue.record("an event") }
    }
    #expect(error.map { "\($0)" } == "\(EventSourceError.idTooLong(limit: 1_024))")
  }

  @Test func `a new parser begins with the position of the last one`() throws {
    var parser = EventStreamParser(lastEventID: "7")
    try parser.feed("data:a\n\n".utf8) { #expect($0 == ServerSentEvent(data: "a", id: "7")) }
    #expect(parser.lastEventID == "7")
  }

  @Test func `a wait of any number of digits is at most a year`() throws {
    var parser = EventStreamParser()
    try parser.feed("retry:99999999999999999999\n".utf8) { _ in }
    #expect(parser.retry == .seconds(365 * 86_400))
  }

  private func events(in bytes: [UInt8]) throws -> [ServerSentEvent] {
    var (parser, events) = (EventStreamParser(), [ServerSentEvent]())
    try parser.feed(bytes) { events.append($0) }
    return events
  }
}
