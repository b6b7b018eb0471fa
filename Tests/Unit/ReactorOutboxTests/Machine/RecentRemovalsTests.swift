import Foundation
import Testing

@testable import ReactorOutbox

@Suite struct `The entries that are removed while a store is read` {
  private let id = UUID()

  @Test func `a removal is known to each read that began before it, until the last has ended`() {
    var removals = RecentRemovals()
    let first = removals.begin()
    removals.note(id)
    let second = removals.begin()
    #expect(removals.contains(id, since: first))
    // It finds the entry only if somebody has stored it again.
    #expect(!removals.contains(id, since: second))
    removals.end()
    #expect(removals.contains(id, since: first))
    removals.end()
    #expect(!removals.contains(id, since: first))
  }

  @Test func `an entry that was stored again and removed again stays removed`() {
    var removals = RecentRemovals()
    let first = removals.begin()
    removals.note(id)
    let second = removals.begin()
    removals.forget(id)
    #expect(!removals.contains(id, since: first))
    removals.note(id)
    #expect(removals.contains(id, since: first) && removals.contains(id, since: second))
  }
}
