import Foundation
import HTTPTypes
import ReactorCore
import Testing

@testable import ReactorInspector

@Suite("Who may ask the inspector for what")
struct AdmissionTests {
  typealias Case = (
    method: HTTPRequest.Method, path: String, host: String?, fields: [String: String], expected: Admission.Decision
  )

  private static let token = ["X-Reactor-Inspector": "t0ken"]
  private static func and(_ name: String, _ value: String) -> [String: String] { token.merging([name: value]) { $1 } }
  private static let otherSite = Admission.Decision.forbidden(
    "the request comes from another site; open the inspector's own page")
  private static let otherOrigin = Admission.Decision.forbidden(
    "the request comes from another origin; open the inspector's own page")
  private static let otherRun = Admission.Decision.forbidden(
    "the page belongs to an earlier run of the program; reload it")

  static let cases: [Case] = [
    (.get, "/inspector", "localhost:8080", [:], .page),
    (.get, "/inspector/", "LOCALHOST", [:], .page),
    (.get, "/inspector?x=y", "127.0.0.1:1", [:], .page),
    (.get, "/inspector", "[::1]:8080", [:], .page),
    (.get, "/inspector/live", "localhost", [:], .live),
    (.get, "/inspector/key?id=7f", "localhost", [:], .key(id: "7f")),
    (.get, "/inspector/key", "localhost", [:], .badRequest("the query item id is missing")),
    (.get, "/inspector/other", "localhost", [:], .notFound),
    (.get, "/inspectors", "localhost", [:], .notFound),
    (.get, "/", "localhost", [:], .notFound),
    (.get, "/inspector", "evil.example", [:], .misdirected),
    (.get, "/inspector", "localhost.evil.example", [:], .misdirected),
    (.get, "/inspector", nil, [:], .misdirected),
    (.post, "/inspector", "localhost", token, .notAllowed("GET")),
    (.head, "/inspector/live", "localhost", [:], .notAllowed("GET")),
    (.get, "/inspector/remove?key=7f", "localhost", token, .notAllowed("POST")),
    (.post, "/inspector/remove?key=7f", "localhost", token, .change(.remove, id: "7f")),
    (.post, "/inspector/invalidate?key=7f", "localhost", token, .change(.invalidate, id: "7f")),
    (.post, "/inspector/refetch?key=7f", "localhost", token, .change(.refetch, id: "7f")),
    (.post, "/inspector/refetch", "localhost", token, .badRequest("the query item key is missing")),
    (.post, "/inspector/retry?write=1-7f", "localhost", token, .write(.retry, id: "1-7f")),
    (.post, "/inspector/discard?write=1-7f", "localhost", token, .write(.discard, id: "1-7f")),
    (.post, "/inspector/withdraw?write=1-7f", "localhost", token, .write(.withdraw, id: "1-7f")),
    (.post, "/inspector/withdraw?key=1-7f", "localhost", token, .badRequest("the query item write is missing")),
    (.get, "/inspector/withdraw?write=1-7f", "localhost", token, .notAllowed("POST")),
    (.post, "/inspector/discard?write=1-7f", "localhost", [:], otherRun),
    (.post, "/inspector/discard?write=1-7f", "localhost", and("Sec-Fetch-Site", "cross-site"), otherSite),
    (.post, "/inspector/discard?write=1-7f", "localhost:1", and("Origin", "http://localhost:2"), otherOrigin),
    (.post, "/inspector/offline?on=true", "localhost", token, .offline(true)),
    (.post, "/inspector/offline?on=false", "localhost", token, .offline(false)),
    (.post, "/inspector/offline?on=1", "localhost", token, .badRequest("the query item on must be true or false")),
    (.get, "/inspector/offline?on=true", "localhost", token, .notAllowed("POST")),
    (.post, "/inspector/remove?key=7f", "localhost", [:], otherRun),
    (.post, "/inspector/remove?key=7f", "localhost", ["X-Reactor-Inspector": "old"], otherRun),
    (.post, "/inspector/offline?on=true", "localhost", [:], otherRun),
    (.post, "/inspector/remove?key=7f", "localhost", and("Sec-Fetch-Site", "same-origin"), .change(.remove, id: "7f")),
    (.post, "/inspector/remove?key=7f", "localhost", and("Sec-Fetch-Site", "same-site"), otherSite),
    (.post, "/inspector/remove?key=7f", "localhost", and("Sec-Fetch-Site", "cross-site"), otherSite),
    (.post, "/inspector/remove?key=7f", "localhost", and("Sec-Fetch-Site", "none"), otherSite),
    (.post, "/inspector/remove?key=7f", "localhost:1", and("Origin", "http://localhost:1"), .change(.remove, id: "7f")),
    (.post, "/inspector/remove?key=7f", "localhost:1", and("Origin", "http://localhost:2"), otherOrigin),
    (.post, "/inspector/remove?key=7f", "localhost:1", and("Origin", "null"), otherOrigin),
  ]

  @Test(arguments: cases.indices) func `access depends only on the request`(_ index: Int) {
    let (method, path, host, fields, expected) = Self.cases[index]
    var request = HTTPRequest(method: method, scheme: "http", authority: host, path: path)
    for (name, value) in fields {
      if let name = HTTPField.Name(name) { request.headerFields[name] = value }
    }
    let admission = Admission(path: "inspector/", hosts: ["localhost", "127.0.0.1", "[::1]"], token: "t0ken")
    #expect(admission.decision(request) == expected, "\(method) \(path)")
  }

  private func decision(
    _ method: HTTPRequest.Method, _ path: String, authorization: String? = nil, password: String?,
    isReadOnly: Bool = false
  ) -> Admission.Decision {
    var request = HTTPRequest(method: method, scheme: "http", authority: "localhost", path: path)
    request.headerFields = [Self.tokenName: "t0ken"]
    request.headerFields[.authorization] = authorization
    return Admission(
      path: "inspector", hosts: ["localhost"], token: "t0ken", password: password, isReadOnly: isReadOnly
    )
    .decision(request)
  }

  private static let tokenName = HTTPField.Name("X-Reactor-Inspector") ?? .origin

  @Test(arguments: ["/inspector", "/inspector/live", "/inspector/key?id=7f", "/inspector/other", "/"])
  func `without the password, every page is refused`(_ path: String) {
    #expect(decision(.get, path, password: "open, sesame") == .unauthorized)
    #expect(decision(.post, path, password: "open, sesame") == .unauthorized)
  }

  @Test(arguments: [
    // The user name does not matter, nor the case of the scheme; a password may have a colon.
    ("Basic b3BlbjpvcGVuLCBzZXNhbWU=", "open, sesame", true), ("basic Om9wZW4sIHNlc2FtZQ==", "open, sesame", true),
    ("Basic YWRhOmE6Yg==", "a:b", true),
    ("Basic YWRhOm9wZW4sIHNlc2FtRQ==", "open, sesame", false), ("Basic YWRhOm9wZW4=", "open, sesame", false),
    ("Basic YWRhOg==", "", false), ("Basic b3Blbiwgc2VzYW1l", "open, sesame", false),
    ("Basic %%%", "open, sesame", false), ("Bearer YWRhOm9wZW4sIHNlc2FtZQ==", "open, sesame", false),
    ("", "open, sesame", false),
  ])
  func `the password admits, and nothing else does`(_ field: String, _ password: String, _ isRight: Bool) {
    let expected: Admission.Decision = isRight ? .page : .unauthorized
    #expect(decision(.get, "/inspector", authorization: field, password: password) == expected)
  }

  @Test(arguments: [
    "/inspector/remove?key=7f", "/inspector/invalidate?key=7f", "/inspector/refetch?key=7f",
    "/inspector/retry?write=1-7f", "/inspector/discard?write=1-7f", "/inspector/withdraw?write=1-7f",
    "/inspector/offline?on=true",
  ])
  func `a read-only inspector changes nothing`(_ path: String) {
    #expect(
      decision(.post, path, password: nil, isReadOnly: true)
        == .forbidden("the inspector is read-only; it changes nothing"))
    #expect(decision(.get, "/inspector", password: nil, isReadOnly: true) == .page)
  }

  @Test func `the password is in no description of the inspector`() async throws {
    let inspector = Inspector(password: "open, sesame", isReadOnly: true, clock: ContinuousClock(), now: { .now })
    var text = ""
    dump(inspector, to: &text)
    #expect(!text.contains("sesame"))
    #expect(!text.contains("\(Array("open, sesame".utf8))") && !text.contains("111\n"))
    let (response, body) = await inspector.get("/inspector")
    #expect(response.status == .unauthorized)
    #expect(response.headerFields[.wwwAuthenticate] == #"Basic realm="Reactor Inspector", charset="UTF-8""#)
    #expect(await ReactorInspectorTests.text(body) == "the inspector needs its password, with any user name")
  }

  @Test(arguments: [true, false])
  func `the page of a read-only inspector says so`(_ isReadOnly: Bool) async {
    let inspector = Inspector(isReadOnly: isReadOnly, clock: ContinuousClock(), now: { .now })
    let page = await ReactorInspectorTests.text(inspector.get("/inspector").body)
    #expect(page.contains(#"<body class="read-only">"#) == isReadOnly)
    #expect(!page.contains("{{"))
  }

  @Test(arguments: [("", ""), ("/", ""), ("inspector", "/inspector"), ("/a/b/", "/a/b")])
  func `takes the path with and without slashes`(_ path: String, _ expected: String) {
    #expect(Admission(path: path, hosts: [], token: "").path == expected)
  }
}
