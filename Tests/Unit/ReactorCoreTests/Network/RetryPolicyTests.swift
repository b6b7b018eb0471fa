import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import ReactorCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The decision of a policy after one attempt, by its outcome.
struct RetryRow: Sendable, CustomTestStringConvertible {
  let name: String
  var method = HTTPRequest.Method.get
  var fields: HTTPFields = [:]
  var isReadOnly: Bool?
  var outcome: Result<HTTPResponse, any Error> = .success(HTTPResponse(status: .serviceUnavailable))
  let isRetried: Bool

  var testDescription: String { "\(name): \(isRetried ? "retried" : "the result")" }

  static func status(_ code: Int, isRetried: Bool) -> RetryRow {
    RetryRow(name: "\(code)", outcome: .success(HTTPResponse(status: .init(code: code))), isRetried: isRetried)
  }

  static func error(_ error: any Error, isRetried: Bool) -> RetryRow {
    RetryRow(name: "\(error)", outcome: .failure(error), isRetried: isRetried)
  }

  static func method(
    _ method: HTTPRequest.Method, isReadOnly: Bool? = nil, key: String? = nil, isRetried: Bool
  ) -> RetryRow {
    var fields: HTTPFields = [:]
    if let key, let name = HTTPField.Name("Idempotency-Key") { fields[name] = key }
    let suffix = (key == nil ? "" : " with a key") + (isReadOnly.map { " read-only \($0)" } ?? "")
    return RetryRow(
      name: method.rawValue + suffix, method: method, fields: fields, isReadOnly: isReadOnly, isRetried: isRetried)
  }
}

@Suite struct `A retry policy` {
  private static let now = Date(timeIntervalSince1970: 1_767_225_600)

  private func decision(
    _ row: RetryRow, by policy: RetryPolicy = RetryPolicy(), after attempt: Int = 1, random: Double = 0
  ) -> RetryDecision {
    policy.decision(
      after: attempt,
      of: HTTPRequest(
        method: row.method, scheme: "https", authority: "api.example.com", path: "/", headerFields: row.fields),
      isReadOnly: row.isReadOnly, outcome: row.outcome, now: Self.now, random: random)
  }

  private static let unavailable = RetryRow.status(503, isRetried: true)

  private static func unavailable(retryAfter: String) -> RetryRow {
    RetryRow(
      name: retryAfter,
      outcome: .success(HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: retryAfter])),
      isRetried: true)
  }

  private static let statuses: [RetryRow] =
    [408, 425, 429, 500, 502, 503, 504].map { .status($0, isRetried: true) }
    + [200, 204, 206, 304, 400, 401, 403, 404, 409, 412, 421, 501, 505, 507, 511, 599, 999].map {
      .status($0, isRetried: false)
    }

  private static let errors: [RetryRow] = [
    .error(ReactorError.noConnectivity, isRetried: true),
    .error(ReactorError.timedOut, isRetried: true),
    .error(ReactorError.network(URLError(.networkConnectionLost)), isRetried: true),
    .error(URLError(.timedOut), isRetried: true),
    .error(URLError(.cannotConnectToHost), isRetried: true),
    .error(URLError(.cannotFindHost), isRetried: true),
    .error(URLError(.dnsLookupFailed), isRetried: true),
    .error(URLError(.networkConnectionLost), isRetried: true),
    .error(URLError(.notConnectedToInternet), isRetried: true),
    .error(URLError(.badServerResponse), isRetried: true),
    .error(POSIXError(.ECONNREFUSED), isRetried: true),
    .error(POSIXError(.ECONNRESET), isRetried: true),
    .error(POSIXError(.ENOENT), isRetried: false),
    .error(URLError(.secureConnectionFailed), isRetried: false),
    .error(URLError(.serverCertificateUntrusted), isRetried: false),
    .error(URLError(.badURL), isRetried: false),
    .error(URLError(.cannotDecodeContentData), isRetried: false),
    .error(URLError(.cancelled), isRetried: false),
    .error(CancellationError(), isRetried: false),
    .error(ReactorError.cancelled, isRetried: false),
    .error(ReactorError.notCached, isRetried: false),
    .error(ReactorError.invalidResource(""), isRetried: false),
    .error(ReactorError.network(Broken()), isRetried: false),
    .error(TransportError.responseTooLarge(limit: 1), isRetried: false),
    .error(TransportError.tooManyRedirects(limit: 1), isRetried: false),
    .error(TransportError.connectionFailed("reset"), isRetried: true),
    .error(Broken(), isRetried: false),
  ]

  private static let methods: [RetryRow] =
    [.get, .head, .options, .trace, .put, .delete].map { .method($0, isRetried: true) }
    + [.post, .patch, .connect].map { .method($0, isRetried: false) }
    + [
      .method(.post, key: "4711", isRetried: true),
      .method(.patch, key: "4711", isRetried: true),
      .method(.post, isReadOnly: true, isRetried: true),
      .method(.get, isReadOnly: false, isRetried: false),
      .method(.get, isReadOnly: false, key: "4711", isRetried: true),
      .method(.put, isReadOnly: false, isRetried: true),
    ]

  @Test(arguments: statuses + errors + methods)
  func `a retry policy retries what may pass, where a second request does no harm`(row: RetryRow) {
    #expect(decision(row) == (row.isRetried ? .retry(after: .zero) : .giveUp))
  }

  @Test(arguments: [
    (attempts: 3, attempt: 1, isRetried: true), (3, 2, true), (3, 3, false), (3, 4, false), (1, 1, false),
    (0, 1, false), (-1, 1, false), (.min, 1, false), (.max, 1_000_000, true),
  ])
  func `a retry policy counts attempts, the first included`(attempts: Int, attempt: Int, isRetried: Bool) {
    #expect(
      (decision(Self.unavailable, by: RetryPolicy(attempts: attempts), after: attempt) != .giveUp) == isRetried)
  }

  @Test func `a retry policy makes two more attempts by default, and none where it is never`() {
    #expect(RetryPolicy().attempts == 3)
    #expect(decision(Self.unavailable, by: .never) == .giveUp)
  }

  @Test func `a retry policy waits up to a ceiling that doubles, up to a cap`() {
    let policy = RetryPolicy(attempts: .max)
    let ceilings = (1...8).map { decision(Self.unavailable, by: policy, after: $0, random: 1) }
    #expect(ceilings == [0.5, 1, 2, 4, 8, 16, 20, 20].map { .retry(after: .seconds($0)) })
    #expect(decision(Self.unavailable, by: policy, after: .max - 1, random: 1) == .retry(after: .seconds(20)))
  }

  @Test(arguments: [0, 0.25, 0.5, 1])
  func `a retry policy waits anything from nothing to the ceiling`(random: Double) {
    #expect(
      decision(Self.unavailable, by: RetryPolicy(firstDelay: .seconds(4)), random: random)
        == .retry(after: .seconds(4 * random)))
  }

  /// Bad settings, and the waits after attempts 1 and 2.
  @Test(arguments: [
    (first: Duration.zero, multiplier: 2.0, longest: Duration.seconds(9), waits: [0.0, 0]),
    (.zero, .infinity, .seconds(9), [0, 0]),
    (.seconds(-5), 2, .seconds(9), [0, 0]),
    (.seconds(5), 2, .seconds(-1), [0, 0]),
    (.seconds(5), .nan, .seconds(9), [5, 5]),
    (.seconds(5), 0.1, .seconds(9), [5, 5]),
    (.seconds(5), -.infinity, .seconds(9), [5, 5]),
    (.milliseconds(1), .infinity, .seconds(9), [0.001, 1]),
    (.never, 2, .never, [86_400, 86_400]),
  ])
  func `a retry policy takes settings that make no sense for the nearest that do`(
    first: Duration, multiplier: Double, longest: Duration, waits: [Double]
  ) {
    var policy = RetryPolicy(firstDelay: first)
    policy.multiplier = multiplier
    policy.longestDelay = longest
    for (index, wait) in waits.enumerated() {
      #expect(decision(Self.unavailable, by: policy, after: index + 1, random: 1) == .retry(after: .seconds(wait)))
    }
  }

  @Test(arguments: [
    ("0", RetryDecision.retry(after: .milliseconds(250))),
    ("7", .retry(after: .seconds(7))),
    ("60", .retry(after: .seconds(60))),
    ("61", .giveUp),
    ("99999999999999999999", .giveUp),
    ("Thu, 01 Jan 2026 00:00:30 GMT", .retry(after: .seconds(30))),
    ("Thu, 01 Jan 2026 00:01:01 GMT", .giveUp),
    ("Wed, 31 Dec 2025 23:00:00 GMT", .retry(after: .milliseconds(250))),
    ("soon", .retry(after: .milliseconds(250))),
  ])
  func `a retry policy waits for what the server asks, gives up beyond the cap, and ignores garbage`(
    field: String, decision expected: RetryDecision
  ) {
    #expect(decision(Self.unavailable(retryAfter: field), random: 0.5) == expected)
  }

  @Test func `a retry policy does not count what the server asks before the last attempt`() {
    #expect(decision(Self.unavailable(retryAfter: "1"), after: 3) == .giveUp)
  }
}
