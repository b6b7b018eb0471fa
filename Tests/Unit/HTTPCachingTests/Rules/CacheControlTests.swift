import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite struct `A Cache-Control` {
  /// - Parameter lines: one field each.
  private func parse(_ lines: String...) -> CacheControl {
    var fields: HTTPFields = [:]
    fields[values: .cacheControl] = lines
    return CacheControl(fields)
  }

  @Test func `a missing Cache-Control says nothing`() {
    let control = parse()
    #expect(control.maxAge == nil)
    #expect(control.staleWhileRevalidate == nil)
    #expect(control.staleIfError == nil)
    #expect(!control.isNoStore)
    #expect(!control.isNoCache)
    #expect(!control.isMustRevalidate)
  }

  @Test(arguments: [
    ("max-age=60", 60), ("MAX-AGE=60", 60), ("  max-age=60  ", 60), ("max-age= 60", 0),
    ("max-age=\"60\"", 60),
    (",, ,max-age=60,", 60), ("public,max-age=60", 60), ("max-age=060", 60), ("max-age=60, max-age=10", 60),
    ("max-age=junk, max-age=60", 0), ("max-age", 0), ("max-age=", 0), ("max-age=-5", 0), ("max-age=+5", 0),
    ("max-age=1.5", 0), ("max-age=60s", 0), ("max-age=\"\"", 0), ("max-age=٦", 0),
    ("max-age=2147483648", 2_147_483_648), ("max-age=2147483649", 2_147_483_648),
    ("max-age=99999999999999999999999", 2_147_483_648),
  ])
  func `a Cache-Control gives its max-age in seconds, the first where there are several`(text: String, seconds: Int) {
    #expect(parse(text).maxAge == .seconds(seconds))
  }

  @Test(arguments: [
    "x-max-age=60", "maxage=60", "=60", "=", "\"max-age=60\"", "s-maxage=60", "max-age:60", "max-age =60", "🙂",
  ])
  func `a Cache-Control gives no max-age where it has none`(text: String) {
    #expect(parse(text).maxAge == nil)
  }

  @Test func `a Cache-Control is read over several lines, the first counts`() {
    let control = parse("max-age=60", "max-age=10, no-store", "must-revalidate")
    #expect(control.maxAge == .seconds(60))
    #expect(control.isNoStore)
    #expect(control.isMustRevalidate)
  }

  @Test func `a Cache-Control reads all its directives, in any order and case`() {
    let control = parse("No-Cache, stale-if-error=7, NO-STORE, stale-while-revalidate=5, Must-Revalidate")
    #expect(control.isNoCache)
    #expect(control.isNoStore)
    #expect(control.isMustRevalidate)
    #expect(control.staleWhileRevalidate == .seconds(5))
    #expect(control.staleIfError == .seconds(7))
  }

  @Test func `a Cache-Control takes the first of each window`() {
    let control = parse("stale-if-error=7, stale-while-revalidate=5", "stale-if-error=70, stale-while-revalidate=50")
    #expect(control.staleIfError == .seconds(7))
    #expect(control.staleWhileRevalidate == .seconds(5))
  }

  /// Safe, and allowed by RFC 9111 §5.2.2.4.
  @Test func `a Cache-Control takes a no-cache for some fields as one for all`() {
    #expect(parse("no-cache=\"Set-Cookie, X-Token\"").isNoCache)
  }

  @Test(arguments: [
    "foo=\"a, max-age=1\"", "foo=\"no-store, max-age=1, x\"", #"foo="say \"hi, max-age=1, no-store\" now""#,
    #"foo="a\\\", max-age=1""#,
  ])
  func `a Cache-Control reads nothing inside of a quoted string`(text: String) {
    let control = parse(text)
    #expect(control.maxAge == nil)
    #expect(!control.isNoStore)
    #expect(parse("\(text), max-age=60").maxAge == .seconds(60))
  }

  @Test func `a Cache-Control ends with a quoted string that is not closed`() {
    let control = parse("no-cache, foo=\"a, max-age=1", "must-revalidate")
    #expect(control.isNoCache)
    #expect(control.maxAge == nil)
    #expect(control.isMustRevalidate)
  }
}
