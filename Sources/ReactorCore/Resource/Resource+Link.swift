extension Resource {
  /// The target of a link that a server gave, such as the `next` of a page: a URL of the layer's origin, or an absolute
  /// path there. The path of the base URL does not count.
  ///
  /// ```swift
  /// let next = try await issues.fetch(Resource(link: page.nextURL))
  /// ```
  ///
  /// A `Link` field's target comes from ``ModelResponse/link(rel:)``. A fetch refuses another origin, and a reference
  /// that is relative to its page, with ``ReactorError/invalidResource(_:)``.
  public init(link target: String) { self = Resource(Path(text: "")).at(link: target) }
}
