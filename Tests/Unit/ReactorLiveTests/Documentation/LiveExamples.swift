import Foundation
import HTTPTypes
import ReactorChangeFeed
import ReactorCore
import ReactorLive
import ServerSentEvents

// The Swift code of ReactorLive.docc and ReactorChangeFeed.docc, which a test compares with it.

func makeLayer(api: URL) -> ModelLayer {
  ModelLayer(baseURL: api, extensions: [.live("events")])
}

func followStatus(of layer: ModelLayer, show: (LiveStatus) -> Void) async {
  guard let live = layer.live else { return }
  for await status in live.statuses { show(status) }
}

let orders = LiveMapping(covers: [.under("orders")], heartbeat: .seconds(30)) { event in
  guard event.type == "order" else { return [] }
  return [.stale(.resource(Resource("orders/\(event.data)"))), .stale(.group("open-orders"))]
}

struct Posts: Sendable {
  let feed = ChangeFeed()

  /// The response to `GET /events`. Write each piece at once.
  func events(_ request: HTTPRequest, of user: Int) throws -> (HTTPFields, ChangeStream) {
    (ChangeFeed.fields, try feed.open(request, for: [ChangeAudience("user:\(user)")]))
  }

  func save(_ post: Int, _ commit: () async throws -> Void) async throws {
    try await commit()
    feed.publish([.url("/posts/\(post)"), .group("front-page")])
  }
}
