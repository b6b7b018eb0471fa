import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Testing

@Suite struct `The order of events` {
  typealias Kind = ReactorEvent.Kind

  /// A sequence of events, and whether the last of them may follow.
  struct Row: CustomTestStringConvertible, Sendable {
    let name: String
    let kinds: [Kind]
    var exceptions: Set<EventRecorder.Exception> = []
    var method = HTTPRequest.Method.get
    var testDescription: String { name }
  }

  private static let request = Kind.request(isConditional: false)
  private static let conditional = Kind.request(isConditional: true)
  private static let ok = Kind.response(status: 200, bytes: 2, duration: .zero)
  private static let unmodified = Kind.response(status: 304, bytes: 0, duration: .zero)
  private static let unavailable = Kind.response(status: 503, bytes: 0, duration: .zero)
  private static let parsed = Kind.parsed(bytes: 2, duration: .zero)
  private static let confirmed = Kind.notModified(parsedBytes: 0)
  private static let saved = Kind.saved(bytes: 2)
  private static let pruned = Kind.pruned([], count: 0)
  private static let progress = Kind.progress(TransferProgress(received: 1, expected: 2))
  private static let lost = Kind.failed(.network(URLError(.networkConnectionLost)))
  private static func retry(_ reason: String) -> Kind { .retry(attempt: 2, after: .zero, reason: reason) }

  static let possible = [
    Row(
      name: "a miss, an exchange, a hit",
      kinds: [.memoryMiss, .persistenceMiss, request, progress, ok, parsed, saved, .memoryHit]),
    Row(
      name: "a load, a hit, an eviction",
      kinds: [.memoryMiss, parsed, pruned, .persistenceHit(isFresh: true), .memoryHit, .evicted]),
    Row(name: "a confirmation", kinds: [conditional, unmodified, confirmed, saved, .memoryHit]),
    Row(name: "a retry of a status", kinds: [request, unavailable, retry("status 503"), request, ok, parsed, saved]),
    Row(name: "a retry of a failure", kinds: [request, retry("network: lost"), request, ok, parsed]),
    Row(name: "a failure offline, after a retry", kinds: [request, retry("network: lost"), .paused, lost]),
    Row(name: "a request after a failure", kinds: [request, lost, request, ok]),
    Row(name: "no connectivity, and nothing asked", kinds: [.memoryMiss, .failed(.noConnectivity)]),
    Row(name: "an answer to what was given up", kinds: [request, .superseded, request, ok, ok]),
    Row(name: "an answer after the last has left", kinds: [request, .cancelled, request, ok, parsed, ok]),
    Row(
      name: "a local write, and the answer that it outran",
      kinds: [request, .superseded, .savedLocally, saved, ok, parsed]),
    Row(
      name: "a hit after a removal, of what was written again",
      kinds: [.savedLocally, .removed, .savedLocally, .memoryHit]),
    Row(name: "a local write without bytes", kinds: [.savedLocally, .notEncoded("null"), .memoryHit]),
    Row(
      name: "a stale copy, asked for anew after a removal",
      kinds: [request, ok, parsed, .removed, request, ok, parsed, .servedStale]),
    Row(name: "two posts at once", kinds: [request, request, ok, ok], method: .post),
    Row(
      name: "a hit of a model that only the other reactor has forgotten",
      kinds: [.savedLocally, .removed, .memoryHit], exceptions: [.concurrentRequests]),
    Row(name: "two reactors of one model", kinds: [request, request, ok, ok], exceptions: [.concurrentRequests]),
    Row(
      name: "steps that tell nothing",
      kinds: [.memoryMiss, saved, .memoryHit, progress, lost, .notEncoded("null"), .evicted], exceptions: [.ownSteps]),
  ]

  @Test(arguments: possible) func `possible orders are accepted`(row: Row) {
    var grammar = EventGrammar(method: row.method, except: row.exceptions)
    for kind in row.kinds { #expect(grammar.take(kind) == nil, "\(kind)") }
  }

  static let impossible = [
    Row(name: "a hit of nothing", kinds: [.memoryMiss, .memoryHit]),
    Row(name: "a stale copy of nothing", kinds: [.servedStale]),
    Row(name: "a hit of what was removed", kinds: [parsed, .persistenceHit(isFresh: true), .removed, .memoryHit]),
    Row(
      name: "a hit of what was removed for the second time",
      kinds: [.savedLocally, .removed, .savedLocally, .removed, .memoryHit]),
    Row(
      name: "a hit of what was removed, after a flight was given up",
      kinds: [request, .cancelled, request, ok, parsed, .removed, .memoryHit]),
    Row(
      name: "a stale copy of what was removed, after a flight was given up",
      kinds: [request, .superseded, .savedLocally, .removed, .servedStale]),
    Row(name: "a local write beside a request that nothing ends", kinds: [request, .savedLocally]),
    Row(
      name: "a stale copy of what was removed",
      kinds: [parsed, .persistenceHit(isFresh: false), .removed, .servedStale]),
    Row(name: "an eviction of nothing", kinds: [.persistenceMiss, .evicted]),
    Row(name: "a response without a request", kinds: [.memoryMiss, ok]),
    Row(name: "a second response", kinds: [request, ok, ok]),
    Row(name: "a response after the failure", kinds: [request, lost, ok]),
    Row(name: "a response before the next attempt", kinds: [request, retry("network: lost"), ok]),
    Row(name: "a second request beside the first", kinds: [request, request]),
    Row(name: "progress before the request", kinds: [progress]),
    Row(name: "progress after the response", kinds: [request, ok, progress]),
    Row(name: "a retry of nothing", kinds: [.memoryMiss, retry("status 503")]),
    Row(name: "two retries of one request", kinds: [request, retry("network: lost"), retry("network: lost")]),
    Row(name: "a failure of no exchange", kinds: [.memoryMiss, lost]),
    Row(name: "a failure after a retry", kinds: [request, retry("network: lost"), lost]),
    Row(name: "a confirmation without a response", kinds: [conditional, confirmed]),
    Row(name: "a confirmation by a success", kinds: [conditional, ok, confirmed]),
    Row(name: "a confirmation of what was not asked about", kinds: [request, unmodified, confirmed]),
    Row(name: "elements of nothing", kinds: [request, ok, pruned]),
    Row(name: "elements of one body, twice", kinds: [request, ok, parsed, pruned, pruned]),
    Row(name: "duplicates of nothing", kinds: [.duplicateMembers(["a"])]),
    Row(name: "a save of nothing", kinds: [.memoryMiss, saved]),
    Row(name: "a save of a failure", kinds: [request, unavailable, saved]),
    Row(name: "two saves of one answer", kinds: [request, ok, parsed, saved, saved]),
    Row(name: "a received model without bytes", kinds: [request, ok, parsed, .notEncoded("null")]),
    Row(name: "three answers to two posts", kinds: [request, request, ok, ok, ok], method: .post),
    Row(
      name: "three answers to two reactors", kinds: [request, request, ok, ok, ok], exceptions: [.concurrentRequests]),
  ]

  @Test(arguments: impossible) func `impossible orders are refused, and only those`(row: Row) throws {
    var grammar = EventGrammar(method: row.method, except: row.exceptions)
    for kind in row.kinds.dropLast() { #expect(grammar.take(kind) == nil, "\(kind)") }
    #expect(grammar.take(try #require(row.kinds.last)) != nil)
  }
}
