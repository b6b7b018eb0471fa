import Foundation
import Testing

@testable import HTTPCaching

@Suite struct `A date in a field` {
  private static let now = Date(timeIntervalSince1970: 1_795_262_400)

  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777.0), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Sun Nov 16 08:49:37 1994", 784_975_777),
    ("SUN, 06 NOV 1994 08:49:37 gmt", 784_111_777), ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
    ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800),
    ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400), ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
    ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799), ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
    ("Saturday, 21-Nov-76 12:00:00 GMT", 3_373_185_600), ("Monday, 21-Nov-77 12:00:00 GMT", 248_961_600),
  ])
  func `a date in a field is read in its three forms`(text: String, seconds: Double) {
    #expect(HTTPDate.parse(text, now: Self.now)?.timeIntervalSince1970 == seconds)
  }

  @Test(arguments: [
    "", "0", "soon", "Sun", "Sun,", "Sun, 06 Nov 1994", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 06 Nov 94 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT", "Sun,  06 Nov 1994 08:49:37 GMT",
    "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 06 Nov 1994 08.49.37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
    "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Thu, 29 Feb 2023 00:00:00 GMT",
    "Thu, 29 Feb 1900 00:00:00 GMT", "Sun, 06 Foo 1994 08:49:37 GMT", "Foo, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
    "Sun, ٠٦ Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "Sunday, 06 Nov 1994 08:49:37 GMT",
  ])
  func `a date in a field is nothing else`(text: String) {
    #expect(HTTPDate.parse(text, now: Self.now) == nil)
  }

  @Test(arguments: [784_111_777.0, 0, -1, 951_782_400, 1_709_164_800, 253_402_300_799, -62_135_596_800])
  func `a date in a field is written as it is read`(seconds: Double) {
    let text = HTTPDate.format(Date(timeIntervalSince1970: seconds))
    #expect(HTTPDate.parse(text, now: Self.now)?.timeIntervalSince1970 == seconds)
  }

  @Test func `a date in a field is written with the day's name`() {
    #expect(HTTPDate.format(Date(timeIntervalSince1970: 784_111_777.9)) == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(HTTPDate.format(Date(timeIntervalSince1970: -86_400)) == "Wed, 31 Dec 1969 00:00:00 GMT")
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300])
  func `a date in a field is written of any time without a trap`(seconds: Double) {
    #expect(HTTPDate.format(Date(timeIntervalSince1970: seconds)).hasSuffix(" GMT"))
  }
}
