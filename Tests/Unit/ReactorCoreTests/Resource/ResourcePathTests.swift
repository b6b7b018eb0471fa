import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore

/// Values in a path that is written as a literal.
@Suite("A value in a path", .timeLimit(.minutes(5))) struct ResourcePathTests {
  private static let backend = Backend(baseURL: Bench.url)

  private func target(_ resource: Resource) throws(ReactorError) -> String? {
    try Self.backend.request(for: resource).path
  }

  /// Returns the reason for which a fetch refuses the resource.
  private func refusal(_ resource: Resource) -> String? {
    do {
      _ = try target(resource)
      return nil
    } catch .invalidResource(let reason) {
      return reason
    } catch {
      return "\(error)"
    }
  }

  @Test func `a value in a path is one segment, whatever it holds`() throws {
    let id = 5
    #expect(try target("posts/\(id)") == "/v1/posts/5")
    #expect(try target("posts/\("5?page=2")") == "/v1/posts/5%3Fpage=2".replacing("=", with: "%3D"))
    #expect(try target("posts/\("5/../6")/text") == "/v1/posts/5%2F..%2F6/text")
    #expect(try target("\("//evil.example")") == "/v1/%2F%2Fevil.example")
    #expect(try target("\("http:")/a") == "/v1/http%3A/a")
    #expect(try target("posts/\("%2F")") == "/v1/posts/%252F")
    #expect(try target("posts/\("a;b#c")") == "/v1/posts/a%3Bb%23c")
    #expect(try target("files/\("Grüße 1").json") == "/v1/files/Gr%C3%BC%C3%9Fe%201.json")
    #expect(try target("tags/\("é")/\(true)/\(2.5)") == "/v1/tags/%C3%A9/true/2.5")
  }

  @Test func `a value in a path is one query item's after the question mark`() throws {
    #expect(try target("search?q=\("a&b=c+d")&page=\(2)") == "/v1/search?q=a%26b%3Dc%2Bd&page=2")
    #expect(try target("search?q=\("")") == "/v1/search?q=")
    #expect(try target("search?q=\("#/../?")") == "/v1/search?q=%23/../?")
  }

  @Test func `a value in a path stays within its segment in every initializer that takes a literal`() throws {
    let value = "a/b"
    #expect(try target(Resource("posts/\(value)")) == "/v1/posts/a%2Fb")
    #expect(try target(Resource("posts/\(value)", method: .delete)) == "/v1/posts/a%2Fb")
    #expect(try target(Resource("posts/\(value)", query: ["q": "1"])) == "/v1/posts/a%2Fb?q=1")
    #expect(try target(Resource("posts/\(value)", method: .put, json: [1])) == "/v1/posts/a%2Fb")
  }

  @Test func `a value in a path is taken as it is in a string, and with raw`() throws {
    let path = "posts/\("5/6")?page=\("7")"
    #expect(try target(Resource(path)) == "/v1/posts/5/6?page=7")
    #expect(try target(Resource(path, method: .delete)) == "/v1/posts/5/6?page=7")
    #expect(try target("\(raw: "news/de")/posts/\("a/b")") == "/v1/news/de/posts/a%2Fb")
    #expect(try target("posts\(raw: "?a=1")&b=\("/&")") == "/v1/posts?a=1&b=/%26")
  }

  @Test func `a value in a path gives the same resource as writing it out`() throws {
    let resource: Resource = "posts/\(5)"
    #expect(resource == "posts/5")
    #expect(resource.hashValue == Resource("posts/5").hashValue)
    #expect(resource.path == "posts/5")
    #expect("\(Resource("posts/\("5?page=1")"))" == "GET posts/5%3Fpage%3D1")
  }

  @Test(arguments: ["", ".", ".."]) func `a value in a path is refused where it would lead elsewhere`(value: String) {
    for resource: Resource in [
      "posts/\(value)", "posts/\(value)/text", "\(value)/posts", "\(value)", Resource("a/\(value)", method: .delete),
      "posts/\(value)?page=2",
    ] {
      #expect(refusal(resource) != nil, "\(resource.path)")
    }
  }

  @Test func `a value in a path is refused with a sentence that names its position`() {
    #expect(
      refusal("users/\(5)/posts/\("")") == "value 2 of the path, after \"/posts/\", makes an empty segment, "
        + "which would change the path; check the value before the fetch")
    #expect(
      refusal("\("..")/posts") == "value 1 of the path makes the segment .., which would change the path; "
        + "check the value before the fetch")
    #expect(refusal("posts/.\(".")")?.hasPrefix("value 1 of the path, after \"posts/.\", makes the segment ..") == true)
    #expect(refusal("posts/%2e\(".")")?.contains("the segment ..") == true)
    #expect(refusal("posts/\("")\("")")?.hasPrefix("value 1") == true)
    #expect(refusal("posts/\("")\("5")") == nil)
    #expect(refusal("posts/\("...")") == nil)
  }

  @Test func `a value in a path is refused without a base URL too`() async throws {
    let notes = Reactor(flow: ReactorFlow { _ in Note(1, "one") })
    let empty = ""
    #expect(await error { try await notes.fetch("notes/\(empty)") }?.isInvalidResource == true)
    #expect(try await notes.fetch("notes/\(1)").id == 1)
  }

  @Test func `a value in a path cannot become a part of a percent sign before it`() throws {
    #expect(try target("100%\("2F")") == "/v1/100%252F")
    #expect(try target("100%2\("F")") == "/v1/100%252F")
    #expect(try target("100%%\("2F")") == "/v1/100%25%252F")
    #expect(try target("a?b=%\("26")") == "/v1/a?b=%2526")
  }

  @Test func `a value in a path may be changed with the path`() throws {
    var resource: Resource = "posts/\("")"
    resource.path = "posts/5"
    #expect(try target(resource) == "/v1/posts/5")
    #expect(resource == "posts/5")
  }

  /// Parts of a value: of each kind of byte that a URL treats in its own way, and some letters
  /// beyond ASCII.
  private static let pieces =
    "aZ09-._~!$&'()*+,;=:@/?#[]%\\\"<>^`{|} \t\n\u{0}\u{7f}éß€😀".map(String.init) + ["..", "%2e", "%2F", "//"]

  @Test func `a value in a path reaches a real server unchanged, and changes nothing else of the URL`() async throws {
    var chance = SeededGenerator(seed: Chance.seed("A value in a path"))
    try await MockServer.run { _ in
      .text("{}")
    } body: { server in
      let backend = Backend(baseURL: server.url.appending(path: "v1"))
      for _ in 0..<60 {
        let values = (0..<3).map { _ in
          (0..<Int.random(in: 1...6, using: &chance)).compactMap { _ in Self.pieces.randomElement(using: &chance) }
            .joined()
        }
        let resource: Resource = "a/\(values[0])/b/\(values[1])?q=\(values[2])&r=1"
        guard !values.prefix(2).contains(where: [".", ".."].contains) else {
          #expect(refusal(resource) != nil)
          continue
        }
        _ = try await backend.send(try backend.request(for: resource), body: nil)
        let target = try #require(server.requests.last?.target)
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let segments = parts[0].split(separator: "/", omittingEmptySubsequences: false)
        #expect(segments.map { $0.removingPercentEncoding } == ["", "v1", "a", values[0], "b", values[1]], "\(target)")
        let items = parts[1].split(separator: "&", omittingEmptySubsequences: false)
        #expect(items.count == 2 && items[0].dropFirst(2).removingPercentEncoding == values[2], "\(target)")
      }
    }
  }
}
