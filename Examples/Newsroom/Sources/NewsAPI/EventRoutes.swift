import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ReactorChangeFeed

/// `GET /events`: the changes of the API, for as long as the client listens and its token is valid.
struct EventRoutes: Sendable {
  let feed: ChangeFeed
  let now: @Sendable () -> Date

  func add(to group: RouterGroup<NewsContext>) {
    group.get("events") { request, context in
      let lifetime = context.expires.map { Duration.seconds($0.timeIntervalSince(now())) }
      do throws(ChangeFeedError) {
        let user = context.user.map { ChangeAudience.user($0) }
        let stream = try feed.open(request.head, user: user, lifetime: lifetime) { [channel = context.channel] in
          channel.close(promise: nil)
        }
        return Response(
          status: .ok, headers: ChangeFeed.fields,
          body: ResponseBody(asyncSequence: stream.map { ByteBuffer(bytes: $0) }))
      } catch {
        return Response(status: error.response.status, headers: error.response.headerFields)
      }
    }
  }
}

extension ChangeAudience {
  /// The clients of a signed-in user.
  static func user(_ user: User) -> ChangeAudience { ChangeAudience("user:\(user.id)") }
}

extension ChangeTarget {
  /// Every list of articles: the pages of the front page, searches, authors and reading lists. The
  /// responses name the group in `Cache-Groups` (RFC 9875).
  static let lists = ChangeTarget.group(Dials.lists)
}
