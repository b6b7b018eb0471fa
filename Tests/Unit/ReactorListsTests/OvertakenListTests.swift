import Foundation
import ReactorCore
import ReactorLists
import ReactorTesting
import TestSupport
import Testing

@Suite("A list that something overtakes", .timeLimit(.minutes(5)))
struct OvertakenListTests {
  private typealias States = PageStates<[Item]>

  private func loaded(_ pages: Pages<[Item]>, _ count: Int) async throws {
    for _ in 0..<count { try await pages.loadNext() }
  }

  /// Waits for a state in which the list shows these ids.
  private func wait(_ states: inout States.Iterator, for ids: [[Int]]) async throws {
    _ = try #require(await states.first { ($0.value.map { $0.map { $0.map(\.id) } } ?? []) == ids })
  }

  /// Gives what is under way many turns. What continues without end goes on in them.
  private func settle() async {
    for _ in 0..<20_000 { await Task.yield() }
  }

  @Test func `filled again from a page that was dropped, it ends at its first page`() async throws {
    let shelf = Shelf(stride(from: 8, to: 0, by: -1), cacheControl: "max-age=0")
    let pages = shelf.items.pages(from: "items", limit: 2)
    try await loaded(pages, 3)
    shelf.change { $0.items.removeAll { $0.id == 7 } }
    #expect(try await pages.loadPrevious())
    #expect(pages.ids == [[8, 6], [5, 4]])
    #expect(pages.states.current.value?.hasPrevious == false)
    #expect(try await !pages.loadPrevious())
  }

  @Test func `a link that leads back to a page that the limit has dropped ends it`() async throws {
    let shelf = Shelf([6, 5, 4, 3, 2, 1])
    shelf.change { $0.links["items?after=3"] = "items" }
    let pages = shelf.items.pages(from: "items", limit: 2)
    try await loaded(pages, 3)
    #expect(pages.ids == [[4, 3], [2, 1]] && pages.states.current.value?.hasNext == false)
    #expect(try await !pages.loadNext())
    #expect(pages.ids == [[4, 3], [2, 1]])
  }

  @Test func `a dropped page whose link cannot be followed any more is not shown before another chain`() async throws {
    let shelf = Shelf(stride(from: 8, to: 0, by: -1), cacheControl: "max-age=0")
    let pages = shelf.items.pages(from: "items", limit: 2)
    try await loaded(pages, 3)
    shelf.change { $0.links["items"] = "https://evil.example/items" }
    #expect(try await pages.loadPrevious())
    #expect(pages.ids == [[8, 7]])
  }

  @Test func `after everything was removed, the list has no value even without readers`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    try await loaded(pages, 2)
    try await shelf.bench.layer.removeAll()
    #expect(pages.states.current.value == nil && pages.states.current.isRemoved)
    shelf.change { $0.items = [Item(id: 9)] }
    #expect(try await pages.fetch().map { $0.map(\.id) } == [[9]])
    #expect(!pages.states.current.isRemoved)
  }

  @Test func `a next page under way when everything is removed does not come back`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    try await pages.fetch()
    let gate = Gate()
    shelf.change { $0.gates["items?after=3"] = gate }
    let next = Task { try await pages.loadNext() }
    try await shelf.bench.transport.waitForRequests(count: 2)
    try await shelf.bench.layer.removeAll()
    #expect(pages.states.current.value == nil)
    gate.open()
    _ = await next.result
    #expect(pages.ids == [])
  }

  @Test func `a first page under way when everything is removed is not shown`() async throws {
    let shelf = Shelf([2, 1])
    let pages = shelf.items.pages(from: "items")
    let gate = Gate()
    shelf.change { $0.gates["items"] = gate }
    let first = Task { try await pages.fetch() }
    try await shelf.bench.transport.waitForRequests()
    shelf.change { $0.items = [Item(id: 9)] }
    try await shelf.bench.layer.removeAll()
    gate.open()
    _ = await first.result
    #expect([[], [[9]]].contains(pages.ids))
  }

  @Test func `a page that is removed while the one behind it loads takes that one along`() async throws {
    let shelf = Shelf([6, 5, 4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    var states = pages.states.makeAsyncIterator()
    try await loaded(pages, 2)
    while pages.ids.count < 2 { try await pages.loadNext() }
    try await wait(&states, for: [[6, 5], [4, 3]])
    let gate = Gate()
    shelf.change { $0.gates["items?after=3"] = gate }
    let next = Task { try await pages.loadNext() }
    try await shelf.bench.transport.waitForRequests(count: 3)
    try await shelf.items.remove("items?after=5")
    try await wait(&states, for: [[6, 5]])
    gate.open()
    #expect(try await next.value)
    #expect(pages.ids == [[6, 5], [4, 3]])
  }

  @Test func `a limited one requests nothing after everything was removed, until it is fetched`() async throws {
    let shelf = Shelf([6, 5, 4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items", limit: 2)
    var states = pages.states.makeAsyncIterator()
    while pages.ids != [[4, 3], [2, 1]] { try await pages.loadNext() }
    let asked = shelf.paths.count
    try await shelf.bench.layer.removeAll()
    let removed = try #require(await states.first { $0.value == nil && $0.fetchStatus == .idle })
    #expect(removed.isRemoved && removed.error == nil)
    await settle()
    #expect(shelf.paths.count == asked && pages.states.current.error == nil)
    #expect(try await pages.fetch().map { $0.map(\.id) } == [[6, 5]])
  }

  @Test func `an invalidated page that fails is not requested without end`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    var states = pages.states.makeAsyncIterator()
    while pages.ids.count < 2 { try await pages.loadNext() }
    let asked = shelf.paths.count
    shelf.change { $0.failures["items?after=3"] = .internalServerError }
    await shelf.items.invalidate("items?after=3")
    let failed = try #require(await states.first { $0.error != nil && $0.fetchStatus == .idle })
    #expect(failed.value?.count == 2)
    await settle()
    #expect(shelf.paths.count == asked + 1)
  }

  @Test func `a list of only the cache requests nothing when another reader renews its first page`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    try await loaded(shelf.items.pages(from: "items"), 2)
    let pages = shelf.items.pages(from: "items", policy: .cacheOnly)
    var states = pages.states.makeAsyncIterator()
    while pages.ids.count < 2 { try await pages.loadNext() }
    let asked = shelf.paths.count
    shelf.bench.clock.advance(by: .seconds(1))
    shelf.change { $0.items[0].text = "new" }
    _ = try await shelf.items.fetch("items", policy: .networkOnly)
    _ = try #require(await states.first { $0.value?.first?.first?.text == "new" && $0.fetchStatus == .idle })
    #expect(pages.ids == [[4, 3], [2, 1]] && shelf.paths.count == asked + 1)
  }

  @Test func `a newer answer for one of its pages shows, and requests no other`() async throws {
    let shelf = Shelf([6, 5, 4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    var states = pages.states.makeAsyncIterator()
    while pages.ids.count < 3 { try await pages.loadNext() }
    let asked = shelf.paths.count
    shelf.bench.clock.advance(by: .seconds(1))
    shelf.change { $0.items[2].text = "new" }
    _ = try await shelf.items.fetch("items?after=5", policy: .networkOnly)
    _ = try #require(await states.first { $0.value?[1].first?.text == "new" && $0.fetchStatus == .idle })
    #expect(shelf.paths.count == asked + 1)
  }

  @Test func `a newer answer for one of its pages that leads elsewhere takes those behind it along`() async throws {
    let shelf = Shelf([6, 5, 4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    var states = pages.states.makeAsyncIterator()
    while pages.ids.count < 3 { try await pages.loadNext() }
    shelf.bench.clock.advance(by: .seconds(1))
    shelf.change { $0.items.removeAll { $0.id == 3 } }
    _ = try await shelf.items.fetch("items?after=5", policy: .networkOnly)
    try await wait(&states, for: [[6, 5], [4, 2], [1]])
  }

  @Test(arguments: ["max-age=60", "max-age=0", "no-cache"])
  func `two of one resource, of other windows, do not make each other ask without end`(
    cacheControl: String
  ) async throws {
    let shelf = Shelf(stride(from: 8, to: 0, by: -1), cacheControl: cacheControl)
    let one = shelf.items.pages(from: "items", limit: 3)
    let other = shelf.items.pages(from: "items", limit: 3)
    var states = [one.states.makeAsyncIterator(), other.states.makeAsyncIterator()]
    while one.ids.last != [2, 1] { try await one.loadNext() }
    while other.ids.last != [4, 3] { try await other.loadNext() }
    try await wait(&states[0], for: [[6, 5], [4, 3], [2, 1]])
    try await wait(&states[1], for: [[8, 7], [6, 5], [4, 3]])
    await settle()
    let asked = shelf.paths.count
    shelf.change {
      $0.answerTime = .seconds(1)
      $0.items[5].text = "new"
    }
    _ = try await shelf.items.fetch("items?after=5", policy: .networkOnly)
    _ = try #require(await states[0].first { $0.value?[1].last?.text == "new" })
    _ = try #require(await states[1].first { $0.value?.last?.last?.text == "new" })
    await settle()
    // One request of the caller, and one at most of each list for each of its pages.
    #expect(shelf.paths.count - asked <= 7, "\(shelf.paths.count - asked): \(shelf.paths.dropFirst(asked).prefix(20))")
    states = []
    try await shelf.bench.waitUntilNothingWaits()
  }
}
