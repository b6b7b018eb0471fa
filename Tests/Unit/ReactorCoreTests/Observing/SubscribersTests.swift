import Foundation
import ReactorTesting
import Testing

@testable import ReactorCore

@Suite struct `The streams of a key` {
  private func stream(_ id: UInt64, of resource: Resource = "a") -> Subscriber {
    Subscriber(
      .stream(StateSlot(id)), resource: resource, policy: .cacheOnly, polling: nil, since: .zero, priority: .medium,
      showsValue: true)
  }

  @Test func `the streams of a key are in the order of their numbers, in whatever order they are opened and ended`() {
    var subscribers = Subscribers()
    var open: Set<UInt64> = []
    var random = SeededGenerator(seed: 29)
    for _ in 0..<2_000 {
      let id = UInt64.random(in: 0..<50, using: &random)
      if open.contains(id) {
        #expect(subscribers.remove(id)?.id == id)
        open.remove(id)
      } else {
        #expect(subscribers.remove(id) == nil && subscribers[id] == nil)
        subscribers.insert(stream(id))
        open.insert(id)
        #expect(subscribers[id]?.id == id)
      }
      #expect(subscribers.all.map(\.id) == open.sorted())
    }
    #expect(subscribers.isEmpty == open.isEmpty && subscribers.count == open.count)
  }

  @Test func `the streams of a key share a state only if nothing that they show differs`() {
    let copy = CachedModel(
      Snapshot(model: AnyModel(1), fetchedAt: .now), of: RecordKey(method: .get, url: "https://api.example.com/a"),
      origin: .network)
    let changes: [(Subscriber) -> Void] = [
      { $0.showsValue = false }, { $0.sawItArrive = true }, { $0.isNotCached = true }, { $0.revision = 1 },
      { $0.ownVariant = copy },
    ]
    #expect(stream(1).seesSame(as: stream(2)))
    #expect(!stream(1).seesSame(as: stream(2, of: "b")))
    for change in changes {
      let (old, new) = (stream(1), stream(2))
      change(new)
      #expect(!new.seesSame(as: old))
      change(old)
      #expect(new.seesSame(as: old))
    }
  }
}
