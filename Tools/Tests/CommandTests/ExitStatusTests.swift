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
    (
      .parser(ParserError(.notJSON, codingPath: "a[1]", expected: "a value")), 65,
      "not JSON, so check the URL: a value at a[1]"
    ),
    (.persistence(CocoaError(.fileWriteOutOfSpace)), 74, "the store failed"),
  ])
  func `an exit status has the code and the words of its error`(error: ReactorError, code: Int32, words: String) {
    let status = ExitStatus(error)
    #expect(status.code == code)
    #expect(status.text.contains(words))
    #expect(status.body.isEmpty)
  }

  @Test(arguments: [
    (
      ReactorError.noConnectivity, "no connectivity, so nothing was sent; try again when online",
      "no connectivity, so nothing was sent; try again when online, or save the request with reactor send"
    ),
    (
      .network(URLError(.cannotConnectToHost)),
      "no server listens at that host and port (URLError -1004); check the URL",
      "no server listens at that host and port (URLError -1004); check the URL, or save the request with reactor send"
    ),
    (
      .network(URLError(.networkConnectionLost)),
      "the connection was lost before the response was complete (URLError -1005); try again",
      "the connection was lost before the response was complete (URLError -1005); the server may have carried it out, "
        + "so check before you send it again"
    ),
    (
      .network(CocoaError(.fileNoSuchFile)), "the request failed: NSCocoaErrorDomain 4",
      "the request failed: NSCocoaErrorDomain 4; the server may have carried it out, so check before you send it again"
    ),
    (
      .network(URLError(.serverCertificateUntrusted)),
      "the server's certificate is not trusted (URLError -1202); check the host's name and the certificate",
      "the server's certificate is not trusted (URLError -1202); check the host's name and the certificate"
    ),
    (
      .timedOut, "timed out; try again, or give more time with --timeout",
      "timed out; the server may have carried it out, so check before you send it again"
    ),
    (
      .parser(ParserError(.missing, expected: "a member")),
      "the response cannot be read, so check --key-path and --require: a member",
      "the server accepted the request, and its response cannot be read, so check --key-path and --require: a member"
    ),
    (
      .server(HTTPResponse(status: .unauthorized), body: Data()),
      "the server answered 401; check the credential, as in --header 'Authorization: …'",
      "the server answered 401; check the credential, as in --header 'Authorization: …'"
    ),
  ])
  func `an exit status names the request, what happened and what to do, also about a change`(
    error: ReactorError, read: String, changed: String
  ) throws {
    let url = try #require(URL(string: "http://h/a?token=s3cret"))
    for method in [HTTPRequest.Method.get, .options] {
      let status = ExitStatus(error, of: FetchedRequest(method: method, url: url))
      #expect(status.text == "\(method.rawValue) h/a: \(read)")
    }
    #expect(ExitStatus(error, of: FetchedRequest(method: .post, url: url)).text == "POST h/a: \(changed)")
  }

  @Test func `an exit status carries what the server said`() {
    let status = ExitStatus(.server(HTTPResponse(status: .notFound), body: Data("gone".utf8)))
    #expect(status.body == Data("gone".utf8))
  }
}

@Suite struct `A line of the trace` {
  @Test func `a line of the trace stays one line, whatever the text`() {
    #expect(TraceLine.oneLine("a\nb\r\nc\u{2028}d\u{1B}[31m") == #"a\nb\r\nc\u{2028}d\u{1B}[31m"#)
    #expect(TraceLine.oneLine("Grüße 👋 \"x\"") == "Grüße 👋 \"x\"")
  }
}
