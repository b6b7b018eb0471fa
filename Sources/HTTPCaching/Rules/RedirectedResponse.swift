package import Foundation
package import HTTPTypes

/// An answer that came over redirects, as it is stored for the URL that was asked for: good for as long as each step of the way
/// there is (RFC 9111 §4.2).
package enum RedirectedResponse {
  /// The answer's fields without its validators, which are another URL's (RFC 9110 §8.8); with all that the steps vary on, and a
  /// `Cache-Control` and an `Age` that say what is left of the shortest of them.
  ///
  /// A redirect that says nothing of its freshness limits nothing where it is permanent (301, 308); any other (RFC 9110 §15.4) is
  /// as good as an answer that says nothing.
  ///
  /// - Parameters:
  ///   - redirects: in the order in which they were received; none: the fields are the answer's own.
  ///   - fallback: how long what says nothing is fresh, in seconds.
  ///   - staleIfError: how long what says nothing of it may stand in for an error, in seconds.
  package static func fields(
    of answer: HTTPResponse, after redirects: [HTTPResponse], receivedAt: Date, fallback: Double, staleIfError: Double
  ) -> HTTPFields {
    guard !redirects.isEmpty else { return answer.headerFields }
    var fields = answer.headerFields
    for name in [.eTag, .lastModified, .expires] as [HTTPField.Name] { fields[name] = nil }
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
    // What one does not allow is not allowed (RFC 5861 §3). Of §4 it is the configuration that speaks for who is silent; where all
    // are, it still does when the answer is used.
    let open = limiting.map { $0.freshness.staleWhileRevalidate ?? 0 }.min() ?? 0
    if open > 0 { directives.append("stale-while-revalidate=\(seconds(open))") }
    if steps.contains(where: { $0.freshness.staleIfError != nil }) {
      // What is never stale needs no stand-in.
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
    /// The time at which it was received, in seconds.
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
