import Foundation
import HTTPTypes
import ReactorCore
import Testing

@testable import reactor

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct `An exit status` {
  @Test(arguments: [
    (ReactorError.noConnectivity, 69, "no connectivity"), (.cancelled, 130, "interrupted"),
    (.timedOut, 75, "timed out"),
    (.notCached, 66, "not cached"), (.invalidResource("why"), 64, "why"),
    (.network(URLError(.cannotConnectToHost)), 69, "no server listens"),
    (.network(URLError(.unsupportedURL)), 69, "URLError"),
    (.server(HTTPResponse(status: .notFound), body: Data()), 76, "answered 404"),
    (.parser(ParserError(.notJSON, codingPath: "a[1]", expected: "a value")), 65, "a value at a[1]"),
    (.persistence(CocoaError(.fileWriteOutOfSpace)), 74, "the store failed"),
  ])
  func `has the code and the words of its error`(error: ReactorError, code: Int32, words: String) {
    let status = ExitStatus(error)
    #expect(status.code == code)
    #expect(status.text.contains(words))
    #expect(status.body.isEmpty)
  }

  @Test func `carries what the server said`() {
    let status = ExitStatus(.server(HTTPResponse(status: .notFound), body: Data("gone".utf8)))
    #expect(status.body == Data("gone".utf8))
  }
}

@Suite struct `A line of the trace` {
  @Test func `stays one line, whatever the text`() {
    #expect(TraceLine.oneLine("a\nb\r\nc\u{2028}d\u{1B}[31m") == #"a\nb\r\nc\u{2028}d\u{1B}[31m"#)
    #expect(TraceLine.oneLine("Grüße 👋 \"x\"") == "Grüße 👋 \"x\"")
  }
}
