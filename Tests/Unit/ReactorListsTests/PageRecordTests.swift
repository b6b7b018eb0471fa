import Foundation
import ReactorCore
import ReactorLists
import ReactorTesting
import ReactorWrites
import TestSupport
import Testing

@Suite("The pages of a list", .timeLimit(.minutes(5)))
struct PageRecordTests {
  private func loaded(_ pages: Pages<[Item]>, _ count: Int) async throws {
    for _ in 0..<count { try await pages.loadNext() }
  }

  @Test func `a page that is loaded twice replaces itself`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    try await loaded(pages, 2)
    shelf.change { $0.items[3].text = "new" }
    try await pages.refresh()
    #expect(pages.ids == [[4, 3], [2, 1]])
    #expect(pages.states.current.value?.last?.last?.text == "new")
  }

  @Test func `pages and their links come from disk after a restart`() async throws {
    let shelf = Shelf([6, 5, 4, 3, 2, 1])
    try await loaded(shelf.items.pages(from: "items"), 3)
    let asked = shelf.paths.count
    let items: Reactor<[Item]> = shelf.bench.restarted().layer.reactor()
    let pages = items.pages(from: "items", policy: .cacheFirst)
    try await loaded(pages, 3)
    #expect(pages.ids == [[6, 5], [4, 3], [2, 1]] && pages.states.current.origin == .persistence)
    #expect(shelf.paths.count == asked)
  }

  @Test func `pages beyond the limit come back from disk where memory keeps none`() async throws {
    let shelf = Shelf(stride(from: 8, to: 0, by: -1)) { $0.keepUnusedFor = .zero }
    let pages = shelf.items.pages(from: "items", limit: 2)
    try await loaded(pages, 4)
    // By its event: a look at the value would be a use, after which it stays.
    func isEvicted() -> Bool {
      shelf.bench.log.events.contains { $0.kind.name == .evicted && $0.key.url.hasSuffix("items?after=7") }
    }
    var evicted = 0
    while !isEvicted() {
      evicted += 1
      try await shelf.bench.log.wait(for: .evicted, count: evicted)
    }
    let asked = shelf.paths.count
    #expect(try await pages.loadPrevious())
    #expect(pages.ids == [[6, 5], [4, 3]] && pages.states.current.origin == .persistence)
    #expect(shelf.paths.count == asked)
  }

  @Test func `a draft that removes the last element of one drops none behind it`() async throws {
    let shelf = Shelf([5, 4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items", by: .cursor("after", next: { $0.last.map { "\($0.id)" } }))
    var states = pages.states.makeAsyncIterator()
    while pages.ids.count < 3 { try await pages.loadNext() }
    let gate = Gate()
    shelf.bench.transport.answer("/v1/shown", with: ScriptedTransport.Answer.response(.badRequest).held(at: gate))
    let write = Task {
      try await shelf.items.mutate("items?after=4", by: Resource("shown", method: .delete)) { $0 = [] }
    }
    let drafted = try #require(await states.first { !$0.drafts.isEmpty })
    #expect(drafted.value?.map { $0.map(\.id) } == [[5, 4], [], [1]])
    gate.open()
    _ = await write.result
    let after = try #require(await states.first { $0.drafts.isEmpty })
    #expect(after.value?.map { $0.map(\.id) } == [[5, 4], [3, 2], [1]])
  }

  @Test func `a member of two pages has the value of the page requested later`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    shelf.change { $0.links["items"] = "items?after=4" }
    let pages = shelf.items.pages(from: "items", limit: 2)
    try await pages.fetch()
    shelf.change { $0.items[1].text = "second" }
    try await pages.loadNext()
    #expect(pages.ids == [[4, 3], [3, 2]])
    #expect(pages.states.current.value?.members.map(\.id) == [4, 3, 2])
    #expect(pages.states.current.value?.members[1].text == "second")
    try await pages.loadNext()
    shelf.change { $0.items[1].text = "third" }
    shelf.bench.clock.advance(by: .seconds(61))
    #expect(try await pages.loadPrevious())
    #expect(pages.ids == [[4, 3], [3, 2]])
    #expect(pages.states.current.value?.members.map(\.text) == ["", "third", ""])
  }
}
