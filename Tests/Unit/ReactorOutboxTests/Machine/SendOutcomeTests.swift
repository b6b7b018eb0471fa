import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The first table of `OutcomesOfAWrite.md` is this suite's input, so that it says what is.
@Suite struct `The outcome of an attempt` {
  @Test func `the table has every outcome, and every kind of answer`() {
    let rows = OutcomePage.rows("Attempt", "Answer", "Outcome")
    #expect(rows.count > 60)
    #expect(rows.allSatisfy { !$0[0].isEmpty && !$0[1].isEmpty && $0.count == 5 })
    let outcomes = Set(rows.map { $0[4].split(separator: ":")[0] })
    #expect(outcomes == ["accepted", "refused", "conflict", "later", "unsent", "sign in", "unknown", "diverted"])
    #expect(outcomes.count == SendOutcome.Kind.allCases.count)
  }

  @Test(arguments: OutcomePage.rows("Attempt", "Answer", "Outcome"))
  func `an answer means what its row says`(row: [String]) throws {
    let attempt = try SendOutcome.Attempt(cell: row[2])
    let outcome = SendOutcome(try Result(cell: row[3]), of: attempt, now: OutcomePage.now)
    #expect(outcome.words == row[4])
  }

  @Test func `every status has the outcome of its class, unless the table says otherwise`() {
    for code in 100..<600 {
      let result = Result<HTTPResponse, ReactorError>.success(HTTPResponse(status: .init(code: code)))
      let kind = SendOutcome(result, of: .init(), now: OutcomePage.now).kind
      switch code {
      case 401: #expect(kind == .signIn)
      case 412: #expect(kind == .conflict)
      case 408, 425, 429, 503: #expect(kind == .later)
      case 511: #expect(kind == .unsent)
      case 307, 308, 501, 505: #expect(kind == .refused)
      case 200..<400: #expect(kind == .accepted)
      case 400..<500: #expect(kind == .refused)
      default: #expect(kind == .unknown, "\(code)")
      }
    }
  }

  @Test(arguments: [
    URLError.Code.notConnectedToInternet, .dnsLookupFailed, .internationalRoamingOff, .callIsActive, .dataNotAllowed,
    .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot,
    .serverCertificateNotYetValid, .appTransportSecurityRequiresSecureConnection,
  ])
  func `a connection that was never made has sent nothing`(_ code: URLError.Code) {
    #expect(kind(of: URLError(code)) == .unsent)
  }

  @Test(arguments: [
    URLError.Code.networkConnectionLost, .badServerResponse, .cannotParseResponse, .httpTooManyRedirects, .unknown,
    .clientCertificateRejected,
  ])
  func `any other failure of a connection leaves a doubt`(_ code: URLError.Code) {
    #expect(kind(of: URLError(code)) == .unknown)
  }

  private func kind(of error: any Error) -> SendOutcome.Kind {
    SendOutcome(.failure(.network(error)), of: .init(), now: OutcomePage.now).kind
  }

  @Test func `a long Retry-After is a long time, and no crash`() throws {
    for text in ["99999999999999999999", "9223372036854775807"] {
      let result = try Result<HTTPResponse, ReactorError>(cell: "503; Retry-After: \(text)")
      guard case .later(let duration?) = SendOutcome(result, of: .init(), now: OutcomePage.now) else {
        Issue.record("it is not later")
        continue
      }
      #expect(duration >= .seconds(86_400 * 365))
    }
  }
}

@Suite struct `A request that cannot be made` {
  /// An error of the program's own.
  private struct NoTitle: Error {}

  @Test(arguments: [
    "no connectivity", "timed out", "cancelled", "not connected", "connection lost", "cannot find host", "ECONNRESET",
    "server error: 503", "server error: 500", "server error: 429", "nested: no connectivity",
  ])
  func `a request that cannot be made may be made later, if the network has failed`(_ words: String) throws {
    #expect(SendOutcome(preparing: try ReactorError(words: words)).kind == .unsent)
  }

  @Test(arguments: [
    "invalid resource", "unreadable", "response too large", "bad URL", "server error: 404", "server error: 410",
    "server error: 403", "nested: invalid resource",
  ])
  func `a request that cannot be made is refused for what does not pass`(_ words: String) throws {
    #expect(SendOutcome(preparing: try ReactorError(words: words)).kind == .refused)
  }

  @Test func `a request that cannot be made is refused by an error of the program`() {
    let error = ReactorError(NoTitle(), wrap: ReactorError.network)
    #expect(SendOutcome(preparing: error).kind == .refused)
    #expect(SendOutcome(preparing: .notCached).kind == .refused)
    #expect(SendOutcome(preparing: .persistence(NoTitle())).kind == .refused)
  }

  @Test func `a request that cannot be made waits for a sign-in`() {
    #expect(SendOutcome(preparing: .authentication(NoTitle())).kind == .signIn)
    let unauthorized = HTTPResponse(status: .unauthorized)
    #expect(SendOutcome(preparing: .server(unauthorized, body: Data())).kind == .signIn)
  }
}
