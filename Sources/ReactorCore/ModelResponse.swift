public import Foundation
public import HTTPTypes

/// A model with what its server said beside the body: status, header fields, links, age.
///
/// ```swift
/// var page = try await issues.fetchResponse("issues")
/// while let next = try page.link(rel: "next") {
///   page = try await issues.fetchResponse(next)
/// }
/// ```
///
/// It is the same from memory, disk and network: what is stored keeps the fields of the answer that it came with, as
/// later 304s have renewed them. `Set-Cookie` and the connection's own fields are not among them. Where the answer came
/// over redirects, `Cache-Control`, `Age` and `Vary` are those of the whole way, and there is no `ETag`.
public struct ModelResponse<Model: Sendable>: Sendable {
  public let model: Model
  /// `nil` where no server has answered: for a local write, and with a network step of one's own.
  public let status: HTTPResponse.Status?
  /// Empty where no server has answered.
  public let headers: HTTPFields
  /// Where this fetch got it from.
  public let origin: Origin
  /// When it was received, or confirmed by a 304.
  public let fetchedAt: Date
  /// How old it is, the time in caches on the way included (RFC 9111 §4.2.3). Never negative.
  public let age: Duration
  public let isStale: Bool

  private let resource: Resource
  /// Whom relative references are resolved against; `nil` without a backend.
  private let url: String?
  private let secretQueryItems: Set<String>

  init(_ answer: EngineResponse) {
    model = answer.copy.model.model(as: Model.self)
    let head = answer.copy.head.flatMap { $0.localModel == nil ? $0 : nil }
    status = head?.status
    headers = head?.fields ?? [:]
    origin = answer.origin
    fetchedAt = answer.copy.fetchedAt
    age = Duration(saturatingSeconds: max(0, answer.date.timeIntervalSince(answer.copy.freshness.since)))
    isStale = !answer.isFresh
    resource = answer.resource
    url = answer.url
    secretQueryItems = answer.secretQueryItems
  }

  /// The links of the `Link` fields, in order (RFC 8288).
  public var links: [WebLink] { WebLink.links(in: headers) }

  /// The target of the first link with this relation type, such as `next`; `nil` where there is none.
  ///
  /// A link with an `anchor` speaks of another page, and does not count.
  ///
  /// - Throws: see ``resource(for:)``.
  public func link(rel relation: String) throws(ReactorError) -> Resource? {
    let relation = relation.lowercased()
    guard let link = links.first(where: { $0.relations.contains(relation) && $0["anchor"] == nil }) else { return nil }
    return try resource(for: link)
  }

  /// A `GET` of a link's target, with the header fields, the identity fields and the freshness of what was fetched.
  ///
  /// A relative reference is resolved against the URL that was asked for, whether or not that redirected. The path of
  /// the base URL does not count.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` where the target is no URL, or is of another origin. Likewise where
  ///   its query has one of ``ReactorConfiguration/secretQueryItems``: of those, a digest alone is kept.
  public func resource(for link: WebLink) throws(ReactorError) -> Resource {
    var next = resource.at(link: try absolute(link.target))
    next.method = .get
    next.isReadOnly = nil
    next.idempotencyKey = nil
    if next.body != nil {
      next.body = nil
      next.headers[.contentType] = nil
    }
    return next
  }

  private func absolute(_ target: String) throws(ReactorError) -> String {
    guard let url else { return target }
    guard let base = URL(string: url), let origin = WebOrigin(base),
      let absolute = URL(string: target, relativeTo: base)?.absoluteURL, let targetOrigin = WebOrigin(absolute)
    else { throw .invalidResource("the link's target is no http or https URL") }
    guard origin == targetOrigin else { throw ResourceURL.otherOrigin(targetOrigin) }
    let items = URLComponents(url: absolute, resolvingAgainstBaseURL: true)?.queryItems ?? []
    let secrets = Set(secretQueryItems.map { $0.lowercased() })
    if resource.readsOnly, let item = items.first(where: { secrets.contains($0.name.lowercased()) }) {
      throw .invalidResource(
        "the link's query item \(item.name) is one of secretQueryItems, of which a digest alone is kept; "
          + "take the name out of ReactorConfiguration.secretQueryItems to follow such links")
    }
    return absolute.absoluteString
  }
}
