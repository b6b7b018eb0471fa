import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import ReactorCore

extension HTTPField.Name {
  /// RFC 8288 §3.
  fileprivate static let link = HTTPField.Name("Link") ?? .location
}

/// Field values that nobody would send, made of those in ``FieldCorpus`` by a seeded generator: `REACTOR_FUZZ` says how many.
@Suite("Any bytes in a field", .timeLimit(.minutes(10))) struct FieldFuzzTests {
  private static let names: [HTTPField.Name] = [
    .age, .cacheControl, .connection, .contentLength, .contentLocation, .date, .eTag, .expires, .ifMatch,
    .ifModifiedSince,
    .ifNoneMatch, .ifRange, .lastModified, .link, .location, .range, .retryAfter, .vary,
  ]
  private static let body = Data("0123456789".utf8)

  @Test func `are read without a trap, and decide nothing that is impossible`() throws {
    var generator = SeededGenerator(seed: Chance.seed("Any bytes in a field"))
    for _ in 0..<Chance.count("REACTOR_FUZZ", default: 10_000) {
      let (request, response) = (Self.fields(&generator), Self.fields(&generator))
      let seconds = Double(Int64.random(in: -100...100_000, using: &generator))
      let problem = Self.problem(request, response, CachingExample.time.addingTimeInterval(seconds))
      try #require(problem == nil, "\(problem ?? ""): \(request), \(response), \(seconds) s")
    }
  }

  @Test func `are read as they are in the corpus`() throws {
    for value in FieldCorpus.values {
      for name in Self.names {
        let fields = HTTPFields([HTTPField(name: name, value: value)])
        #expect(Self.problem(fields, fields, CachingExample.time) == nil, "\(name): \(value)")
      }
    }
  }

  /// What is wrong with what the fields are taken for.
  private static func problem(_ own: HTTPFields, _ fields: HTTPFields, _ now: Date) -> String? {
    let request = HTTPRequest(
      method: .get, scheme: "https", authority: "api.example.com", path: "/a", headerFields: own)
    var head = Record.Head(
      identity: "", status: .ok, fields: StoredFields.of(fields, keepsCookies: false),
      requestedAt: CachingExample.time, receivedAt: CachingExample.time)
    head.variant = Variant(response: fields, request: own)
    let standing = head.standing(at: now)
    if let standing, !(standing.lifetime >= 0 && standing.lifetime <= 1e12) { return "lifetime \(standing.lifetime)" }
    if let standing, !(standing.age >= 0) { return "age \(standing.age)" }
    if head.fields.contains(.connection) { return "a field of the connection is stored" }
    if let variant = head.variant, variant.isMatchable, !variant.matches(own) { return "no match for its own request" }
    let isUsed = CacheDecision(request, stored: head, at: now) == .use
    if isUsed, standing == nil || CacheControl(head.fields).isNoCache { return "used against the server's word" }
    let (response, part) = StoredAnswer.make(Record(head: head, body: body), for: request, age: standing?.age ?? 0)
    if response.status == .ok, part != body { return "another body" }
    if response.status == .partialContent, part.isEmpty || body.range(of: part) == nil { return "no part of the body" }
    _ = (
      head.isStorable(for: RequestCacheControl(own)), CacheDecision.standsIn(head, for: request, at: now, always: true)
    )
    _ = (StoredFields.confirm(fields, head), head.updated(by: fields, own, now, now))
    if let delay = RetryAfter.delay(in: fields, now: now), delay < .zero { return "a delay of \(delay)" }
    if let problem = redirected(own, fields) { return problem }
    if let secret = secret(in: SecretQuery.redact(fields, names: ["token"])) { return "a secret in \(secret)" }
    let urls = Invalidation.named(
      by: HTTPResponse(status: .ok, headerFields: fields), to: .post, "https://api.example.com/a")
    return urls.allSatisfy { $0.hasPrefix("https://api.example.com/") } ? nil : "another origin"
  }

  /// What is wrong with what is stored of an answer with `fields` that came over a redirect with `own`.
  private static func redirected(_ own: HTTPFields, _ fields: HTTPFields) -> String? {
    let (redirect, answer) = (
      HTTPResponse(status: .found, headerFields: own), HTTPResponse(status: .ok, headerFields: fields)
    )
    func freshness(_ response: HTTPResponse, _ fields: HTTPFields) -> Freshness {
      Freshness(
        Record.Head(
          identity: "", status: response.status, fields: fields, requestedAt: CachingExample.time,
          receivedAt: CachingExample.time))
    }
    let stored = freshness(
      answer,
      RedirectedAnswer.fields(
        of: answer, after: [redirect], receivedAt: CachingExample.time, fallback: 300,
        staleIfError: 0))
    for step in [freshness(redirect, own), freshness(answer, fields)] {
      if step.isNoStore, !stored.isNoStore { return "stored over a redirect against its word" }
      if step.isNoCache, !stored.isNoCache { return "used over a redirect against its word" }
      if let until = step.until, stored.until.map({ $0 > until }) ?? true {
        return "fresh longer than a step of its way"
      }
    }
    return nil
  }

  /// The field whose URLs still have a value that is secret.
  private static func secret(in fields: HTTPFields) -> HTTPField.Name? {
    fields.first { field in
      guard [.contentLocation, .link, .location].contains(field.name) else { return false }
      return ["?", "&", "#"].contains { start in
        let parts = field.value.components(separatedBy: "\(start)token=").dropFirst()
        return parts.contains { !$0.hasPrefix("sha256-") }
      }
    }?.name
  }

  private static func fields(_ generator: inout SeededGenerator) -> HTTPFields {
    var fields: HTTPFields = [:]
    for _ in 0..<Int.random(in: 0...6, using: &generator) {
      let name = names[Int.random(in: 0..<names.count, using: &generator)]
      fields.append(HTTPField(name: name, lenientValue: value(&generator)))
    }
    return fields
  }

  private static func value(_ generator: inout SeededGenerator) -> [UInt8] {
    func pick(_ generator: inout SeededGenerator) -> [UInt8] {
      Array(FieldCorpus.values[Int.random(in: 0..<FieldCorpus.values.count, using: &generator)].utf8)
    }
    var bytes = pick(&generator)
    for _ in 0..<Int.random(in: 0...3, using: &generator) {
      let place = Int.random(in: 0...bytes.count, using: &generator)
      switch Int.random(in: 0..<5, using: &generator) {
      case 0: bytes.insert(.random(in: 0 ... .max, using: &generator), at: place)
      case 1: bytes.removeSubrange(place..<min(bytes.count, place + 1))
      case 2: bytes.insert(contentsOf: pick(&generator), at: place)
      case 3: bytes.insert(Array(",;=\"\\ \t-*/".utf8)[Int.random(in: 0..<10, using: &generator)], at: place)
      default: bytes.append(contentsOf: [UInt8(ascii: ",")] + pick(&generator))
      }
    }
    return bytes
  }
}
