import Foundation
import HTTPTypes

@testable import HTTPCaching
@testable import HTTPCachingProxy

/// Properties of any fields, whatever bytes they contain.
enum FieldChecks {
  /// The time of the response: Saturday, 21 November 2026, noon.
  static let time = Date(timeIntervalSince1970: 1_795_262_400)
  /// RFC 8288 §3.
  static let link = HTTPField.Name("Link") ?? .location
  private static let body = Data("0123456789".utf8)

  /// Returns a fault in the reading of the fields.
  static func problem(_ own: HTTPFields, _ fields: HTTPFields, _ now: Date) -> String? {
    let request = HTTPRequest(
      method: .get, scheme: "https", authority: "api.example.com", path: "/a", headerFields: own)
    var head = Record.Head(
      identity: "", status: .ok, fields: StoredFields.of(fields, keepsCookies: false),
      requestedAt: time, receivedAt: time)
    head.variant = Record.Variant(response: fields, request: own)
    let status = head.copyStatus(at: now)
    if let status, !(status.lifetime >= 0 && status.lifetime <= 1e12) { return "lifetime \(status.lifetime)" }
    if let status, !(status.age >= 0) { return "age \(status.age)" }
    if head.fields.contains(.connection) { return "a field of the connection is stored" }
    if let variant = head.variant, variant.isMatchable, !variant.matches(own) { return "no match for its own request" }
    let isUsed = CacheDecision(request, stored: head, at: now) == .use
    if isUsed, status == nil || CacheControl(head.fields).isNoCache { return "used against the server's word" }
    let (response, part) = StoredResponse.make(Record(head: head, body: body), for: request, age: status?.age ?? 0)
    if response.status == .ok, part != body { return "another body" }
    if response.status == .partialContent, part.isEmpty || body.range(of: part) == nil { return "no part of the body" }
    _ = (
      head.effect(of: own),
      CacheDecision.allowsStale(head, for: request, at: now, always: true)
    )
    _ = (StoredFields.confirm(fields, head), head.updated(by: fields, own, now, now))
    if let problem = redirected(own, fields) { return problem }
    if let secret = secret(in: SecretQuery.redact(fields, names: ["token"], digests: .ofProcess)) {
      return "a secret in \(secret)"
    }
    let urls = Invalidation.relatedURLs(
      in: HTTPResponse(status: .ok, headerFields: fields), to: .post, "https://api.example.com/a")
    return urls.allSatisfy { $0.hasPrefix("https://api.example.com/") } ? nil : "another origin"
  }

  /// Returns a fault in the stored answer with `fields` that came over a redirect with `own`.
  private static func redirected(_ own: HTTPFields, _ fields: HTTPFields) -> String? {
    let (redirect, answer) = (
      HTTPResponse(status: .found, headerFields: own), HTTPResponse(status: .ok, headerFields: fields)
    )
    func freshness(_ response: HTTPResponse, _ fields: HTTPFields) -> Freshness {
      Freshness(
        Record.Head(
          identity: "", status: response.status, fields: fields, requestedAt: time,
          receivedAt: time))
    }
    let stored = freshness(
      answer,
      RedirectedResponse.fields(
        of: answer, after: [redirect], receivedAt: time, fallback: 300,
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
      guard [.contentLocation, link, .location].contains(field.name) else { return false }
      return ["?", "&", "#", ";"].flatMap { ["\($0)token=", "\($0)token[]=", "\($0)%74oken="] }.contains { start in
        let parts = field.value.components(separatedBy: start).dropFirst()
        return parts.contains { !$0.hasPrefix("hmac-") }
      }
    }?.name
  }
}
