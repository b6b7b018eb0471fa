import Foundation
import NewsClient
import ReactorCore
import ReactorOutbox

/// Something that the user has written and the API does not have, for the page.
struct ChangeMessage: Encodable {
  var id: UUID
  /// `comment`, `deletion`, `save`, `unsave` or `unreadable`.
  var kind: String
  var article: Article.ID?
  /// The comment that is added or deleted.
  var comment: Comment.ID?
  /// The text of a comment, or the title of an article.
  var text: String?
  /// `waiting`, `sending` or `refused`.
  var phase: String
  /// The reason for the wait or for the refusal.
  var reason: String?
  /// The field that a refusal is about.
  var field: String?
  /// Something has to happen before it is sent: it is not just its turn that it waits for.
  var isStuck = false
  var needsSignIn = false
  /// A refused one may be sent again.
  var canRetry = true
  /// No part of it can have reached the API.
  var isUnsent: Bool

  /// Returns the messages of a whole outbox. An entry behind another waits for the same reason.
  static func list(_ entries: [Outbox.Entry]) -> [ChangeMessage] {
    var first: [Lane: ChangeMessage] = [:]
    return entries.map { entry in
      var message = ChangeMessage(entry)
      guard message.phase == "waiting" else { return message }
      if let before = first[entry.lane], before.isStuck, !message.isStuck {
        (message.reason, message.isStuck, message.needsSignIn) = (before.reason, true, before.needsSignIn)
      }
      first[entry.lane] = first[entry.lane] ?? message
      return message
    }
  }

  init(_ entry: Outbox.Entry) {
    id = entry.id
    isUnsent = entry.attempts == 0
    (kind, phase) = ("unreadable", "waiting")
    switch entry.mutation {
    case let adding as AddComment:
      (kind, article, comment, text) = ("comment", adding.article, adding.id.int, adding.text)
    case let deleting as DeleteComment: (kind, article, comment) = ("deletion", deleting.article, deleting.comment)
    case let saving as SaveArticle: (kind, article, text) = ("save", saving.article.id, saving.article.title)
    case let unsaving as UnsaveArticle: (kind, article) = ("unsave", unsaving.article)
    default: break
    }
    tell(entry.state)
  }

  private mutating func tell(_ state: Outbox.Entry.State) {
    switch state {
    case .waiting(let reason): wait(for: reason)
    case .unknown(let reason):
      wait(for: reason)
      self.reason = "Not confirmed yet"
    case .sending: phase = "sending"
    case .refused(let error):
      refuse(ErrorText.refusal(error))
      field = error.fieldErrors.first?.path
    case .conflicted: refuse("Somebody has changed it meanwhile.")
    case .unresolved: refuse("It is unknown whether the news has it.")
    case .unreadable:
      refuse("This version of the reader cannot read it.")
      canRetry = false
    @unknown default: break
    }
  }

  private mutating func wait(for reason: Outbox.Entry.Reason) {
    needsSignIn = reason == .signIn
    if case .turn = reason { isStuck = false } else { isStuck = true }
    self.reason =
      switch reason {
      case .connectivity: "Waiting for a connection"
      case .backoff: "The news is out of order. Trying again soon"
      case .signIn: "Waiting for you to sign in"
      case .identity: "Waiting for the comment to be sent"
      case .paused, .stopped: "Paused"
      case .turn: "Waiting for its turn"
      @unknown default: "Waiting"
      }
  }

  private mutating func refuse(_ reason: String) { (phase, self.reason) = ("refused", reason) }
}

extension ErrorText {
  /// Returns the reason of a refusal, in the API's own words if it gave some.
  static func refusal(_ error: ReactorError) -> String {
    switch error {
    case .server: error.serverMessage ?? "The news does not accept it."
    case .network(MutationError.missingIdentity): "The comment that it belongs to was not accepted."
    default: of(error)
    }
  }
}
