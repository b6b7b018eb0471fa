import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite struct `An answer that came over redirects` {
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// `status; Name: value; …`, as in the tables of `Rules.md`.
    var redirects: [String]
    var answer: String
    var stored: String
  }

  static let lifetimes: [Case] = [
    Case(
      testDescription: "the answer's, where that is shorter", redirects: ["302; Cache-Control: max-age=600"],
      answer: "Cache-Control: max-age=60", stored: "Cache-Control: max-age=60"),
    Case(
      testDescription: "the redirect's, where that is shorter", redirects: ["302; Cache-Control: max-age=10"],
      answer: "Cache-Control: max-age=60", stored: "Cache-Control: max-age=10"),
    Case(
      testDescription: "the shortest of many",
      redirects: [
        "301; Cache-Control: max-age=600", "307; Cache-Control: max-age=5", "302; Cache-Control: max-age=50",
      ], answer: "Cache-Control: max-age=60", stored: "Cache-Control: max-age=5"),
    Case(
      testDescription: "what is left of it after its age", redirects: ["302; Cache-Control: max-age=100; Age: 90"],
      answer: "Cache-Control: max-age=60; Age: 5", stored: "Cache-Control: max-age=100; Age: 90"),
    Case(
      testDescription: "…and after the answer's", redirects: ["302; Cache-Control: max-age=100; Age: 10"],
      answer: "Cache-Control: max-age=60; Age: 55", stored: "Cache-Control: max-age=60; Age: 55"),
    Case(
      testDescription: "…also where the greater age is not of the shorter one",
      redirects: ["302; Cache-Control: max-age=1000; Age: 500"], answer: "Cache-Control: max-age=60; Age: 55",
      stored: "Cache-Control: max-age=505; Age: 500"),
    Case(
      testDescription: "none, where one is stale", redirects: ["302; Cache-Control: max-age=10; Age: 30"],
      answer: "Cache-Control: max-age=60", stored: "Cache-Control: max-age=10; Age: 30"),
    Case(
      testDescription: "by Expires", redirects: ["302; Expires: +20; Date: +0"], answer: "Expires: +60; Date: +0",
      stored: "Date: +0; Cache-Control: max-age=20"),
    Case(
      testDescription: "none, by an Expires that is no date", redirects: ["302; Expires: 0"],
      answer: "Cache-Control: max-age=60", stored: "Cache-Control: max-age=0"),
    Case(
      testDescription: "that of what says nothing, after a 302 that says nothing", redirects: ["302"],
      answer: "Cache-Control: max-age=3600", stored: "Cache-Control: max-age=300"),
    Case(
      testDescription: "…a 303", redirects: ["303"], answer: "Cache-Control: max-age=3600",
      stored: "Cache-Control: max-age=300"),
    Case(
      testDescription: "…a 307, less its age", redirects: ["307; Age: 100"], answer: "Cache-Control: max-age=3600",
      stored: "Cache-Control: max-age=300; Age: 100"),
    Case(
      testDescription: "the answer's, after a 301 that says nothing, however old", redirects: ["301; Age: 999"],
      answer: "Cache-Control: max-age=3600", stored: "Cache-Control: max-age=3600"),
    Case(
      testDescription: "…a 308", redirects: ["308"], answer: "Cache-Control: max-age=3600",
      stored: "Cache-Control: max-age=3600"),
    Case(
      testDescription: "the redirect's, before an answer that says nothing",
      redirects: ["301; Cache-Control: max-age=10"], answer: "X: y", stored: "X: y; Cache-Control: max-age=10"),
    Case(
      testDescription: "that of what says nothing, where it is less than the redirect's",
      redirects: ["302; Cache-Control: max-age=9999"], answer: "X: y", stored: "X: y; Cache-Control: max-age=300"),
    Case(testDescription: "nobody's, where nobody says anything", redirects: ["302", "301"], answer: "", stored: ""),
    Case(
      testDescription: "…and the greatest age", redirects: ["302; Age: 7"], answer: "Age: 3", stored: "Age: 7"),
    Case(
      testDescription: "a number that overflows", redirects: ["302; Cache-Control: max-age=99999999999999999999"],
      answer: "Cache-Control: max-age=99999999999999999999; Age: 99999999999999999999",
      stored: "Cache-Control: max-age=2147483648; Age: 2147483648"),
  ]

  static let directives: [Case] = [
    Case(
      testDescription: "no-store of a redirect", redirects: ["301; Cache-Control: no-store"],
      answer: "Cache-Control: max-age=60", stored: "Cache-Control: max-age=60, no-store"),
    Case(
      testDescription: "no-store that is to be understood, and is",
      redirects: ["302; Cache-Control: no-store, must-understand, max-age=9"], answer: "Cache-Control: max-age=60",
      stored: "Cache-Control: max-age=9"),
    Case(
      testDescription: "no-store of the answer", redirects: ["301"], answer: "Cache-Control: no-store",
      stored: "Cache-Control: no-store"),
    Case(
      testDescription: "no-cache of a redirect", redirects: ["301; Cache-Control: no-cache"],
      answer: "Cache-Control: max-age=60", stored: "Cache-Control: max-age=0, no-cache"),
    Case(
      testDescription: "must-revalidate of either", redirects: ["302; Cache-Control: must-revalidate, max-age=600"],
      answer: "Cache-Control: max-age=60, proxy-revalidate",
      stored: "Cache-Control: max-age=60, must-revalidate, proxy-revalidate"),
    Case(
      testDescription: "stale-while-revalidate, where all say it",
      redirects: ["302; Cache-Control: max-age=60, stale-while-revalidate=30", "301"],
      answer: "Cache-Control: max-age=60, stale-while-revalidate=90",
      stored: "Cache-Control: max-age=60, stale-while-revalidate=30"),
    Case(
      testDescription: "…and not where one does not", redirects: ["302; Cache-Control: max-age=60"],
      answer: "Cache-Control: max-age=60, stale-while-revalidate=90", stored: "Cache-Control: max-age=60"),
    Case(
      testDescription: "the least stale-if-error that is said, where all say it",
      redirects: ["302; Cache-Control: max-age=60, stale-if-error=5"],
      answer: "Cache-Control: max-age=60, stale-if-error=90", stored: "Cache-Control: max-age=60, stale-if-error=5"),
    Case(
      testDescription: "…and no more than ours, where one is silent", redirects: ["302; Cache-Control: max-age=60"],
      answer: "Cache-Control: max-age=60, stale-if-error=90", stored: "Cache-Control: max-age=60, stale-if-error=30"),
    Case(
      testDescription: "…which may be the answer", redirects: ["302; Cache-Control: max-age=60, stale-if-error=90"],
      answer: "Cache-Control: max-age=60", stored: "Cache-Control: max-age=60, stale-if-error=30"),
    Case(
      testDescription: "…but not a redirect that is for ever", redirects: ["301"],
      answer: "Cache-Control: max-age=60, stale-if-error=90", stored: "Cache-Control: max-age=60, stale-if-error=90"),
    Case(
      testDescription: "…unless it says so", redirects: ["301; Cache-Control: stale-if-error=5"],
      answer: "Cache-Control: max-age=60, stale-if-error=90", stored: "Cache-Control: max-age=60, stale-if-error=5"),
    Case(
      testDescription: "no validator of another URL", redirects: ["302; Cache-Control: max-age=60; ETag: \"1\""],
      answer: "Cache-Control: max-age=60; ETag: \"2\"; Last-Modified: -60", stored: "Cache-Control: max-age=60"),
    Case(
      testDescription: "what any of them varies on", redirects: ["301; Vary: Accept-Language", "301"],
      answer: "Vary: Accept", stored: "Vary: Accept; Vary: Accept-Language"),
    Case(
      testDescription: "all as it came, without a redirect", redirects: [],
      answer: "Cache-Control: max-age=60, immutable; ETag: \"2\"; Last-Modified: -60; Age: 4",
      stored: "Cache-Control: max-age=60, immutable; ETag: \"2\"; Last-Modified: -60; Age: 4"),
  ]

  private func fields(_ example: Case, fallback: Double = 300) -> HTTPFields {
    let responses = (example.redirects + [example.answer]).map { text in
      let head = CachingExample.head(text)
      return HTTPResponse(status: head.status, headerFields: head.fields)
    }
    return RedirectedResponse.fields(
      of: responses[responses.count - 1], after: responses.dropLast(), receivedAt: CachingExample.time,
      fallback: fallback, staleIfError: 30)
  }

  private func expectStored(_ example: Case) {
    let (stored, expected) = (fields(example), CachingExample.head(example.stored).fields)
    #expect(Set(stored.map(\.name)) == Set(expected.map(\.name)))
    for name in Set(expected.map(\.name)) { #expect(stored[values: name] == expected[values: name], "\(name)") }
  }

  @Test(arguments: lifetimes) func `is fresh for what is left of the shortest lifetime`(example: Case) {
    expectStored(example)
  }

  @Test(arguments: directives) func `is stored as each step of the way allows`(example: Case) { expectStored(example) }

  @Test(
    arguments: [
      (0, "max-age=0"), (1.9, "max-age=1"), (.infinity, "max-age=3600"), (-.infinity, "max-age=0"),
    ] as [(Double, String)])
  func `is fresh for whole seconds, whatever the configuration says`(fallback: Double, control: String) {
    let example = Case(
      testDescription: "", redirects: ["302"], answer: "Cache-Control: max-age=3600", stored: "")
    #expect(fields(example, fallback: fallback)[.cacheControl] == control)
  }

  @Test func `an answer that came over redirects matches no request where a redirect varies on what none shows`() {
    let example = Case(testDescription: "", redirects: ["302; Vary: *"], answer: "Vary: Accept", stored: "")
    #expect(Record.Variant(response: fields(example), request: [:])?.isMatchable == false)
  }
}
