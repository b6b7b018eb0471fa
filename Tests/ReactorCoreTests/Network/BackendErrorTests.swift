import Foundation
import HTTPTypes
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
    }
  }

  @Test func `passes where it is ours`() {
    #expect(mapped(ReactorError.notCached) == "notCached")
    #expect(mapped(ReactorError.persistence(Foreign())) == "persistence")
  }

  @Test func `is said precisely where it can be`() {
    #expect(mapped(CancellationError()) == "cancelled")
    #expect(mapped(URLError(.cancelled)) == "cancelled")
    #expect(mapped(URLError(.timedOut)) == "timedOut")
    #expect(mapped(ParserError(.empty, expected: "JSON")) == "parser")
  }

  @Test func `is wrapped where it says nothing more precise`() {
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

  @Test(arguments: errors.indices) func `hold no secret, however they are asked for`(index: Int) {
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
  func `of somebody else's tell no user, password, query or fragment`(words: String, told: String) {
    #expect("\(ReactorError.network(Worded(words: words)))" == "network: \(told)")
  }

  @Test func `say what is needed to act`() {
    #expect("\(ReactorError.server(Self.response, body: Data(count: 6)))" == "server: status 401, 6 bytes")
    #expect("\(ReactorError.network(Self.urlError))" == "network: URLError -1004")
    #expect("\(ReactorError.network(Self.nsError))" == "network: Own 7")
    #expect("\(ReactorError.network(Choice.plain))" == "network: Choice.plain")
    #expect("\(ReactorError.network(Choice.failed(Self.urlError)))" == "network: Choice.failed")
    #expect("\(ReactorError.network(Wrapper(underlying: Self.urlError)))" == "network: Wrapper")
    #expect(
      "\(ReactorError.network(Worded(url: Self.url)))"
        == "network: cannot reach <https://api.example.com/notes?…>, give up")
    #expect("\(ReactorError.persistence(ReactorError.timedOut))" == "persistence: timed out")
    #expect("\(ReactorError.invalidResource("no host"))" == "invalid resource: no host")
    #expect(ReactorError.noConnectivity.localizedDescription == "no connectivity")
    #expect(String(reflecting: ReactorError.notCached) == "ReactorError(not cached)")
  }
}
