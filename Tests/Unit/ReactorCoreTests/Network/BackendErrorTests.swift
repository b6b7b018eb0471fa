import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct `What a step throws` {
  private struct Foreign: Error {}

  private func mapped(_ error: any Error) -> String {
    switch ReactorError(error, wrap: ReactorError.network) {
    case .noConnectivity: "noConnectivity"
    case .cancelled: "cancelled"
    case .timedOut: "timedOut"
    case .notCached: "notCached"
    case .invalidResource: "invalidResource"
    case .network: "network"
    case .authentication: "authentication"
    case .server: "server"
    case .parser: "parser"
    case .persistence: "persistence"
    case .deadlock: "deadlock"
    case .streamingUnsupported: "streamingUnsupported"
    }
  }

  @Test func `a transport's ReactorError is thrown unchanged`() {
    #expect(mapped(ReactorError.notCached) == "notCached")
    #expect(mapped(ReactorError.persistence(Foreign())) == "persistence")
  }

  @Test func `a transport's error becomes the most precise ReactorError`() {
    #expect(mapped(CancellationError()) == "cancelled")
    #expect(mapped(URLError(.cancelled)) == "cancelled")
    #expect(mapped(URLError(.timedOut)) == "timedOut")
    #expect(mapped(ParserError(.empty, expected: "JSON")) == "parser")
  }

  @Test func `a transport's unknown error is wrapped`() {
    #expect(mapped(Foreign()) == "network")
    #expect(mapped(URLError(.cannotConnectToHost)) == "network")
    guard case .persistence(let inner) = ReactorError(Foreign(), wrap: ReactorError.persistence) else {
      Issue.record("not wrapped as asked")
      return
    }
    #expect(inner is Foreign)
  }
}

@Suite struct `An error's words` {
  private struct Foreign: Error {}
  private struct Wrapper: Error { let underlying: any Error }
  private struct Carrier: Error { let response: HTTPResponse }
  private enum Choice: Error { case plain, failed(any Error), sent(URL) }
  private final class Holder: Error {
    let error: any Error
    init(_ error: any Error) { self.error = error }
  }
  private struct Worded: Error, CustomStringConvertible {
    let words: String
    init(words: String) { self.words = words }
    init(url: String) { self.init(words: "cannot reach <\(url)>, give up") }
    var description: String { words }
  }

  private static let url = "https://api.example.com/notes?page=2&token=SECRET"
  private static let urlError = URLError(
    .cannotConnectToHost,
    userInfo: ["NSErrorFailingURLStringKey": url, NSLocalizedDescriptionKey: "cannot reach \(url)"])
  private static let response = HTTPResponse(
    status: .unauthorized, headerFields: [.setCookie: "session=SECRET", .authorization: "Bearer SECRET"])
  private static let nsError = NSError(domain: "Own", code: 7, userInfo: [NSLocalizedDescriptionKey: url])

  private static let errors: [(name: String, error: ReactorError)] = [
    ("a URLError", .network(urlError)), ("a URLError on disk", .persistence(urlError)),
    ("a response", .server(response, body: Data("SECRET".utf8))),
    ("a CocoaError", .persistence(CocoaError(.fileNoSuchFile, userInfo: [NSLocalizedDescriptionKey: url]))),
    ("an NSError", .network(nsError)), ("a POSIXError", .network(POSIXError(.EPIPE, userInfo: ["url": url]))),
    ("a URLError in a struct", .network(Wrapper(underlying: urlError))),
    ("a URLError in a class", .network(Holder(urlError))),
    ("a URLError in an enum", .network(Choice.failed(urlError))),
    ("a URLError in two structs", .network(Wrapper(underlying: Wrapper(underlying: urlError)))),
    ("a response in a struct", .network(Carrier(response: response))),
    ("ours in ours", .network(ReactorError.network(urlError))),
    ("ours in a struct", .persistence(Wrapper(underlying: ReactorError.server(response, body: Data("SECRET".utf8))))),
    ("a URL in an enum", .network(Choice.sent(URL(string: url) ?? URL(filePath: "/")))),
    ("words with a URL", .network(Worded(url: url))),
  ]

  @Test(arguments: errors.indices) func `an error's words hold no secret, however they are requested`(index: Int) {
    let (name, error) = Self.errors[index]
    var dumped = ""
    dump(error, to: &dumped)
    dump(Result<Int, any Error>.failure(error), to: &dumped)
    let all = [
      "\(error)", error.description, String(reflecting: error), error.localizedDescription, dumped,
      "\(Optional(error) as Any)", "\([error])", (error as any Error).localizedDescription,
      "\(ReactorEvent(key: RecordKey(method: .get, url: "/"), model: "Note", kind: .failed(error)))",
    ]
    for text in all { #expect(!text.contains("SECRET"), "\(name)") }
    #expect(!all[0].isEmpty)
  }

  @Test(arguments: [
    ("no answer from https://ada:SECRET@h/a", "no answer from https://…@h/a"),
    ("postgres://ada:SECRET@h/db refused", "postgres://…@h/db refused"),
    ("GET /me?own=SECRET failed", "GET /me?… failed"), ("at https://h/a#access_token=SECRET.", "at https://h/a#…"),
    ("(https%3A%2F%2Fada%3ASECRET%40h%2F)", "(https%3A%2F%2F…%40h%2F)"), ("/a;token=SECRET", "/a;token=…"),
    ("is a=b? or #3", "is a=b? or #3"), ("WSS://h/a?SECRET", "WSS://h/a?…"),
  ])
  func `foreign errors show no user, password, query or fragment`(words: String, told: String) {
    #expect("\(ReactorError.network(Worded(words: words)))" == "the request failed: \(told)")
  }

  @Test func `an error's words say what is needed to act`() {
    #expect(
      "\(ReactorError.server(Self.response, body: Data(count: 6)))"
        == "the server answered 401 with 6 bytes; sign in, or check the credential")
    #expect(
      "\(ReactorError.network(Self.urlError))"
        == "no server accepts connections at that host and port (URLError -1004); "
        + "check the base URL, and that the server runs")
    #expect("\(ReactorError.network(URLError(.fileDoesNotExist)))" == "URLError -1100")
    #expect("\(ReactorError.network(Self.nsError))" == "the request failed: Own 7")
    #expect("\(ReactorError.network(Choice.plain))" == "the request failed: Choice.plain")
    #expect("\(ReactorError.network(Choice.failed(Self.urlError)))" == "the request failed: Choice.failed")
    #expect("\(ReactorError.network(Wrapper(underlying: Self.urlError)))" == "the request failed: Wrapper")
    #expect(
      "\(ReactorError.network(Worded(url: Self.url)))"
        == "the request failed: cannot reach <https://api.example.com/notes?…>, give up")
    #expect("\(ReactorError.persistence(ReactorError.timedOut))" == "the store failed: timed out")
    #expect("\(ReactorError.invalidResource("no host"))" == "invalid resource: no host")
    #expect(
      ReactorError.noConnectivity.localizedDescription
        == "no connectivity; nothing was sent; try again when the device is online")
    let notCached = "not cached; it is neither in memory nor in the store; fetch it with a policy that asks the network"
    #expect(String(reflecting: ReactorError.notCached) == notCached)
    #expect(ReactorError.notCached.reason == "not cached")
  }

  /// Each failure of an exchange, and what a fetch of `/v1/notes?token=SECRET` says of it.
  @Test(
    arguments: [
      (
        .response(.notFound, body: Data(count: 335)),
        "the server answered 404 with 335 bytes; "
          + "check the base URL and the path"
      ),
      (
        .failure(URLError(.cannotFindHost)),
        "the host was not found (URLError -1003); check the base URL and the connection"
      ),
      (.json("{}"), "the response cannot be read: expected a member id at id, line 1, column 1 (byte 0): {}"),
    ] as [(ScriptedTransport.Answer, String)])
  func `an error's words name the method, the host and the path, and never the query`(
    _ answer: ScriptedTransport.Answer, _ words: String
  ) async throws {
    let bench = Bench()
    bench.transport.answer("/v1/notes", with: answer, answer)
    for method in [HTTPRequest.Method.get, .post] {
      let resource = Resource("notes", method: method, query: ["token": "SECRET"])
      let error = try #require(
        await error {
          method == .get ? try await bench.notes.fetch(resource) : try await bench.notes.send(resource)
        })
      #expect("\(error)" == "\(method.rawValue) api.example.com/v1/notes: \(words)")
      #expect(error.request == "\(method.rawValue) api.example.com/v1/notes")
    }
    #expect(bench.log.events.allSatisfy { !"\($0)".contains("SECRET") })
  }

  @Test func `an error's words keep what they carry`() async throws {
    let bench = Bench()
    let cause = URLError(.cannotConnectToHost, userInfo: ["own": 7])
    bench.transport.answer("/v1/notes", with: .failure(cause), .failure(Foreign()), .failure(Foreign()))
    let error = try #require(await error { try await bench.notes.fetch("notes") })
    guard case .network(let network as URLError) = error else { throw error }
    #expect(network.code == .cannotConnectToHost)
    #expect(network.errorUserInfo["own"] as? Int == 7)
    let other = try #require(await TestSupport.error { try await bench.notes.fetch("notes") })
    guard case .network(is Foreign) = other else { throw other }
    #expect("\(other)" == "the request failed: Foreign")
  }

  @Test func `an error's words show a JSON value as JSON`() {
    struct Odd: Error, CustomStringConvertible {
      let json: JSONValue
      var description: String { "cannot use \(json)" }
    }
    let error = ReactorError.network(Odd(json: ["nam": "x", "list": [1, 2.5, nil]]))
    #expect("\(error)" == #"the request failed: cannot use {"list":[1,2.5,null],"nam":"x"}"#)
    #expect("\(JSONValue.number(.nan))" == "nan")
  }
}
