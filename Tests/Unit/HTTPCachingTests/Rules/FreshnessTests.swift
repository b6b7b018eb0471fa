import Foundation
import HTTPTypes
import Testing

@testable import HTTPCaching

/// Fetched at 1,000 s; times are seconds since then.
private func freshness(
  _ cacheControl: String? = nil, age: String? = nil, took delay: Double = 0, invalidatedAt: Double? = nil,
  localModel: String? = nil
) -> Freshness {
  let receivedAt = Date(timeIntervalSince1970: 1_000)
  var fields: HTTPFields = [:]
  fields[.cacheControl] = cacheControl
  fields[.age] = age
  return Freshness(
    Record.Head(
      identity: "", status: .ok, fields: fields, requestedAt: receivedAt.addingTimeInterval(-delay),
      receivedAt: receivedAt, invalidatedAt: invalidatedAt.map { receivedAt.addingTimeInterval($0) },
      localModel: localModel))
}

extension Freshness {
  /// - Parameter age: seconds since the exchange.
  fileprivate func at(
    _ age: Double, freshFor: Duration? = nil, fallback: Duration = .seconds(100), staleIfError: Duration = .zero
  ) -> CopyStatus? {
    status(
      at: Date(timeIntervalSince1970: 1_000 + age), freshFor: freshFor?.inSeconds, fallback: fallback.inSeconds,
      staleIfError: staleIfError.inSeconds)
  }
}

@Suite struct `A copy is fresh` {
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    var cacheControl: String?
    var freshFor: Duration?
    var fallback: Duration = .seconds(100)
    var invalidatedAt: Double?
    let age: Double
    let isFresh: Bool
    var testDescription: String { name }
  }

  @Test(arguments: [
    Case(name: "just before its lifetime is over", age: 99.999, isFresh: true),
    Case(name: "not when its age is its lifetime", age: 100, isFresh: false),
    Case(name: "at the moment it was fetched", age: 0, isFresh: true),
    Case(name: "not with a lifetime of zero", fallback: .zero, age: 0, isFresh: false),
    Case(name: "not with a max-age of zero", cacheControl: "max-age=0", age: 0, isFresh: false),
    Case(name: "not with a freshFor of zero", cacheControl: "max-age=50", freshFor: .zero, age: 0, isFresh: false),
    Case(name: "not from the future", age: -0.001, isFresh: false),
    Case(name: "not from the future, where it is never stale", fallback: .never, age: -1, isFresh: false),
    Case(name: "always where it is never stale", fallback: .never, age: 1e12, isFresh: true),
    Case(
      name: "for the resource's time before the response's", cacheControl: "max-age=10", freshFor: .seconds(50),
      age: 40, isFresh: true),
    Case(
      name: "no longer than the resource says", cacheControl: "max-age=90", freshFor: .seconds(50), age: 60,
      isFresh: false),
    Case(
      name: "for the response's time before the configuration's", cacheControl: "max-age=500", age: 400, isFresh: true),
    Case(name: "no longer than the response says", cacheControl: "max-age=10", age: 20, isFresh: false),
    Case(name: "not once it was invalidated", invalidatedAt: 10, age: 10, isFresh: false),
    Case(
      name: "not once it was invalidated, though the clock was set back since", invalidatedAt: 10, age: 9,
      isFresh: false),
    Case(name: "no longer for a later invalidation", invalidatedAt: 500, age: 200, isFresh: false),
    Case(name: "not when it was invalidated before it was fetched", invalidatedAt: -5, age: 0, isFresh: false),
    Case(
      name: "not once invalidated, where it is never stale", fallback: .never, invalidatedAt: 10, age: 11,
      isFresh: false),
    Case(name: "not with no-cache", cacheControl: "no-cache, max-age=500", age: 0, isFresh: false),
    Case(
      name: "with no-cache, where the resource says so", cacheControl: "no-cache", freshFor: .seconds(50), age: 1,
      isFresh: true),
    Case(
      name: "with must-revalidate, until it is stale", cacheControl: "must-revalidate, max-age=50", age: 49,
      isFresh: true),
    Case(
      name: "for as long as a number that overflows", cacheControl: "max-age=99999999999999999999", age: 2e9,
      isFresh: true),
    Case(name: "not with a max-age that is no number", cacheControl: "max-age=soon", age: 0, isFresh: false),
  ])
  func `while its age is below its lifetime`(`case`: Case) {
    let freshness = freshness(`case`.cacheControl, invalidatedAt: `case`.invalidatedAt)
    let status = freshness.at(`case`.age, freshFor: `case`.freshFor, fallback: `case`.fallback)
    #expect(status?.isFresh == `case`.isFresh)
  }

  @Test(arguments: [
    (age: "30", delay: 0.0, until: 70.0), (age: "30", delay: 5.0, until: 65.0), (age: "0", delay: 5.0, until: 95.0),
    (age: "99999999999999999999", delay: 0.0, until: 0.0), (age: "old", delay: 0.0, until: 100.0),
    (age: "30, 70", delay: 0.0, until: 70.0), (age: "-5", delay: 0.0, until: 100.0),
    (age: "", delay: 60.0, until: 40.0),
  ])
  func `for less time where the response was old already`(age: String, delay: Double, until: Double) {
    let freshness = freshness(age: age, took: delay)
    #expect(freshness.at(until)?.isFresh == false)
    if until > 0 { #expect(freshness.at(until - 0.01)?.isFresh == true) }
  }

  @Test func `from when it was requested, where the response has no Age`() {
    #expect(freshness(took: 60).at(39)?.isFresh == true)
    #expect(freshness(took: 60).at(40)?.isFresh == false)
  }

  @Test func `no longer where the request was sent after the response came, by a clock set back`() {
    let freshness = freshness(age: "10", took: -500)
    #expect(freshness.at(89)?.isFresh == true)
    #expect(freshness.at(90)?.isFresh == false)
  }

  @Test func `a locally written copy is fresh by its time`() {
    let freshness = freshness("no-store, max-age=500", localModel: "Note")
    #expect(freshness.at(99)?.isFresh == true)
    #expect(freshness.at(100)?.isFresh == false)
    #expect(freshness.at(100)?.allowsStale == true)
  }

  @Test func `a copy without an exchange is fresh by its time`() {
    let freshness = Freshness(since: Date(timeIntervalSince1970: 1_000))
    #expect(freshness.at(99)?.isFresh == true)
    #expect(freshness.at(100)?.isFresh == false)
  }
}

@Suite struct `A copy that may not be kept` {
  @Test(arguments: ["no-store", "No-Store", "max-age=50, no-store", "no-store=\"x\""])
  func `a copy that may not be kept stands nowhere`(cacheControl: String) {
    #expect(freshness(cacheControl).at(0) == nil)
    #expect(freshness(cacheControl).at(0, freshFor: .seconds(50)) == nil)
  }
}

@Suite struct `A copy may stand in` {
  @Test(arguments: [
    (cacheControl: "max-age=50", age: 10.0, may: true), (cacheControl: "max-age=50", age: 60.0, may: true),
    (cacheControl: "no-cache", age: 0.0, may: false),
    (cacheControl: "must-revalidate, max-age=50", age: 10.0, may: true),
    (cacheControl: "must-revalidate, max-age=50", age: 50.0, may: false),
    (cacheControl: "no-cache, stale-if-error=500", age: 0.0, may: false),
  ])
  func `unless the server must be asked`(cacheControl: String, age: Double, may: Bool) {
    #expect(freshness(cacheControl).at(age)?.allowsStale == may)
  }

  @Test func `not when it must be revalidated and was invalidated`() {
    #expect(freshness("must-revalidate, max-age=50", invalidatedAt: 5).at(6)?.allowsStale == false)
  }
}

@Suite struct `The window of stale-if-error` {
  @Test(arguments: [(age: 100.0, isWithin: true), (age: 129.9, isWithin: true), (age: 130.0, isWithin: false)])
  func `the window of stale-if-error begins when the copy is stale`(age: Double, isWithin: Bool) {
    #expect(freshness().at(age, staleIfError: .seconds(30))?.isWithinStaleIfError == isWithin)
  }

  @Test func `the window of stale-if-error is the server's before the configuration's`() {
    #expect(freshness("stale-if-error=60").at(150, staleIfError: .seconds(30))?.isWithinStaleIfError == true)
    #expect(freshness("stale-if-error=0").at(110, staleIfError: .seconds(30))?.isWithinStaleIfError == false)
  }

  @Test func `the window of stale-if-error is nothing by default`() {
    #expect(freshness().at(100)?.isWithinStaleIfError == false)
  }

  @Test func `the window of stale-if-error has no end where it is never`() {
    #expect(freshness().at(1e12, staleIfError: .never)?.isWithinStaleIfError == true)
  }

  @Test func `the window of stale-if-error is closed to a record from the future`() {
    #expect(freshness().at(-1, staleIfError: .never)?.isWithinStaleIfError == false)
  }

  @Test func `the window of stale-if-error counts from an invalidation`() {
    let freshness = freshness(invalidatedAt: 10)
    #expect(freshness.at(39, staleIfError: .seconds(30))?.isWithinStaleIfError == true)
    #expect(freshness.at(40, staleIfError: .seconds(30))?.isWithinStaleIfError == false)
    // The clock was set back to before that: its age is unknown.
    #expect(freshness.at(9, staleIfError: .seconds(30))?.isWithinStaleIfError == false)
    #expect(freshness.at(9)?.isWithinStaleIfError == false)
  }
}

@Suite struct `The window of stale-while-revalidate` {
  @Test(arguments: [(age: 50.0, isWithin: true), (age: 79.9, isWithin: true), (age: 80.0, isWithin: false)])
  func `the window of stale-while-revalidate begins when the copy is stale`(age: Double, isWithin: Bool) {
    let freshness = freshness("max-age=50, stale-while-revalidate=30")
    #expect(freshness.at(age)?.isWithinStaleWhileRevalidate == isWithin)
  }

  @Test func `the window of stale-while-revalidate is nothing where the server gives none`() {
    #expect(freshness("max-age=50").at(50)?.isWithinStaleWhileRevalidate == false)
  }

  @Test func `the window of stale-while-revalidate is closed to a record from the future`() {
    #expect(freshness("max-age=50, stale-while-revalidate=30").at(-1)?.isWithinStaleWhileRevalidate == false)
  }
}
