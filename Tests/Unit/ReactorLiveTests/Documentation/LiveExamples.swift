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

func makeLibrary(api: URL, hub: URL) -> ModelLayer {
  let books = MercureHub(hub, topics: ["https://example.com/books/{id}"])
  return ModelLayer(baseURL: api, extensions: [.mercure(books)])
}

func publish(_ post: Int, etag: String, _ request: HTTPRequest, in feed: ChangeFeed) {
  feed.publish([.url("/posts/\(post)", etag: etag)], by: request.changeID)
}

struct PriceFeed: Sendable {
  let feed = ChangeFeed()

  /// The answer to `GET /events`: a head, and a body whose pieces are written as they come.
  func events(
    _ request: HTTPRequest, user: String, tenant: String, expires: Date, close: @escaping @Sendable () -> Void
  ) -> (HTTPResponse, ChangeStream?) {
    do throws(ChangeFeedError) {
      let stream = try feed.open(
        request, user: ChangeAudience("user:\(user)"), for: [ChangeAudience("tenant:\(tenant)")],
        lifetime: .seconds(expires.timeIntervalSinceNow), onStall: close)
      return (HTTPResponse(status: .ok, headerFields: ChangeFeed.fields), stream)
    } catch {
      return (error.response, nil)
    }
  }

  func setPrice(
    of product: Int, tenant: String, _ request: HTTPRequest, _ commit: () async throws -> String
  ) async throws {
    let etag = try await commit()
    feed.publish(
      [.url("/products/\(product)", etag: etag), .group("prices")], by: request.changeID,
      to: ChangeAudience("tenant:\(tenant)"))
  }

  func signOut(_ user: String, _ end: () async throws -> Void) async throws {
    try await end()
    feed.disconnect(ChangeAudience("user:\(user)"))
  }
}

struct Posts: Sendable {
  let feed = ChangeFeed()

  /// The response to `GET /events`. Write each piece at once.
  func events(_ request: HTTPRequest, of user: Int) throws -> (HTTPFields, ChangeStream) {
    (ChangeFeed.fields, try feed.open(request, user: ChangeAudience("user:\(user)")))
  }

  func save(_ post: Int, _ commit: () async throws -> Void) async throws {
    try await commit()
    feed.publish([.url("/posts/\(post)"), .group("front-page")])
  }
}

func serve(_ log: any SharedChangeLog, _ listen: @escaping @Sendable (ChangeFeed) async throws -> Void) async throws {
  let feed = ChangeFeed(log: log)
  try await withThrowingTaskGroup { group in
    group.addTask { await feed.run() }
    group.addTask { try await listen(feed) }
    try await group.next()
    group.cancelAll()
  }
}
