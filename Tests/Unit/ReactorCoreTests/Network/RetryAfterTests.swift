import Foundation
import HTTPTypes
import Testing

@testable import ReactorCore

@Suite struct `The field Retry-After` {
  /// 6 November 1994, 8:49:00 UTC.
  private let now = Date(timeIntervalSince1970: 784_111_740)

  private func delay(_ values: String...) -> Duration? {
    var fields: HTTPFields = [:]
    fields[values: .retryAfter] = values
    return RetryAfter.delay(in: fields, now: now)
  }

  @Test(arguments: [("0", Duration.zero), ("120", .seconds(120)), ("007", .seconds(7)), (" 5 ", .seconds(5))])
  func `the field Retry-After is a number of seconds`(field: String, expected: Duration) {
    #expect(delay(field) == expected)
  }

  @Test func `the field Retry-After is longer than anything where the number is too large`() {
    #expect(delay("9223372036854775808") == .never)
  }

  @Test(arguments: ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"])
  func `the field Retry-After is a date in any of the three forms`(field: String) {
    #expect(delay(field) == .seconds(37))
  }

  @Test(arguments: ["Sun, 06 Nov 1994 08:48:37 GMT", "Thu, 01 Jan 1970 00:00:00 GMT"])
  func `the field Retry-After is nothing to wait for where the date has passed`(field: String) {
    #expect(delay(field) == .zero)
  }

  @Test func `the field Retry-After takes a leap second for the one before it`() {
    #expect(HTTPDate.parse("Sat, 31 Dec 2016 23:59:60 GMT", now: now)?.timeIntervalSince1970 == 1_483_228_800)
  }

  /// The year with two digits, what is understood in 1994.
  @Test(arguments: [("94", 1994), ("00", 2000), ("44", 2044), ("45", 1945), ("95", 1995), ("99", 1999)])
  func `the field Retry-After has years of two digits in the reader's century`(digits: String, year: Int) throws {
    let date = try #require(HTTPDate.parse("Monday, 01-Jan-\(digits) 00:00:00 GMT", now: now))
    #expect(HTTPDate.parse("Mon, 01 Jan \(year) 00:00:00 GMT", now: now) == date)
  }

  @Test func `the field Retry-After has years of two digits not more than fifty years ahead`() throws {
    let millennium = Date(timeIntervalSince1970: 946_684_800)
    let date = try #require(HTTPDate.parse("Friday, 01-Jan-51 00:00:00 GMT", now: millennium))
    #expect(HTTPDate.parse("Sun, 01 Jan 1951 00:00:00 GMT", now: now) == date)
  }

  @Test(arguments: [
    "", "-1", "1.5", "1s", "+5", "٣", "soon", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 31 Feb 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
    "06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "1994-11-06T08:49:37Z",
    "Sun, ٠٦ Nov 1994 08:49:37 GMT",
  ])
  func `the field Retry-After is ignored where it is neither`(field: String) {
    #expect(delay(field) == nil)
  }

  @Test func `the field Retry-After counts by its first value that is one`() {
    #expect(delay() == nil)
    #expect(delay("soon", "7", "9") == .seconds(7))
  }
}
