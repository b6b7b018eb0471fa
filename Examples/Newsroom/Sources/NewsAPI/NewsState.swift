import Foundation

/// Everything of the API that a restart keeps.
struct NewsState: Codable, Sendable {
  struct Access: Codable, Sendable {
    var user: User
    var expires: Date
    var refresh: String
  }

  /// Each article's comments, in the order in which they arrived.
  var comments: [Int: [Comment]] = [:]
  var lastComment = 0
  /// Each user's reading list, in the order in which the articles were kept.
  var lists: [User.ID: [Int]] = [:]
  /// Signed-in users, by access token.
  var access: [String: Access] = [:]
  /// Users who may get another access token, by refresh token.
  var refresh: [String: User] = [:]
  /// The answers to requests with an idempotency key.
  var answers: [IdempotencyKey: RememberedAnswer] = [:]
  /// The date of the first issue. The file of an earlier version has none of the following.
  var founded: Date?
  /// The stories that the desk has published, oldest first.
  var published: [Publication]?
  /// The latest correction of each article.
  var corrections: [Int: Correction]?
  /// The articles that the desk has withdrawn.
  var withdrawn: Set<Int>?
}

extension NewsState {
  /// Remembers an answer, and forgets answers older than a day.
  mutating func remember(_ answer: RememberedAnswer, under key: IdempotencyKey) {
    answers = answers.filter { answer.date.timeIntervalSince($0.value.date) < RememberedAnswer.lifetime }
    answers[key] = answer
  }
}
