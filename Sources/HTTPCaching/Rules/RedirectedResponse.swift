package import Foundation
package import HTTPTypes

/// A response that arrived over redirects, as it is stored for the original URL. It is fresh for as
/// long as every step is (RFC 9111 §4.2).
package enum RedirectedResponse {
  /// Returns the fields to store: those of the last response, limited by the steps before it.
  ///
  /// The validators are left out, because they belong to another URL (RFC 9110 §8.8). So is
  /// `No-Vary-Search`, which says nothing of the query that was redirected. `Vary` combines all
  /// steps. `Cache-Control` and `Age` state the shortest freshness that is left.
  ///
  /// A permanent redirect (301, 308) without freshness information limits nothing. Any other
  /// redirect without it (RFC 9110 §15.4) counts like a response without it.
  ///
  /// - Parameters:
  ///   - answer: The last response.
  ///   - redirects: The redirects in the order of their arrival. Without redirects, the fields of
  ///     `answer` are returned.
  ///   - receivedAt: The time at which the last response was received.
  ///   - fallback: The freshness in seconds of a step that states none.
  ///   - staleIfError: The window in seconds of a step without `stale-if-error`.
  package static func fields(
    of answer: HTTPResponse, after redirects: [HTTPResponse], receivedAt: Date, fallback: Double, staleIfError: Double
  ) -> HTTPFields {
    guard !redirects.isEmpty else { return answer.headerFields }
    var fields = answer.headerFields
    for name in [.eTag, .lastModified, .expires, NoVarySearch.field] as [HTTPField.Name] { fields[name] = nil }
    for value in redirects.flatMap({ $0.headerFields[values: .vary] }) {
      fields.append(HTTPField(name: .vary, value: value))
    }
    let steps = (redirects + [answer]).map { Step($0, receivedAt) }
    let limiting = steps.filter(\.isLimiting)
    let age = limiting.map(\.age).max() ?? 0
    let left = limiting.map { ($0.freshness.lifetime ?? fallback) - $0.age }.min() ?? 0
    let saysNothing = limiting.allSatisfy { $0.freshness.lifetime == nil }
    let directives = directives(
      steps, limiting, lifetime: saysNothing ? nil : left + age, staleIfError: staleIfError)
    fields[.age] = age > 0 ? "\(seconds(age))" : nil
    fields[.cacheControl] = directives.isEmpty ? nil : directives.joined(separator: ", ")
    return fields
  }

  private static func directives(
    _ steps: [Step], _ limiting: [Step], lifetime: Double?, staleIfError: Double
  ) -> [String] {
    var directives: [String] = []
    if let lifetime { directives.append("max-age=\(seconds(lifetime))") }
    if steps.contains(where: \.freshness.isNoStore) { directives.append("no-store") }
    if steps.contains(where: \.freshness.isNoCache) { directives.append("no-cache") }
    if steps.contains(where: \.freshness.isMustRevalidate) { directives.append("must-revalidate") }
    if steps.contains(where: \.isSharedMustRevalidate) { directives.append("proxy-revalidate") }
    // A step without `stale-while-revalidate` forbids it (RFC 5861 §3). A step without
    // `stale-if-error` (§4) gets the configuration's window. If no step has one, that window
    // applies when the response is used.
    let open = limiting.map { $0.freshness.staleWhileRevalidate ?? 0 }.min() ?? 0
    if open > 0 { directives.append("stale-while-revalidate=\(seconds(open))") }
    if steps.contains(where: { $0.freshness.staleIfError != nil }) {
      // A step that is never stale needs no fallback.
      let standIns = steps.compactMap { $0.freshness.staleIfError ?? ($0.isLimiting ? staleIfError : nil) }
      directives.append("stale-if-error=\(seconds(standIns.min() ?? 0))")
    }
    return directives
  }

  private static func seconds(_ value: Double) -> Int64 {
    Int64(max(0, min(Double(DeltaSeconds.greatest), value)).rounded(.down))
  }

  /// One response on the way.
  private struct Step {
    let freshness: Freshness
    /// The age on arrival, in seconds.
    let age: Double
    let isSharedMustRevalidate: Bool
    let isLimiting: Bool

    init(_ response: HTTPResponse, _ receivedAt: Date) {
      freshness = Freshness(
        Record.Head(
          identity: "", status: response.status, fields: response.headerFields, requestedAt: receivedAt,
          receivedAt: receivedAt))
      age = receivedAt.timeIntervalSince(freshness.since).rounded()
      isSharedMustRevalidate = CacheControl(response.headerFields).isSharedMustRevalidate
      isLimiting = freshness.lifetime != nil || ![301, 308].contains(response.status.code)
    }
  }
}
