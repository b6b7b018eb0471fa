import Foundation
import ReactorCore
import ReactorOutbox
import ReactorSQLite

/// The outbox of a user, which outlives the reader and the machine.
enum NewsOutbox {
  static func configuration(storage: any OutboxStorage) -> OutboxConfiguration {
    var configuration = OutboxConfiguration(
      storage: storage,
      mutations: [AddComment.self, DeleteComment.self, SaveArticle.self, UnsaveArticle.self])
    // Somebody watches, and turns the API off and on: another attempt comes within seconds, however
    // many there were.
    configuration.retry = RetryPolicy(attempts: .max, firstDelay: .milliseconds(500))
    configuration.retry.longestDelay = .seconds(4)
    return configuration
  }
}
