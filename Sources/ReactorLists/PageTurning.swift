import Foundation
public import HTTPTypes
public import ReactorCore

/// The way from one page of a list to the next and the previous one.
///
/// The default, ``link``, follows the `Link` header fields of each response. A list by cursor takes
/// the cursor from the page:
///
/// ```swift
/// let feed = posts.pages(from: "feed", by: .cursor("after", next: \.endCursor))
/// ```
public struct PageTurning<Page: Sendable>: Sendable {
  typealias Turn =
    @Sendable (_ page: ModelResponse<Page>, _ resource: Resource, _ first: Resource)
    throws(ReactorError) -> Resource?

  let next: Turn
  let previous: Turn
  /// A Boolean value that indicates whether the next page depends on header fields. A 304 may leave
  /// them out, so it says nothing of a way that has appeared or gone.
  let dependsOnFields: Bool

  /// The links of each response with the relations `next` and `prev` (RFC 8288, RFC 5005 §3).
  ///
  /// A link to another origin fails with `ReactorError.invalidResource`. A secret query item of a
  /// link gets its value from the first resource of the list, since only a digest is stored.
  public static var link: PageTurning {
    PageTurning(
      turnNext: { page, _, _ throws(ReactorError) in try page.link(rel: "next") },
      turnPrevious: { page, _, _ throws(ReactorError) in
        if let link = try page.link(rel: "prev") { return link }
        return try page.link(rel: "previous")
      })
  }

  /// A cursor that each page holds. The next page is the first resource with the cursor as a query
  /// item.
  ///
  /// ```swift
  /// let feed = timelines.pages(from: "timeline", by: .cursor("after", next: \.endCursor))
  /// ```
  ///
  /// - Parameters:
  ///   - item: The name of the query item for the next page.
  ///   - next: Returns the cursor of the next page; `nil` or an empty one ends the list.
  ///   - previousItem: The name of the query item for the previous page. Default: `item`.
  ///   - previous: Returns the cursor of the previous page. By default, `nil` for every page.
  public static func cursor(
    _ item: String, next: @escaping @Sendable (Page) -> String?, previousItem: String? = nil,
    previous: @escaping @Sendable (Page) -> String? = { _ in nil }
  ) -> PageTurning {
    PageTurning(
      byFirst: { page, first in Self.resource(first, item, next(page), without: previousItem) },
      { page, first in
        Self.resource(first, previousItem ?? item, previous(page), without: previousItem == nil ? nil : item)
      })
  }

  /// Creates a way by closures, for lists that count pages or offsets.
  ///
  /// ```swift
  /// let byNumber = PageTurning<[Story]> { page, _, resource in
  ///   guard !page.isEmpty,
  ///     let number = resource.query.last?.value.flatMap(Int.init) else { return nil }
  ///   return Resource("stories", query: ["page": "\(number + 1)"])
  /// }
  /// let pages = stories.pages(from: Resource("stories", query: ["page": "1"]), by: byNumber)
  /// ```
  ///
  /// A closure gets the page as the server has sent it, without drafts.
  ///
  /// - Parameters:
  ///   - next: Returns the resource of the next page from a page, the header fields of its response
  ///     and its resource; `nil` ends the list.
  ///   - previous: The same for the previous page. By default, `nil` for every page.
  public init(
    next: @escaping @Sendable (Page, HTTPFields, Resource) -> Resource?,
    previous: @escaping @Sendable (Page, HTTPFields, Resource) -> Resource? = { _, _, _ in nil }
  ) {
    self.init(
      turnNext: { page, resource, _ throws(ReactorError) in next(page.model, page.headers, resource) },
      turnPrevious: { page, resource, _ throws(ReactorError) in previous(page.model, page.headers, resource) })
  }

  private init(
    byFirst next: @escaping @Sendable (Page, Resource) -> Resource?,
    _ previous: @escaping @Sendable (Page, Resource) -> Resource?
  ) {
    self.init(
      turnNext: { page, _, first throws(ReactorError) in next(page.model, first) },
      turnPrevious: { page, _, first throws(ReactorError) in previous(page.model, first) }, dependsOnFields: false)
  }

  private init(turnNext: @escaping Turn, turnPrevious: @escaping Turn, dependsOnFields: Bool = true) {
    next = turnNext
    previous = turnPrevious
    self.dependsOnFields = dependsOnFields
  }

  private static func resource(
    _ first: Resource, _ item: String, _ cursor: String?, without other: String?
  ) -> Resource? {
    guard let cursor, !cursor.isEmpty else { return nil }
    var resource = first
    resource.query.removeAll { $0.name == item || $0.name == other }
    resource.query.append(.init(name: item, value: cursor))
    return resource
  }
}
