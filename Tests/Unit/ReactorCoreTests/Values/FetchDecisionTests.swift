import Foundation
import HTTPTypes
import Testing

@testable import ReactorCore

@Suite struct `A policy's decision` {
  struct Cell: Sendable, CustomTestStringConvertible {
    let policy: FetchPolicy
    let copy: CopyAtHand
    let decision: FetchDecision<CopyAtHand>
    var testDescription: String { "\(policy), \(copy): \(decision)" }
  }

  @Test(arguments: cells) func `a policy's decision is as the table says`(cell: Cell) {
    #expect(FetchDecision(cell.policy, cell.copy, cell.copy.status) == cell.decision)
  }

  @Test func `a policy's decision is tried in every cell of the table`() {
    #expect(Self.cells.count == FetchPolicy.allCases.count * CopyAtHand.allCases.count)
  }

  /// In the order of ``CopyAtHand``: none, fresh, stale, within stale-if-error, may not stand in,
  /// within stale-while-revalidate.
  private static let rows: [(FetchPolicy, [@Sendable (CopyAtHand) -> FetchDecision<CopyAtHand>])] = [
    (.cacheFirst, [ask, use, ask, ask, ask, useAndRevalidate]),
    (.networkOnly, [ask, ask, ask, ask, ask, ask]),
    (.networkFirst, [ask, ask, ask, ask, ask, ask]),
    (.cacheOnly, [notCached, use, use, use, use, use]),
    (.staleWhileRevalidate, [ask, use, useAndRevalidate, useAndRevalidate, ask, useAndRevalidate]),
  ]

  private static let use = { @Sendable (copy: CopyAtHand) in FetchDecision.use(copy) }
  private static let useAndRevalidate = { @Sendable (copy: CopyAtHand) in FetchDecision.useAndRevalidate(copy) }
  private static let ask = { @Sendable (_: CopyAtHand) in FetchDecision<CopyAtHand>.ask }
  private static let notCached = { @Sendable (_: CopyAtHand) in FetchDecision<CopyAtHand>.notCached }

  static let cells = rows.flatMap { policy, decisions in
    zip(CopyAtHand.allCases, decisions).map { Cell(policy: policy, copy: $0, decision: $1($0)) }
  }

  @Test(arguments: zip(FetchPolicy.allCases, [true, false, false, true, true]))
  func `a policy's decision asks the store first, or the network`(policy: FetchPolicy, asksStoreFirst: Bool) {
    #expect(policy.asksStoreFirst == asksStoreFirst)
  }
}

@Suite struct `A copy stands in for the network` {
  struct Cell: Sendable, CustomTestStringConvertible {
    let policy: FetchPolicy
    let copy: CopyAtHand
    let servesStale: Bool
    var testDescription: String { "\(policy), \(copy): \(servesStale)" }
  }

  @Test(arguments: cells) func `as the table says when it fails`(cell: Cell) {
    for error in NetworkFailures.all {
      #expect(
        cell.policy.servesStale(cell.copy.status, on: error) == cell.servesStale, "\(error)")
    }
  }

  @Test(arguments: FetchPolicy.allCases) func `never for another error`(policy: FetchPolicy) {
    for error in NetworkFailures.others {
      for copy in CopyAtHand.allCases {
        #expect(!policy.servesStale(copy.status, on: error), "\(error), \(copy)")
      }
    }
  }

  private static let rows: [(FetchPolicy, [Bool])] = [
    (.cacheFirst, [false, true, false, true, false, false]),
    (.networkOnly, [false, false, false, false, false, false]),
    (.networkFirst, [false, true, true, true, false, true]),
    (.cacheOnly, [false, false, false, false, false, false]),
    (.staleWhileRevalidate, [false, false, false, false, false, false]),
  ]

  static let cells = rows.flatMap { policy, answers in
    zip(CopyAtHand.allCases, answers).map { Cell(policy: policy, copy: $0, servesStale: $1) }
  }
}

/// An error of each kind.
enum NetworkFailures {
  struct Anything: Error {}

  static let all: [ReactorError] =
    [.noConnectivity, .timedOut, .network(Anything())] + [500, 502, 503, 504].map(server)

  static let others: [ReactorError] =
    [
      .cancelled, .notCached, .invalidResource("a path"), .parser(ParserError(.empty, expected: "JSON")),
      .persistence(Anything()),
    ] + [304, 400, 401, 403, 404, 408, 429, 499, 501, 505, 511, 599].map(server)

  private static func server(_ status: Int) -> ReactorError {
    .server(HTTPResponse(status: HTTPResponse.Status(code: status)), body: Data())
  }
}

@Suite struct `The network has failed` {
  @Test func `with no connectivity, a deadline, the transport's error and the statuses of RFC 5861`() {
    for error in NetworkFailures.all { #expect(error.isNetworkFailure, "\(error)") }
  }

  @Test func `with nothing else`() {
    for error in NetworkFailures.others { #expect(!error.isNetworkFailure, "\(error)") }
  }
}
