import Foundation
import Hummingbird
import NIOCore

/// A request, and who sent it.
struct NewsContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel
  var user: User?
  /// The time at which the user's token expires.
  var expires: Date?
  /// Of a request with a key.
  var idempotency: Idempotency?

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
  }

  /// - Throws: 401 without a signed-in user.
  func requireUser() throws -> User {
    guard let user else { throw HTTPError(.unauthorized) }
    return user
  }
}
