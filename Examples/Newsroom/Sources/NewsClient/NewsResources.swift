public import ReactorCore

/// Everything that the API has.
extension Resource {
  /// The newest articles: the first page of the front page.
  public static let articles: Resource = "articles"
  /// The page of the front page that follows an article.
  public static func articles(before id: Article.ID) -> Resource { Resource("articles", query: ["before": "\(id)"]) }
  public static func article(_ id: Article.ID) -> Resource { "articles/\(id)" }
  public static func author(_ id: Author.ID) -> Resource { "authors/\(id)" }
  public static func search(_ text: String, page: Int) -> Resource {
    Resource("search", method: .query, form: ["q": text, "page": "\(page)"])
  }

  public static func comments(_ article: Article.ID) -> Resource { "articles/\(article)/comments" }
  static func addComment(
    _ text: String, _ reference: String, to article: Article.ID
  ) throws(ReactorError) -> Resource {
    try Resource(
      "articles/\(article)/comments", method: .post, json: ["text": text, "reference": reference])
  }
  static func deleteComment(_ id: Comment.ID, of article: Article.ID) -> Resource {
    Resource("articles/\(article)/comments/\(id)", method: .delete)
  }

  public static let readingList: Resource = "reading-list"
  static func keep(_ id: Article.ID) -> Resource { Resource("reading-list/\(id)", method: .put) }
  static func drop(_ id: Article.ID) -> Resource { Resource("reading-list/\(id)", method: .delete) }

  static func signIn(name: String, password: String) throws(ReactorError) -> Resource {
    try Resource("session", method: .post, json: ["name": name, "password": password])
  }
  static func refresh(_ token: String) throws(ReactorError) -> Resource {
    try Resource("session/refresh", method: .post, json: ["refresh": token])
  }
  static let signOut = Resource("session", method: .delete)

  /// The stream of what others change.
  static let events: Resource = "events"

  public static let dials: Resource = "admin/dials"
  static func change(_ dials: Dials.Change) throws(ReactorError) -> Resource {
    try Resource("admin/dials", method: .patch, json: dials)
  }
}
