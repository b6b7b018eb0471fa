import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ReactorChangeFeed

/// The comments of an article: everyone reads them, and signed-in users write and delete.
struct CommentRoutes: Sendable {
  let newspaper: Newspaper
  let archive: NewsArchive
  let dials: Dials
  let feed: ChangeFeed
  let now: @Sendable () -> Date

  func add(to group: RouterGroup<NewsContext>) {
    group.get { request, context in
      let article = try article(context)
      return try dials.answer(archive.read { $0.comments[article] ?? [] }, to: request, freshFor: 5)
    }
    group.post { request, context in
      let (article, author) = (try article(context), try context.requireUser())
      let new = try await request.decode(as: NewComment.self, context: context)
      return try add(new, to: article, by: author, context.idempotency, request.head.changeID).response
    }
    group.delete("{comment}") { request, context in
      let article = try article(context)
      try delete(
        try context.parameters.require("comment", as: Int.self), of: article, by: try context.requireUser(),
        request.head.changeID)
      return HTTPResponse.Status.noContent
    }
  }

  /// - Throws: 404 for an article that was never printed.
  private func article(_ context: NewsContext) throws -> Int {
    let id = try context.parameters.require("id", as: Int.self)
    guard newspaper.article(id) != nil else { throw HTTPError(.notFound) }
    return id
  }

  /// Tells the clients which version the comments have now, and whose request has made it.
  private func publishChange(of article: Int, _ state: NewsState, by changeID: String?) {
    let tag = Dials.tag(of: state.comments[article] ?? [])
    feed.publish([.url("/articles/\(article)/comments", etag: tag)], by: changeID)
  }

  /// Adds a comment. In the same change it remembers the answer, so that a request that is repeated
  /// after a crash adds no other.
  private func add(
    _ new: NewComment, to article: Int, by author: User, _ idempotency: Idempotency?, _ changeID: String?
  ) throws -> RememberedAnswer {
    let (text, now) = (try new.accepted, now())
    return try archive.change { state in
      state.lastComment += 1
      let written = Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down))
      let comment = Comment(
        id: state.lastComment, article: article, author: author, text: text, written: written,
        reference: new.reference)
      state.comments[article, default: []].append(comment)
      let answer = RememberedAnswer(
        fingerprint: idempotency?.fingerprint ?? "", location: "/articles/\(article)/comments/\(comment.id)",
        body: try Dials.encoder.encode(comment), date: now)
      if let idempotency { state.remember(answer, under: idempotency.key) }
      return answer
    } publish: { _, state in
      publishChange(of: article, state, by: changeID)
    }
  }

  /// Deletes a comment. Deleting a comment that does not exist succeeds.
  ///
  /// - Throws: 403 if it is another caller's.
  private func delete(_ id: Int, of article: Int, by user: User, _ changeID: String?) throws {
    try archive.change { state in
      guard let comment = state.comments[article]?.first(where: { $0.id == id }) else { return }
      guard comment.author == user else {
        throw HTTPError(.forbidden, message: "Only \(comment.author.name) can delete this comment.")
      }
      state.comments[article]?.removeAll { $0.id == id }
    } publish: { _, state in
      publishChange(of: article, state, by: changeID)
    }
  }
}
