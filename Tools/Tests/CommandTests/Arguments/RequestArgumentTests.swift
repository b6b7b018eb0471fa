import Foundation
import HTTPTypes
import ReactorCore
import Testing

@testable import reactor

@Suite struct `A request on the command line` {
  @Test(arguments: [
    ("Accept: text/html", "Accept", "text/html"), ("X-Empty:", "X-Empty", ""), ("a:b:c", "a", "b:c"),
    ("Name: \t padded \t", "Name", "padded"), ("X-Text: Grüße", "X-Text", "Grüße"),
  ])
  func `has headers of a name, a colon and a value`(text: String, name: String, value: String) throws {
    let field = try HeaderArgument.parse(text)
    #expect(field.name.rawName == name)
    #expect(field.value == value)
  }

  @Test(arguments: [
    "X: a\nInjected: b", "X: a\r\nInjected: b", "X: a\r", "X: a\n", "X\n: a", "X: a\0b", "no colon", ": value",
    "bad name: value", "Ümlaut: value", "",
  ])
  func `a request on the command line refuses what is no header`(text: String) {
    #expect(throws: (any Error).self) { try HeaderArgument.parse(text) }
  }

  @Test func `a request on the command line has query items of a name and a value`() throws {
    #expect(try QueryArgument.parse("a=b=c") == URLQueryItem(name: "a", value: "b=c"))
    #expect(try QueryArgument.parse("a=") == URLQueryItem(name: "a", value: ""))
  }

  @Test(arguments: ["", "a", "=b"]) func `a request on the command line refuses what is no query item`(text: String) {
    #expect(throws: (any Error).self) { try QueryArgument.parse(text) }
  }

  @Test func `a request on the command line has a method in either case`() throws {
    #expect(try MethodArgument.parse("post") == .post)
    #expect(try MethodArgument.parse("PURGE").rawValue == "PURGE")
  }

  @Test(arguments: ["", "GET /", "PO ST", "GET\n"]) func `refuses what is no method`(text: String) {
    #expect(throws: (any Error).self) { try MethodArgument.parse(text) }
  }

  @Test func `a request on the command line has a body of text`() throws {
    #expect(try BodyArgument.parse(#"{"a": 1}"#) == .bytes(Data(#"{"a": 1}"#.utf8)))
    #expect(try BodyArgument.parse("") == .bytes(Data()))
  }

  @Test(arguments: ["-", "@-"]) func `a request on the command line has a body on standard input`(text: String) throws {
    #expect(try BodyArgument.parse(text) == .standardInput)
  }

  @Test(arguments: [
    ("http://h", "GET h/"), ("https://H:8443/a//b%20c?token=s#x", "GET H:8443/a//b%20c"),
    ("http://[::1]:81/?q=1", "GET [::1]:81/"),
  ])
  func `a request on the command line is named without its query`(url: String, name: String) throws {
    #expect(FetchedRequest(method: .get, url: try #require(URL(string: url))).text == name)
  }

  @Test(arguments: ["@/nowhere/at/all", "@", "@/"]) func `refuses a body's file that cannot be read`(text: String) {
    #expect(throws: (any Error).self) { try BodyArgument.parse(text) }
  }

  @Test func `a request on the command line has members with commas between them`() throws {
    #expect(try RequireArgument.parse("id, title") == ["id", "title"])
  }

  @Test(arguments: ["", ",", "id,", "id, ,title"]) func `refuses members without a name`(text: String) {
    #expect(throws: (any Error).self) { try RequireArgument.parse(text) }
  }

  @Test func `a request on the command line has a URL, of which the fragment is not sent`() throws {
    #expect(try URLArgument.parse("HTTP://h:81/a//b?q=1#top").absoluteString == "HTTP://h:81/a//b?q=1")
  }

  @Test(arguments: [
    "", "articles", "/articles", "ftp://h/a", "http://", "http:///a", "file:///etc/passwd", "http://h:65536/",
    "http://u:p@h/",
  ])
  func `a request on the command line refuses what cannot be requested`(text: String) {
    #expect(throws: (any Error).self) { try URLArgument.parse(text) }
  }

  @Test func `a request on the command line takes each policy by its name`() {
    #expect(PolicyArgument.allCases.map(\.policy) == FetchPolicy.allCases)
  }
}

@Suite struct `The scope of a request` {
  @Test func `the scope of a request is the shared one without credentials`() {
    #expect(CredentialScope.scope(of: [.accept: "text/html"]) == .shared)
  }

  @Test func `the scope of a request is another for each set of credentials, and does not show them`() {
    let scopes: [Scope] = [
      CredentialScope.scope(of: [.authorization: "Bearer aaa"]),
      CredentialScope.scope(of: [.authorization: "Bearer bbb"]),
      CredentialScope.scope(of: [.cookie: "Bearer aaa"]),
    ]
    #expect(Set(scopes).count == 3)
    #expect(!scopes.contains { $0.name.contains("aaa") || $0.name.contains("bbb") || $0 == .shared })
    #expect(scopes[0] == CredentialScope.scope(of: [.authorization: "Bearer aaa", .accept: "text/html"]))
  }

  @Test func `the scope of a request leaves credentials out of the identity headers`() {
    let names = CredentialScope.identityHeaders(of: [.authorization: "a", .cookie: "b", .acceptLanguage: "de"])
    #expect(names == [.acceptLanguage])
  }
}
