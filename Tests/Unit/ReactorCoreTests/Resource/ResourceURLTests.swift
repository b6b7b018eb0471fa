import Foundation
import HTTPTypes
import ReactorTesting
import Testing

@testable import HTTPCaching
@testable import ReactorCore

struct ResourceURLTests {
  static func resolve(
    _ path: String, base: String = "https://api.example.com/v1", query: [URLQueryItem] = []
  ) throws -> String {
    var resource = Resource(path)
    resource.query = query
    return try ResourceURL(resource, base: BaseURL(#require(URL(string: base)))).absoluteString
  }

  static func expectInvalid(_ path: String, base: String = "https://api.example.com/v1") throws {
    let base = try #require(URL(string: base))
    #expect {
      let url = try ResourceURL(Resource(path), base: BaseURL(base))
      Issue.record("\(url.absoluteString)")
    } throws: { error in
      guard case ReactorError.invalidResource(let reason) = error else { return false }
      return !reason.contains("secret")
    }
  }

  @Test(
    arguments: [
      "", "a", "/a", "a/b_c-d/9", "a//b", "a/", "/", "a.b", "a/./b", "a/../b", "a b", "ä", "a%2fb", "a?b=c", "a~b",
      "a;b",
      "..", "//a", "http://h/a", "a:b", "a#b", "a&b",
    ], ["https://h", "https://h/v1/", "https://h/v1?k=1", "http://h:80/%20", "ftp://h"])
  func `the URL of a key is the URL of its request`(path: String, base: String) throws {
    let backend = Backend(baseURL: try #require(URL(string: base)), transport: ScriptedTransport())
    for headers in [HTTPFields(), [.acceptLanguage: "de"], [.range: "bytes=0-1"]] {
      let resource = Resource(path, headers: headers)
      func url(_ make: () throws(ReactorError) -> String) -> Result<String, String.Refusal> {
        do { return .success(try make()) } catch { return .failure(String.Refusal(text: "\(error)")) }
      }
      let ofRequest = url { () throws(ReactorError) in try backend.request(for: resource).absoluteURL }
      #expect(url { () throws(ReactorError) in try backend.url(of: resource) } == ofRequest)
    }
  }

  @Test(
    arguments: [
      ("https://h", "", "https://h/"), ("https://h/", "", "https://h/"), ("https://h/v1", "", "https://h/v1"),
      ("https://h/v1/", "", "https://h/v1/"), ("https://h", "a", "https://h/a"), ("https://h", "/a", "https://h/a"),
      ("https://h/", "a", "https://h/a"), ("https://h/", "/a", "https://h/a"), ("https://h/v1", "a", "https://h/v1/a"),
      ("https://h/v1", "/a", "https://h/v1/a"), ("https://h/v1/", "a", "https://h/v1/a"),
      ("https://h/v1/", "/a", "https://h/v1/a"), ("https://h/v1", "a/", "https://h/v1/a/"),
      ("https://h/v1", "/", "https://h/v1/"), ("https://h/v1/", "/", "https://h/v1/"),
      ("https://h/a%20b/%2F", "c", "https://h/a%20b/%2F/c"),
      ("https://h/v1/users", "5/posts", "https://h/v1/users/5/posts"),
    ])
  func `a path is joined to the base with one slash`(base: String, path: String, url: String) throws {
    #expect(try Self.resolve(path, base: base) == url)
  }

  @Test(
    arguments: [
      ("a%20b", "a%20b"), ("a%2Fb", "a%2Fb"), ("a%2fb", "a%2fb"), ("100%", "100%25"), ("50%off", "50%25off"),
      ("%", "%25"), ("%2", "%252"), ("%zz", "%25zz"), ("%%20", "%25%20"), ("a b", "a%20b"), ("é", "%C3%A9"),
      ("日本", "%E6%97%A5%E6%9C%AC"), ("🙂", "%F0%9F%99%82"), ("a#b", "a%23b"),
      ("a\"<>\\^`{|}", "a%22%3C%3E%5C%5E%60%7B%7C%7D"),
      ("[x]", "%5Bx%5D"), ("a+b", "a+b"), ("a;v=1,2", "a;v=1,2"), ("~u/!$&'()*", "~u/!$&'()*"),
      ("documents:batchGet", "documents:batchGet"), ("urn:isbn:5", "urn:isbn:5"), ("a//b", "a//b"),
      ("me@example.com", "me@example.com"),
      ("\u{0}\r\n\t", "%00%0D%0A%09"), ("a%0D%0Ab", "a%0D%0Ab"), ("%２０", "%25%EF%BC%92%EF%BC%90"), ("a:80/b", "a:80/b"),
      ("..#x", "..%23x"), ("/\\host", "%5Chost"), ("\\/host/x", "%5C/host/x"),
    ])
  func `a path is encoded once, and what is encoded stays`(path: String, encoded: String) throws {
    #expect(try Self.resolve(path) == "https://api.example.com/v1/\(encoded)")
  }

  @Test(
    arguments: [
      ("a/./b", "a/b"), ("./a", "a"), ("a/.", "a/"), (".", ""), ("a/../b", "b"), ("a/b/..", "a/"), ("a/..", ""),
      ("a/%2e%2E/b", "b"), ("a/.%2e/b", "b"), ("...", "..."), ("a..b", "a..b"), (".a", ".a"), ("a/%2E/b", "a/b"),
      ("a//../b", "a/b"), ("a/b/../../c", "c"), ("/./a", "a"), ("a/..%2Fb", "a/..%2Fb"),
    ])
  func `dot segments are resolved below the base`(path: String, encoded: String) throws {
    #expect(try Self.resolve(path) == "https://api.example.com/v1/\(encoded)")
  }

  @Test(
    arguments: [
      "..", "../x", "/../x", "a/../../x", "%2e%2E/x", ".%2E", "%2E./x", "a/b/../../../c", "./../x", "..?q=1", "../v1/x",
      "..\\x/../..",
    ])
  func `a path that leaves the base is invalid`(path: String) throws {
    try Self.expectInvalid(path)
    try Self.expectInvalid(path, base: "https://api.example.com/v1/")
    try Self.expectInvalid(path, base: "https://api.example.com")
  }

  @Test(
    arguments: [
      "https://x/y", "http://x", "HTTP://x/y", "hTTps://x", "file:/etc/passwd", "file:///etc/passwd", "ftp://x/",
      "//host/x", "//", "///x", "custom+scheme.1-x://y", "ws:/x",
    ])
  func `an absolute URL as path is invalid`(path: String) throws { try Self.expectInvalid(path) }

  @Test(
    arguments: [
      ("a?x=1", "a?x=1&q=2"), ("a?", "a?q=2"), ("?x=1", "?x=1&q=2"), ("a?x=1&", "a?x=1&&q=2"),
      ("a?x=y?z", "a?x=y?z&q=2"),
      ("a?x=%2B+é #", "a?x=%2B+%C3%A9%20%23&q=2"), ("a?u=https://x/../y", "a?u=https://x/../y&q=2"),
      ("a?x=[1]", "a?x=%5B1%5D&q=2"),
    ])
  func `a question mark in the path begins a query that comes first`(path: String, target: String) throws {
    let slash = path.hasPrefix("?") ? "" : "/"
    let resolved = try Self.resolve(path, query: [URLQueryItem(name: "q", value: "2")])
    #expect(resolved == "https://api.example.com/v1\(slash)\(target)")
  }

  @Test func `the query of the base comes before all others`() throws {
    let url = try Self.resolve(
      "a?b=2", base: "https://h/v1?key=%2F1", query: [URLQueryItem(name: "c", value: "3")])
    #expect(url == "https://h/v1/a?key=%2F1&b=2&c=3")
    #expect(try Self.resolve("a", base: "https://h/v1?") == "https://h/v1/a")
    #expect(try Self.resolve("a", base: "https://h/v1#part") == "https://h/v1/a")
  }

  @Test func `query items keep their order, their duplicates and their empty values`() throws {
    let items = [("b", "1"), ("a", "2"), ("b", "1"), ("c", ""), ("d", nil), ("", "e"), ("", nil), ("f", "0")]
    let query = items.map { URLQueryItem(name: $0.0, value: $0.1) }
    #expect(try Self.resolve("x", base: "https://h", query: query) == "https://h/x?b=1&a=2&b=1&c=&d&=e&f=0")
  }

  @Test(
    arguments: [
      ("+", "%2B"), ("&", "%26"), ("=", "%3D"), (";", "%3B"), ("%20", "%2520"), ("a b", "a%20b"), ("#", "%23"),
      ("é", "%C3%A9"), ("a/b?c:d@e,f", "a/b?c:d@e,f"), ("[1]", "%5B1%5D"), ("\r\n", "%0D%0A"), ("", ""),
      ("~-._", "~-._"),
    ])
  func `names and values of query items are encoded`(plain: String, encoded: String) throws {
    let query = [URLQueryItem(name: "n" + plain, value: plain)]
    #expect(try Self.resolve("x", base: "https://h", query: query) == "https://h/x?n\(encoded)=\(encoded)")
  }

  @Test(
    arguments: [
      ("https://h:8443/v1", "https://h:8443/v1/a"), ("HTTP://API.Example.COM/V1", "http://api.example.com/V1/a"),
      ("http://[::1]:8080", "http://[::1]:8080/a"), ("http://[fe80::1%25eth0]", "http://[fe80::1%25eth0]/a"),
      ("http://[2001:DB8::1]/v1", "http://[2001:db8::1]/v1/a"),
      ("http://127.0.0.1:80", "http://127.0.0.1/a"), ("https://h:443/", "https://h/a"),
      ("http://h:443/", "http://h:443/a"),
      ("https://h:", "https://h/a"), ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example/a"),
      ("https://bücher.example", "https://xn--bcher-kva.example/a"),
    ])
  func `scheme and host are in lower case, and the port is there where it is not the scheme's own`(
    base: String, url: String
  ) throws {
    #expect(try Self.resolve("a", base: base) == url)
  }

  @Test(
    arguments: [
      "ftp://h/v1", "file:///v1", "/v1", "v1", "https:///v1", "https:", "https:h", "mailto:a@b", "data:,x", "ws://h/",
      "https://user:secret@h/v1", "https://secret@h/v1", "https://@h/", "https://:secret@h", "https://h:99999999/",
      "https://h:0/", "https://b%C3%BCcher.example/", "https://a%2Fb/", "https://a%20b/",
    ])
  func `a base that is no plain place on the web is invalid`(base: String) throws {
    try Self.expectInvalid("a", base: base)
  }

  @Test func `a base that is relative to another is resolved`() throws {
    let base = try #require(URL(string: "v2/", relativeTo: URL(string: "https://h/v1/")))
    #expect(try ResourceURL("a", base: BaseURL(base)).absoluteString == "https://h/v1/v2/a")
  }

  @Test(
    arguments: [
      ("http://localhost:8080", true), ("http://LOCALHOST", true), ("http://app.localhost", true),
      ("http://127.0.0.1", true),
      ("http://127.255.0.3:1", true), ("http://[::1]:80", true), ("http://localhost.", true),
      ("http://example.com", false), ("http://127.0.0.1.example.com", false), ("http://127.example.com", false),
      ("http://128.0.0.1", false),
      ("http://localhost.example.com", false), ("http://[::2]", false), ("http://notlocalhost", false),
      ("http://127.a.b.c", false),
      ("http://10.0.0.1", false),
    ])
  func `loopback is only this machine`(base: String, isLoopback: Bool) throws {
    let base = try #require(URL(string: base))
    #expect(try BaseURL(base).origin.isLoopback == isLoopback)
  }

  @Test func `the parts make up the whole`() throws {
    let base = try #require(URL(string: "https://[::1]:8443/v1"))
    let url = try ResourceURL("a?b=1", base: BaseURL(base))
    #expect(url.scheme == "https")
    #expect(try BaseURL(base).origin.host == "::1")
    #expect(url.authority == "[::1]:8443")
    #expect(url.target == "/v1/a?b=1")
    #expect(URL(string: url.absoluteString)?.absoluteString == url.absoluteString)
  }

  @Test(arguments: [100_000])
  func `a very long path takes no more than its length`(count: Int) throws {
    let long = String(repeating: "a/../", count: count)
    #expect(try Self.resolve(long + "b") == "https://api.example.com/v1/b")
    #expect(try Self.resolve(String(repeating: "é", count: count)).utf8.count == 6 * count + 27)
  }
}

extension String {
  fileprivate struct Refusal: Error, Equatable {
    let text: String
  }
}
