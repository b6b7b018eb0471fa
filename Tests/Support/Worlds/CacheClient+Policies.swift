import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorTesting

/// The table of ``FetchPolicy``, row by row, in a world that is quiet: whatever the client has
/// been through.
extension CacheClient {
  func judgePolicies(_ place: Place) async throws {
    let lifetime = Duration.seconds(model.server.maximumAge)
    try await desk(place).remove(model.resource(place))
    await expect(.notCached, by: .cacheOnly, place, requests: 0)
    await expect(.present, by: .cacheFirst, place, requests: 1)
    if lifetime >= .seconds(60) {
      await expect(.present, by: .cacheFirst, place, requests: 0)
      await expect(.present, by: .staleWhileRevalidate, place, requests: 0)
    }
    await expect(.present, by: .cacheOnly, place, requests: 0)
    await expect(.present, by: .networkOnly, place, requests: 1)
    model.server.change(place.path)
    await expect(.before, by: .cacheOnly, place, requests: 0)
    await expect(.present, by: .networkFirst, place, requests: 1)
    try await judgeStale(place, lifetime)
    try await judgeWithoutNetwork(place, lifetime)
    try await judgeChanges(place)
    if lifetime >= .seconds(60) {
      await judgeVariants(place)
      await judgeTypes(place)
    }
    try await layer.removeAll()
    await expect(.notCached, by: .cacheOnly, place, requests: 0)
  }

  private func judgeStale(_ place: Place, _ lifetime: Duration) async throws {
    model.server.change(place.path)
    try await world.clock.sleep(for: lifetime + .seconds(1))
    await expect(.before, by: .cacheOnly, place, requests: 0)
    await expect(.present, by: .cacheFirst, place, requests: 1)
    model.server.change(place.path)
    try await world.clock.sleep(for: lifetime + .seconds(1))
    let requests = model.requests(place)
    await expect(.before, by: .staleWhileRevalidate, place, requests: nil)
    try await world.clock.sleep(for: .seconds(20))
    world.check(
      model.requests(place) == requests + 1,
      "\(place): what was stale was revalidated by \(model.requests(place) - requests) requests")
    await expect(.present, by: .cacheOnly, place, requests: 0)
  }

  private func judgeWithoutNetwork(_ place: Place, _ lifetime: Duration) async throws {
    try await world.clock.sleep(for: lifetime + .seconds(1))
    world.reachability.set(false)
    await expect(.present, by: .networkFirst, place, requests: 0)
    await expect(.present, by: .cacheOnly, place, requests: 0)
    await expect(.present, by: .staleWhileRevalidate, place, requests: 0)
    await expect(.noConnectivity, by: .cacheFirst, place, requests: 0)
    await expect(.noConnectivity, by: .networkOnly, place, requests: 0)
    world.reachability.set(true)
    await expect(.present, by: .cacheFirst, place, requests: nil)
  }

  private func judgeChanges(_ place: Place) async throws {
    await desk(place).invalidate(model.resource(place))
    await expect(.present, by: .cacheOnly, place, requests: 0)
    await expect(.present, by: .cacheFirst, place, requests: 1)
    let order = model.server.nextOrder()
    try await desk(place).save(model.server.written(owner, place.path, order: order), model.resource(place))
    await expect(.written(order), by: .cacheFirst, place, requests: 0)
    await expect(.present, by: .networkOnly, place, requests: 1)
    let requests = model.requests(place)
    _ = try await desk(place).fetch(model.resource(place, changes: true), .cacheFirst)
    world.check(model.requests(place) == requests + 1, "\(place): a PUT is one request")
    await expect(.before, by: .cacheOnly, place, requests: 0)
    await expect(.present, by: .cacheFirst, place, requests: 1)
  }

  /// A process that has nothing in memory finds both languages at once, without a network.
  private func judgeVariants(_ place: Place) async {
    var other = place
    other.language = Place.languages.first { $0 != place.language } ?? ""
    await expect(.present, by: .networkOnly, place, requests: 1)
    await expect(.present, by: .networkOnly, other, requests: 1)
    world.reachability.set(false)
    for policy in [FetchPolicy.cacheFirst, .cacheOnly, .networkFirst] {
      let reader = CacheClient(owner, model, world.disk.open(), isForgetful: isForgetful)
      async let one: Void = reader.expect(.present, by: policy, place, requests: 0)
      async let two: Void = reader.expect(.present, by: policy, other, requests: 0)
      _ = await (one, two)
    }
    world.reachability.set(true)
  }

  /// Checks that an answer that one type may not store does not matter to the other type.
  private func judgeTypes(_ place: Place) async {
    guard !isForgetful else { return }
    var other = place
    other.kind = place.kind == .document ? .sheet : .document
    await expect(.present, by: .networkOnly, place, requests: 1)
    model.server.setNoStore(true)
    await expect(.present, by: .networkOnly, other, requests: 1)
    model.server.setNoStore(false)
    await expect(.present, by: .cacheFirst, place, requests: 0)
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
  func expect(_ expected: Expected, by policy: FetchPolicy, _ place: Place, requests: Int?) async {
    let (requestsBefore, present) = (model.requests(place), model.server.version(place.path))
    let found: Expected?
    do {
      let document = try await desk(place).fetch(model.resource(place), policy)
      found =
        switch document.version {
        case 0: .written(document.order)
        case present: .present
        case present - 1: .before
        default: nil
        }
    } catch {
      found =
        switch error as? ReactorError {
        case .notCached: .notCached
        case .noConnectivity: .noConnectivity
        default: nil
        }
    }
    let made = model.requests(place) - requestsBefore
    let who = "\(place) by \(policy)"
    world.note("\(who): \(String(describing: found)), \(made) requests")
    world.check(found == expected, "\(who): \(String(describing: found)), not \(expected)")
    if let requests { world.check(made == requests, "\(who): \(made) requests, not \(requests)") }
  }
}
