import Foundation
import HTTPTypes
import ReactorCore
import Testing

@testable import reactor

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct `A state's line` {
  private func line(_ state: LoadState<Data>) -> String { String(decoding: StateLine.bytes(state), as: UTF8.self) }

  @Test func `a state's line has its members in a fixed order, and the value as received`() {
    let state = LoadState(
      value: Data("{\"n\": 1.10,\n \"s\": \"a b\"}\n".utf8), error: .noConnectivity, fetchStatus: .paused,
      origin: .network, isStale: true, revision: 7)
    #expect(
      line(state) == #"{"value":{"n":1.10,"s":"a b"},"error":{"kind":"noConnectivity","#
        + #""message":"no connectivity, so nothing was sent; try again when online"},"fetchStatus":"paused","origin":"network","isStale":true}"#
        + "\n")
  }

  @Test func `a state's line has null for what there is not`() {
    #expect(
      line(LoadState()) == #"{"value":null,"error":null,"fetchStatus":"idle","origin":null,"isStale":false}"# + "\n")
  }

  @Test(arguments: [
    (Origin.memory, "memory"), (.persistence, "persistence"), (.network, "network"), (.local, "local"),
  ])
  func `a state's line names the origin`(origin: Origin, name: String) {
    #expect(line(LoadState(value: Data("1".utf8), origin: origin)).contains(#""origin":"\#(name)","#))
  }

  @Test(arguments: [(FetchStatus.idle, "idle"), (.fetching, "fetching"), (.paused, "paused")])
  func `a state's line names what is being done`(status: FetchStatus, name: String) {
    #expect(line(LoadState(fetchStatus: status)).contains(#""fetchStatus":"\#(name)","#))
  }

  @Test(arguments: [
    (ReactorError.noConnectivity, "noConnectivity", "no connectivity, so nothing was sent; try again when online"),
    (.cancelled, "cancelled", "interrupted"),
    (.timedOut, "timedOut", "timed out; try again, or give more time with --timeout"),
    (
      .notCached, "notCached",
      "not cached: the store has nothing for this request; choose a --policy that contacts the server"
    ),
    (.invalidResource("why"), "invalidResource", "why"),
    (
      .network(URLError(.cannotConnectToHost)), "network",
      "no server listens at that host and port (URLError -1004); check the URL"
    ),
    (
      .parser(ParserError(.notJSON, expected: "a value")), "parser",
      "the response is not JSON, so check the URL: a value"
    ),
    (.persistence(CocoaError(.fileWriteOutOfSpace)), "persistence", "the store failed: NSCocoaErrorDomain 640"),
  ])
  func `a state's line names the error, and tells it in words`(error: ReactorError, kind: String, message: String) {
    #expect(line(LoadState(error: error)).contains(#""error":{"kind":"\#(kind)","message":"\#(message)"},"#))
  }

  @Test func `a state's line has the server's status, and not what it said`() {
    let state = LoadState<Data>(error: .server(HTTPResponse(status: .notFound), body: Data("gone".utf8)))
    #expect(
      line(state).contains(
        #""error":{"kind":"server","status":404,"message":"the server answered 404; check the URL"},"#))
    #expect(!line(state).contains("gone"))
  }

  @Test(arguments: ["a \"quote\"", "a \\ b", "\"\u{301}", "a\nb\u{2028}c\u{1B}[31m\u{85}", "Grüße 👋", ""])
  func `a state's line stays one line of JSON, whatever an error says`(text: String) throws {
    let bytes = StateLine.bytes(LoadState(error: .invalidResource(text)))
    let value = try JSONValue(parsing: bytes)
    #expect(value["error.message"] == .string(TraceLine.oneLine(text)))
    #expect(bytes.filter { $0 < 0x20 } == Data("\n".utf8))
  }
}
