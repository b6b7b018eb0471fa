import ServerSentEvents
import Testing

/// The streams of the web platform tests `eventsource/format-*`, each with the events that a
/// browser dispatches. `message.py` of these tests ends the streams with two line feeds, unless
/// said.
@Suite("The streams of the web platform tests") struct WebPlatformTests {
  static let streams: [(name: String, stream: String, data: [String])] = [
    ("bom", "\u{FEFF}data:1\n\n\u{FEFF}data:2\n\ndata:3\n\n", ["1", "3"]),
    ("bom-2", "\u{FEFF}\u{FEFF}data:1\n\ndata:2\n\ndata:3\n\n", ["2", "3"]),
    (
      "comments",
      "data:1\r:\0\n:\r\ndata:2\n:\(String(repeating: "x", count: 2_048))\rdata:3\n:data:fail\r:"
        + "\(String(repeating: "x", count: 2_048))\ndata:4\n\n", ["1\n2\n3\n4"]
    ),
    ("data-before-final-empty-line", "retry:1000\ndata:test1\n\nid:test\ndata:test2", ["test1"]),
    ("field-data", "data:\n\ndata\ndata\n\ndata:test\n\n", ["", "\n", "test"]),
    (
      "field-parsing",
      "data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n",
      ["\0\n 2\n1\n3\n\n4"]
    ),
    (
      "field-unknown", "data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n",
      ["test\n\ntest"]
    ),
    ("leading-space", "data:\ttest\rdata: \ndata:test\n\n", ["\ttest\n\ntest"]),
    ("newlines", "data:test\r\ndata\ndata:test\r\n\r", ["test\n\ntest"]),
    ("null-character", "data:\0\n\n", ["\0"]),
    ("utf-8", "data:ok…\n\n", ["ok…"]),
    ("field-event-empty", "event: \ndata:data\n\n", ["data"]),
  ]

  @Test(arguments: streams) func `have their events`(name: String, stream: String, data: [String]) throws {
    var (parser, found) = (EventStreamParser(), [String]())
    for byte in stream.utf8 { try parser.feed(CollectionOfOne(byte)) { found.append($0.data) } }
    #expect(found == data, "format-\(name)")
  }

  @Test func `keep the id for events without one, also of another connection (format-field-id-2)`() throws {
    var first = EventStreamParser()
    try first.feed("id: …\nretry: 200\ndata: hello\n\n".utf8) { #expect($0.id == "…") }
    var second = EventStreamParser(lastEventID: first.lastEventID)
    try second.feed("data: …\n\n".utf8) { #expect($0.id == "…") }
    #expect(second.lastEventID == "…")
  }
}
