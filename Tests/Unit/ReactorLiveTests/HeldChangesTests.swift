import ReactorCore
import Testing

@testable import ReactorLive

@Suite("Changes that wait for a write") struct HeldChangesTests {
  private func change(_ url: String, until time: Int) -> HeldChange {
    HeldChange(set: KeySet(urls: [url]), id: nil, until: .seconds(time))
  }

  @Test func `a change is not held for a write that finished while the layer was asked`() {
    var held = HeldChanges()
    let ends = held.ends
    // The layer says that a write is under way, which finishes here.
    let early = held.writeEnded()
    let isHeld = held.hold(change("a", until: 10), since: ends)
    #expect(early.isEmpty && !isHeld && held.deadline == nil)
    let isHeldLater = held.hold(change("a", until: 10), since: held.ends)
    #expect(isHeldLater && held.deadline == .seconds(10))
  }

  @Test func `a finished write takes every change, and the clock takes what is due`() {
    var held = HeldChanges()
    for (url, time) in [("a", 10), ("b", 5), ("c", 7)] { _ = held.hold(change(url, until: time), since: held.ends) }
    let due = held.take(at: .seconds(7)).flatMap(\.set.urls)
    #expect(due.sorted() == ["b", "c"] && held.deadline == .seconds(10))
    let rest = held.writeEnded().flatMap(\.set.urls)
    #expect(rest == ["a"] && held.deadline == nil)
  }
}
