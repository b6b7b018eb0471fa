import Foundation
import ReactorCore
import ReactorWrites

/// The cost of a change of one entity that 1,000 lists of 20 hold, until every stream of a watched
/// list has seen it.
///
/// The limit is the same write with no list in memory.
enum Entities: Benchmark {
  static let name = "entities"
  static let question = "one entity in 1,000 lists changes, of which 0, 10 and 1,000 are watched"

  static func measure(_ bench: Bench) async throws {
    let alone = try await Shelf(lists: 0, watched: 0)
    for watched in [0, 10, 1_000] {
      let shelf = try await Shelf(lists: 1_000, watched: watched)
      try await bench.compare(
        "one entity in 1,000 lists, \(Table.whole(watched)) watched", to: "the same write without lists", target: nil,
        job: { try await shelf.change($0) }, limit: { try await alone.change($0) })
      await shelf.end()
    }
  }
}

private struct Item: Codable, Entity, Equatable {
  var id: Int
  var count: Int
}

/// A layer with lists that all hold the item 0.
private final class Shelf {
  private let audience = Audience()
  private let items: Reactor<Item>
  private let lists: Reactor<[Item]>
  private let watched: Int
  private var value = 0
  private var tasks: [Task<Void, Never>] = []

  init(lists count: Int, watched: Int) async throws {
    self.watched = watched
    let layer = ModelLayer(
      baseURL: StoredArticles.baseURL, transport: InstantTransport(body: Data()), reachability: .always)
    items = layer.reactor()
    lists = layer.reactor()
    try await items.save(Item(id: 0, count: 0), for: "items/0")
    for list in 0..<count {
      let others = (1..<20).map { Item(id: list * 20 + $0, count: 0) }
      try await lists.save([Item(id: 0, count: 0)] + others, for: Resource("lists/\(list)"))
    }
    audience.expect(watched)
    for list in 0..<watched { tasks.append(Self.watching(lists, Resource("lists/\(list)"), with: audience)) }
    if watched > 0 { await audience.all() }
  }

  private static func watching(
    _ lists: Reactor<[Item]>, _ resource: Resource, with audience: Audience
  ) -> Task<Void, Never> {
    Task {
      var last = -1
      for await state in lists.states(for: resource, policy: .cacheOnly) {
        guard let value = state.value?.first?.count, value > last else { continue }
        last = value
        audience.hasSeen()
      }
    }
  }

  func change(_ times: Int) async throws {
    for _ in 0..<times {
      value += 1
      audience.expect(watched)
      try await items.save(Item(id: 0, count: value), for: "items/0")
      if watched > 0 { await audience.all() }
    }
  }

  func end() async {
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
  }
}
