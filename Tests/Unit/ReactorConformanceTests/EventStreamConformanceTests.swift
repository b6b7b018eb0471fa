import ReactorConformance
import ReactorTesting
import ServerSentEvents
import Testing

@Suite("The conformance suite for event streams") struct EventStreamConformanceTests {
  /// A parser with faults that many have: it needs a whole stream, and knows line feeds only.
  private static func faulty(_ pieces: [[UInt8]]) -> EventStreamConformance.Parsed {
    let blocks = String(decoding: pieces.joined(), as: UTF8.self).split(separator: "\n\n")
    return .init(
      events: blocks.compactMap { block in
        let lines = block.split(separator: "\n").filter { $0.hasPrefix("data:") }
        guard !lines.isEmpty else { return nil }
        return ServerSentEvent(data: lines.map { $0.dropFirst(5).trimmingPrefix(" ") }.joined(separator: "\n"))
      })
  }

  @Test func `finds the faults of a parser, and names their rows`() {
    withKnownIssue {
      EventStreamConformance { Self.faulty($0) }.run()
    } matching: { issue in
      issue.comments.contains { $0.rawValue.hasPrefix("row ") && $0.rawValue.contains("expected") }
    }
  }

  @Test func `finds a parser whose events depend on the pieces`() {
    withKnownIssue {
      EventStreamConformance { pieces in
        var (events, parser) = ([ServerSentEvent](), EventStreamParser())
        for piece in pieces {
          // A lone carriage return at the end of a piece waits for the next one.
          if pieces.count == 2, piece.last == 0x0D { continue }
          try parser.feed(piece) { events.append($0) }
        }
        return .init(events: events)
      }.run()
    }
  }
}
