import ReactorTesting
import ServerSentEvents
import Testing

@Suite("An encoded event") struct EncodingTests {
  private func parsed(_ bytes: [UInt8]) throws -> [ServerSentEvent] {
    var (parser, events) = (EventStreamParser(), [ServerSentEvent]())
    try parser.feed(bytes) { events.append($0) }
    return events
  }

  @Test(arguments: [
    ServerSentEvent(data: "a"), ServerSentEvent(data: ""), ServerSentEvent(data: " a "), ServerSentEvent(data: "\n"),
    ServerSentEvent(data: "a\n\nb\n"),
    ServerSentEvent(type: "x: y", data: "é\0\u{2028}", id: " 7:ä ", retry: .seconds(3)),
    ServerSentEvent(type: " message", data: "data: a", retry: .zero), ServerSentEvent(data: "\u{FEFF}", id: "\u{FEFF}"),
  ])
  func `is parsed as itself`(event: ServerSentEvent) throws {
    #expect(try parsed(try event.encoded) == [event])
  }

  @Test func `has its data in lines, whatever ends them`() throws {
    let event = ServerSentEvent(data: "a\rb\r\nc\nd\r")
    #expect(try event.encoded == Array("data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n".utf8))
    #expect(try parsed(event.encoded).map(\.data) == ["a\nb\nc\nd\n"])
  }

  @Test func `writes its fields, and none for what a client assumes`() throws {
    let event = ServerSentEvent(type: "change", data: "{}", id: "7", retry: .milliseconds(1_500))
    #expect(try event.encoded == Array("id: 7\nevent: change\nretry: 1500\ndata: {}\n\n".utf8))
    #expect(try ServerSentEvent(data: "").encoded == Array("data: \n\n".utf8))
    #expect(try ServerSentEvent(data: "", retry: .seconds(-1)).encoded == Array("retry: 0\ndata: \n\n".utf8))
    #expect(try ServerSentEvent(data: "", retry: .seconds(Int64.max)).encoded.count < 50)
  }

  @Test(arguments: [
    ServerSentEvent(type: "a\ndata: b", data: ""), ServerSentEvent(type: "a\r", data: ""),
    ServerSentEvent(type: "a\r\n", data: ""), ServerSentEvent(data: "", id: "1\nretry: 0"),
    ServerSentEvent(data: "", id: "\r"), ServerSentEvent(data: "", id: "\r\n"), ServerSentEvent(data: "", id: "a\0"),
  ])
  func `is refused where a field would become another`(event: ServerSentEvent) {
    #expect(throws: EventSourceError.self) { try event.encoded }
  }

  @Test func `comments are no events, of any number of lines`() throws {
    #expect(ServerSentEvent.comment() == Array(":\n\n".utf8))
    #expect(ServerSentEvent.comment("a\r\ndata: b\n") == Array(": a\n: data: b\n:\n\n".utf8))
    #expect(try parsed(ServerSentEvent.comment("a\ndata: b\r\rdata: c")).isEmpty)
  }

  @Test func `any event is parsed as itself, with a line feed for each end of its lines`() throws {
    var generator = SeededGenerator(seed: .random(in: 0 ... .max))
    let letters = Array("ab: \r\n\0é\u{2028}\u{FEFF}".unicodeScalars)
    func text(_ generator: inout SeededGenerator) -> String {
      String(
        String.UnicodeScalarView(
          (0..<Int.random(in: 0...8, using: &generator)).compactMap { _ in
            letters.randomElement(using: &generator)
          }))
    }
    for _ in 0..<2_000 {
      let event = ServerSentEvent(type: text(&generator), data: text(&generator), id: text(&generator))
      guard let bytes = try? event.encoded else { continue }
      var expected = event
      if event.type.isEmpty { expected.type = "message" }
      // By scalars: a line end that is replaced may make a CRLF of its neighbours, which is one
      // character.
      let scalars = Array(event.data.unicodeScalars)
      let isSecond = { $0 > 0 && scalars[$0] == "\n" && scalars[$0 - 1] == "\r" }
      let ends = scalars.indices.filter { !isSecond($0) }.map { scalars[$0] == "\r" ? "\n" : scalars[$0] }
      expected.data = String(String.UnicodeScalarView(ends))
      #expect(try parsed(bytes).map { [$0.type, $0.data, $0.id] } == [[expected.type, expected.data, expected.id]])
    }
  }
}
