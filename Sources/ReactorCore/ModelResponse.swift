public import Foundation
public import HTTPTypes

/// A model with the status, header fields, links and age of its response.
///
/// ```swift
/// var page = try await issues.fetchResponse("issues")
/// while let next = try page.link(rel: "next") {
///   page = try await issues.fetchResponse(next)
/// }
/// ```
///
/// The response is the same from memory, disk and network: the fields are stored with the model,
/// and later 304s renew them. `Set-Cookie` and the connection's own fields are not stored. For an
/// answer that came over redirects, `Cache-Control`, `Age` and `Vary` combine those of every hop,
/// and there is no `ETag`.
public struct ModelResponse<Model: Sendable>: Sendable {
  /// The parsed body.
  public let model: Model
  /// The status; `nil` for a local write, and for a value from a custom network step.
  public let status: HTTPResponse.Status?
  /// The header fields; empty for a local write, and for a value from a custom network step.
  public let headers: HTTPFields
  /// The source of the model for this fetch.
  public let origin: Origin
  /// The time at which the model was received, or last confirmed by a 304.
  public let fetchedAt: Date
  /// The age, including time spent in caches between here and the server (RFC 9111 §4.2.3). Never
  /// negative.
  public let age: Duration
  /// A Boolean value that indicates whether the model was stale when the fetch returned it.
  public let isStale: Bool

  private let resource: Resource
  /// The URL that relative references are resolved against; `nil` without a backend.
  private let url: String?
  private let secretQueryItems: Set<String>

  init(_ answer: EngineResponse) {
    model = answer.copy.model.model(as: Model.self)
    let head = answer.copy.head.flatMap { $0.localModel == nil ? $0 : nil }
    status = head?.status
    headers = answer.restoredFields ?? head?.fields ?? [:]
    origin = answer.origin
    fetchedAt = answer.copy.fetchedAt
    age = Duration(saturatingSeconds: max(0, answer.date.timeIntervalSince(answer.copy.freshness.since)))
    isStale = !answer.isFresh
    resource = answer.resource
    url = answer.url
    secretQueryItems = answer.secretQueryItems
  }

  /// The links of the `Link` header fields, in order (RFC 8288). Parsed on each access.
  ///
  /// ```swift
  /// let alternates = page.links.filter { $0.relations.contains("alternate") }
  /// let languages = alternates.compactMap { $0["hreflang"] }
  /// ```
  public var links: [Resource.Link] { Resource.Link.links(in: headers) }

  /// The limits of requests that the server announced with the response, in the field `RateLimit`;
  /// empty if it announced none. Parsed on each access.
  ///
  /// ```swift
  /// let page = try await stories.fetchResponse("stories")
  /// if let left = page.rateLimits.map(\.remaining).min(), left < 10 { slowDown() }
  /// ```
  public var rateLimits: [Resource.RateLimit] { Resource.RateLimit.limits(in: headers) }

  /// Returns the target of the first link with a relation type, such as `next`; `nil` if the
  /// response has no such link.
  ///
  /// ```swift
  /// while let next = try page.link(rel: "next") {
  ///   page = try await stories.fetchResponse(next)
  /// }
  /// ```
  ///
  /// A link with an `anchor` describes another page, and is skipped (RFC 8288 §3.2).
  ///
  /// - Parameter relation: The relation type; its case does not matter.
  /// - Throws: The errors of ``resource(for:)``.
  public func link(rel relation: String) throws(ReactorError) -> Resource? {
    let relation = relation.lowercased()
    guard let link = links.first(where: { $0.relations.contains(relation) && $0["anchor"] == nil }) else { return nil }
    return try resource(for: link)
  }

  /// Returns a `GET` of a link's target, with this request's header fields, identity header fields
  /// and freshness.
  ///
  /// ```swift
  /// if let last = page.links.first(where: { $0.relations.contains("last") }) {
  ///   let end = try await stories.fetch(page.resource(for: last))
  /// }
  /// ```
  ///
  /// A relative reference is resolved against the URL of the request, even if that redirected. The
  /// target may lie outside the base URL's path.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` if the target is not an `http` or `https` URL,
  ///   or has another origin. The same error is thrown if its query has an item of
  ///   ``ReactorConfiguration/secretQueryItems``, of which only a digest is stored.
  public func resource(for link: Resource.Link) throws(ReactorError) -> Resource {
    var next = resource.at(link: try absolute(link.target))
    next.method = .get
    next.isReadOnly = nil
    next.idempotencyKey = nil
    if next.body != nil || next.form != nil {
      next.body = nil
      next.headers[.contentType] = nil
    }
    return next
  }

  private func absolute(_ target: String) throws(ReactorError) -> String {
    guard let url else { return target }
    guard let base = URL(string: url), let origin = WebOrigin(base),
      let absolute = URL(string: target, relativeTo: base)?.absoluteURL, let targetOrigin = WebOrigin(absolute)
    else { throw .invalidResource("the target of the link is not an http or https URL") }
    guard origin == targetOrigin else { throw ResourceURL.otherOrigin(targetOrigin) }
    let items = URLComponents(url: absolute, resolvingAgainstBaseURL: true)?.queryItems ?? []
    let secrets = Set(secretQueryItems.map { $0.lowercased() })
    if resource.readsOnly, let item = items.first(where: { secrets.contains($0.name.lowercased()) }) {
      throw .invalidResource(
        "the link's query item \(item.name) is a secret query item, and only a digest of its value is stored; "
          + "to follow such links, remove the name from ReactorConfiguration.secretQueryItems")
    }
    return absolute.absoluteString
  }
}
