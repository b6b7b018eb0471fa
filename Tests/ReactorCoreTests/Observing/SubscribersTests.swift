import ReactorTesting
import Testing

@testable import ReactorCore

@Suite struct `The streams of a key` {
  private func stream(_ id: UInt64) -> Subscriber {
    Subscriber(
      id, resource: "a", policy: .cacheOnly, polling: nil, since: .zero, priority: .medium, showsValue: true)
  }

  @Test func `are in the order of their numbers, in whatever order they are opened and ended`() {
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
}
