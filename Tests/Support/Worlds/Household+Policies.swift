import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting

/// The table of ``FetchPolicy``, row by row, in a world that is quiet: whatever the household has been through.
extension Household {
  func judgePolicies(_ path: String) async throws {
    let lifetime = Duration.seconds(model.server.maximumAge)
    try await documents.remove(Resource(path))
    await expect(.notCached, by: .cacheOnly, path, requests: 0)
    await expect(.present, by: .cacheFirst, path, requests: 1)
    if lifetime >= .seconds(60) {
      await expect(.present, by: .cacheFirst, path, requests: 0)
      await expect(.present, by: .staleWhileRevalidate, path, requests: 0)
    }
    await expect(.present, by: .cacheOnly, path, requests: 0)
    await expect(.present, by: .networkOnly, path, requests: 1)
    model.server.change(path)
    await expect(.before, by: .cacheOnly, path, requests: 0)
    await expect(.present, by: .networkFirst, path, requests: 1)
    try await judgeStale(path, lifetime)
    try await judgeWithoutNetwork(path, lifetime)
    try await judgeChanges(path)
    try await layer.removeAll()
    await expect(.notCached, by: .cacheOnly, path, requests: 0)
  }

  private func judgeStale(_ path: String, _ lifetime: Duration) async throws {
    model.server.change(path)
    try await world.clock.sleep(for: lifetime + .seconds(1))
    await expect(.before, by: .cacheOnly, path, requests: 0)
    await expect(.present, by: .cacheFirst, path, requests: 1)
    model.server.change(path)
    try await world.clock.sleep(for: lifetime + .seconds(1))
    let requests = model.requests(owner, path)
    await expect(.before, by: .staleWhileRevalidate, path, requests: nil)
    try await world.clock.sleep(for: .seconds(20))
    world.check(
      model.requests(owner, path) == requests + 1,
      "\(owner)\(path): what was stale was revalidated by \(model.requests(owner, path) - requests) requests")
    await expect(.present, by: .cacheOnly, path, requests: 0)
  }

  private func judgeWithoutNetwork(_ path: String, _ lifetime: Duration) async throws {
    try await world.clock.sleep(for: lifetime + .seconds(1))
    world.reachability.set(false)
    await expect(.present, by: .networkFirst, path, requests: 0)
    await expect(.present, by: .cacheOnly, path, requests: 0)
    await expect(.present, by: .staleWhileRevalidate, path, requests: 0)
    await expect(.noConnectivity, by: .cacheFirst, path, requests: 0)
    await expect(.noConnectivity, by: .networkOnly, path, requests: 0)
    world.reachability.set(true)
    await expect(.present, by: .cacheFirst, path, requests: nil)
  }

  private func judgeChanges(_ path: String) async throws {
    await documents.invalidate(Resource(path))
    await expect(.present, by: .cacheOnly, path, requests: 0)
    await expect(.present, by: .cacheFirst, path, requests: 1)
    let order = model.server.nextOrder()
    try await documents.save(model.server.written(owner, path, order: order), for: Resource(path))
    await expect(.written(order), by: .cacheFirst, path, requests: 0)
    await expect(.present, by: .networkOnly, path, requests: 1)
    let requests = model.requests(owner, path)
    _ = try await documents.fetch(Resource(path, method: .put))
    world.check(model.requests(owner, path) == requests + 1, "\(owner)\(path): a PUT is one request")
    await expect(.before, by: .cacheOnly, path, requests: 0)
    await expect(.present, by: .cacheFirst, path, requests: 1)
  }

  enum Expected: Equatable {
    /// The server's present version.
    case present
    /// The one before it.
    case before
    case written(Int)
    case notCached
    case noConnectivity
  }

  /// - Parameter requests: `nil`: as many as it takes.
  func expect(_ expected: Expected, by policy: FetchPolicy, _ path: String, requests: Int?) async {
    let (requestsBefore, present) = (model.requests(owner, path), model.server.version(path))
    let found: Expected?
    do {
      let document = try await documents.fetch(Resource(path), policy: policy)
      found =
        switch document.version {
        case 0: .written(document.order)
        case present: .present
        case present - 1: .before
        default: nil
        }
    } catch {
      found =
        switch error {
        case .notCached: .notCached
        case .noConnectivity: .noConnectivity
        default: nil
        }
    }
    let made = model.requests(owner, path) - requestsBefore
    let who = "\(owner)\(path) by \(policy)"
    world.note("\(who): \(String(describing: found)), \(made) requests")
    world.check(found == expected, "\(who): \(String(describing: found)), not \(expected)")
    if let requests { world.check(made == requests, "\(who): \(made) requests, not \(requests)") }
  }
}
