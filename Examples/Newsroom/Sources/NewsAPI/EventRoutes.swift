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
      let audiences = context.user.map { [ChangeAudience.user($0)] } ?? []
      let lifetime = context.expires.map { Duration.seconds($0.timeIntervalSince(now())) }
      do throws(ChangeFeedError) {
        let stream = try feed.open(request.head, for: Set(audiences), lifetime: lifetime)
        return Response(
          status: .ok, headers: ChangeFeed.fields,
          body: ResponseBody(asyncSequence: stream.map { ByteBuffer(bytes: $0) }))
      } catch {
        throw HTTPError(.serviceUnavailable)
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
