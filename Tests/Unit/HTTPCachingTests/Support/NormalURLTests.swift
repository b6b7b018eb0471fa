import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import HTTPCaching

@Suite struct `The spelling of a URL in a key` {
  private static let spellings = [
    ("https://api.example.com/m", "https://api.example.com/%6D"),
    ("https://api.example.com/m", "https://api.example.com/%6d"),
    ("https://api.example.com/~a-b._", "https://api.example.com/%7Ea%2db%2e%5F"),
    ("https://api.example.com/a?b=c", "https://api.example.com/a?%62=%63"),
    ("https://api.example.com/%2F%C3%BC", "https://api.example.com/%2f%c3%bC"),
    ("https://api.example.com/A", "HTTPS://API.Example.COM/A"), ("https://api.example.com/", "https://api.example.com"),
    ("https://api.example.com/?q", "https://api.example.com?q"),
    ("https://api.example.com/", "https://api.example.com:443/"),
    ("http://api.example.com/", "http://api.example.com:80"), ("http://api.example.com/a", "http://api.example.com:/a"),
    ("http://[::1]/a", "http://[::1]:80/a"), ("https://h%2Fx/", "https://H%2fX/"),
    ("https://Me@h/a", "https://Me@H/%61"),
    ("https://api.example.com/%0A", "https://api.example.com/\n"), ("notes/a", "notes/%61"), ("/a", "/%61"),
  ]

  @Test(arguments: spellings) func `equivalent URLs have one spelling`(spelling: String, other: String) {
    #expect(NormalURL.spelling(of: other) == spelling)
    #expect(NormalURL.spelling(of: spelling) == spelling)
    #expect(RecordKey(method: .get, url: other) == RecordKey(method: .get, url: spelling))
  }

  @Test(arguments: [
    "https://api.example.com:8443/a", "http://api.example.com:443/", "http://[::1]/", "https://api.example.com/A",
    "https://api.example.com/%2F", "https://api.example.com/a/", "https://api.example.com/a%20b", "https://h/a+b",
    "https://h/a?", "https://h/a%zz", "https://h/%", "https://h/a%2", "https://h/ü", "Notes/A", "notes?x=http://H/a",
    "", "a://",
  ])
  func `the spelling of a URL in a key is no other's`(url: String) {
    #expect(NormalURL.spelling(of: url) == (url == "a://" ? "a:///" : url))
  }

  @Test func `the spelling of a URL in a key is found again in its own spelling, whatever the text`() {
    var generator = SeededGenerator(seed: Chance.seed("Spellings of URLs"))
    let pieces = [
      "%", "%6", "%61", "%2f", "%2F", "1", "a", "F", ":", "/", "?", "#", "@", "//", "http", "https://", "H", "\n", "ü",
      "[::1]", ":80",
    ]
    for _ in 0..<20_000 {
      let url = (0..<Int.random(in: 0...9, using: &generator)).map { _ in pieces.randomElement(using: &generator) ?? ""
      }
      .joined()
      let spelling = NormalURL.spelling(of: url)
      #expect(NormalURL.spelling(of: spelling) == spelling, "\(url)")
    }
  }
}
