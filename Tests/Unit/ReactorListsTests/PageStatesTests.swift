import Foundation
import ReactorCore
import ReactorLists
import ReactorTesting
import ReactorWrites
import TestSupport
import Testing

@Suite("The states of a list", .timeLimit(.minutes(5)))
struct PageStatesTests {
  typealias States = PageStates<[Item]>

  /// Waits for a state in which the list shows these ids and does nothing.
  private func wait(_ states: inout States.Iterator, for ids: [[Int]]) async throws -> LoadState<PageList<[Item]>> {
    try #require(
      await states.first { $0.fetchStatus == .idle && ($0.value.map { $0.map { $0.map(\.id) } } ?? []) == ids })
  }

  @Test func `the first one loads the first page, with one request`() async throws {
    let shelf = Shelf([2, 1], cacheControl: "no-cache")
    let pages = shelf.items.pages(from: "items")
    var states: States.Iterator? = pages.states.makeAsyncIterator()
    _ = try await wait(&states!, for: [[2, 1]])
    #expect(shelf.paths == ["items"])
    states = nil
    try await shelf.bench.waitUntilNothingWaits()
  }

  @Test func `a draft of a page shows in the list at once, and its end too`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    var states = pages.states.makeAsyncIterator()
    try await pages.loadNext()
    _ = try await pages.loadNext()
    _ = try await wait(&states, for: [[4, 3], [2, 1]])
    let gate = Gate()
    shelf.bench.transport.answer("/v1/items/3", with: ScriptedTransport.Answer.response(.badRequest).held(at: gate))
    let write = Task {
      try await shelf.items.mutate("items", by: Resource("items/3", method: .delete)) { $0.removeAll { $0.id == 3 } }
    }
    let drafted = try #require(await states.first { !$0.drafts.isEmpty })
    #expect(drafted.value?.first?.map(\.id) == [4])
    gate.open()
    _ = await write.result
    let after = try #require(await states.first { $0.drafts.isEmpty && $0.value?.first?.count == 2 })
    #expect(after.value?.count == 2)
  }

  @Test func `an invalidation of a group makes the list refresh`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    var first: Resource = "items"
    first.groups = ["feed"]
    let pages = shelf.items.pages(from: first)
    var states = pages.states.makeAsyncIterator()
    _ = try await wait(&states, for: [[4, 3]])
    try await pages.loadNext()
    shelf.change { $0.items.insert(Item(id: 5), at: 0) }
    shelf.bench.clock.advance(by: .seconds(1))
    await shelf.bench.layer.invalidate(.group("feed"))
    _ = try await wait(&states, for: [[5, 4], [3, 2]])
  }

  @Test(arguments: ["max-age=60", "no-cache"])
  func `an invalidated page behind the first makes the list refresh`(cacheControl: String) async throws {
    let shelf = Shelf([4, 3, 2, 1], cacheControl: cacheControl)
    let pages = shelf.items.pages(from: "items")
    var states = pages.states.makeAsyncIterator()
    try await pages.loadNext()
    try await pages.loadNext()
    _ = try await wait(&states, for: [[4, 3], [2, 1]])
    shelf.change { $0.items.removeAll { $0.id == 1 } }
    shelf.bench.clock.advance(by: .seconds(1))
    await shelf.items.invalidate("items?after=3")
    _ = try await wait(&states, for: [[4, 3], [2]])
  }

  @Test func `polling of the first page takes the others along`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items", polling: .seconds(10))
    var states: States.Iterator? = pages.states.makeAsyncIterator()
    _ = try await wait(&states!, for: [[4, 3]])
    try await pages.loadNext()
    shelf.change { $0.items.insert(Item(id: 5), at: 0) }
    try await shelf.bench.clock.waitForSleepers()
    shelf.bench.clock.advance(by: .seconds(10))
    _ = try await wait(&states!, for: [[5, 4], [3, 2]])
    states = nil
    try await shelf.bench.waitUntilNothingWaits()
  }

  @Test func `after everything was removed, the list has no value, and loads again`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    var states = pages.states.makeAsyncIterator()
    try await pages.loadNext()
    try await pages.loadNext()
    _ = try await wait(&states, for: [[4, 3], [2, 1]])
    try await shelf.bench.layer.removeAll()
    let removed = try #require(await states.first { $0.value == nil })
    #expect(removed.isRemoved)
    try await pages.fetch()
    _ = try await wait(&states, for: [[4, 3]])
  }

  @Test func `a failure of the first page is the error of the state`() async throws {
    let shelf = Shelf([2, 1])
    shelf.change { $0.failures["items"] = .internalServerError }
    let pages = shelf.items.pages(from: "items")
    var states = pages.states.makeAsyncIterator()
    let failed = try #require(await states.first { $0.error != nil && $0.fetchStatus == .idle })
    #expect(failed.value == nil)
    shelf.change { $0.failures = [:] }
    try await pages.refresh()
    let loaded = try await wait(&states, for: [[2, 1]])
    #expect(loaded.error == nil)
  }

  @Test @MainActor func `a live resource follows it`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    let live = LiveResource(pages)
    _ = live.value
    try await pages.loadNext()
    try await pages.loadNext()
    await live.refresh()
    #expect(pages.ids.count == 2)
    // The end of the list is asked for without validators.
    #expect(shelf.confirmed == 1)
  }

  @Test func `a secret query item of a link comes from the first resource`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    shelf.change { $0.links["items?token=hidden"] = "items?token=hidden&after=3" }
    let pages = shelf.items.pages(from: Resource("items", query: ["token": "hidden"]))
    try await pages.fetch()
    try await pages.loadNext()
    #expect(shelf.paths == ["items?token=hidden", "items?token=hidden&after=3"])
    let again = shelf.items.pages(from: Resource("items", query: ["token": "hidden"]))
    try await again.fetch()
    #expect(try await again.loadNext())
    #expect(shelf.paths.count == 2)
  }
}
