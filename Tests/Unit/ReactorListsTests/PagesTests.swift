import Foundation
import ReactorCore
import ReactorLists
import ReactorTesting
import ReactorWrites
import TestSupport
import Testing

@Suite("A list in pages", .timeLimit(.minutes(5)))
struct PagesTests {
  private func loaded(_ pages: Pages<[Item]>, _ count: Int) async throws {
    for _ in 0..<count { try await pages.loadNext() }
  }

  @Test func `each page links to the next`() async throws {
    let shelf = Shelf([6, 5, 4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    #expect(try await pages.fetch().map { $0.map(\.id) } == [[6, 5]])
    #expect(try await pages.loadNext())
    #expect(try await pages.loadNext())
    #expect(pages.ids == [[6, 5], [4, 3], [2, 1]])
    #expect(pages.states.current.value?.hasNext == false)
    #expect(try await !pages.loadNext())
    #expect(shelf.paths == ["items", "items?after=5", "items?after=3"])
    #expect(shelf.bench.stillWaiting.isEmpty)
  }

  @Test func `two that load the next page at once load one`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    try await pages.fetch()
    let gate = Gate()
    shelf.change { $0.gates["items?after=3"] = gate }
    async let one = pages.loadNext()
    async let other = pages.loadNext()
    try await shelf.bench.transport.waitForRequests(count: 2)
    #expect(pages.states.current.value?.isLoadingNext == true)
    gate.open()
    let answers = try await [one, other]
    #expect(answers == [true, true])
    #expect(pages.ids == [[4, 3], [2, 1]] && shelf.paths.count == 2)
    #expect(pages.states.current.value?.isLoadingNext == false)
  }

  @Test func `a next page during a refresh waits for it`() async throws {
    let shelf = Shelf([6, 5, 4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    try await loaded(pages, 2)
    let gate = Gate()
    shelf.change {
      $0.items.insert(Item(id: 7), at: 0)
      $0.gates["items"] = gate
    }
    async let refreshed: Void = pages.refresh()
    try await shelf.bench.transport.waitForRequests(count: 3)
    async let next = pages.loadNext()
    gate.open()
    try await refreshed
    #expect(try await next)
    #expect(pages.ids == [[7, 6], [5, 4], [3, 2]])
  }

  @Test func `a refresh of unchanged pages is a 304 each but for the end, and no new value`() async throws {
    let shelf = Shelf(stride(from: 10, to: 0, by: -1))
    let pages = shelf.items.pages(from: "items")
    try await loaded(pages, 5)
    let before = pages.states.current
    shelf.bench.clock.advance(by: .seconds(1))
    try await pages.refresh()
    #expect(shelf.confirmed == 4)
    #expect(pages.ids.count == 5)
    #expect(pages.states.current.valueRevision == before.valueRevision && pages.states.current.error == nil)
  }

  @Test func `a changed link drops the pages behind it, and the window is filled again`() async throws {
    let shelf = Shelf([6, 5, 4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    try await loaded(pages, 3)
    shelf.change { $0.items.removeAll { $0.id == 5 } }
    try await pages.refresh()
    #expect(pages.ids == [[6, 4], [3, 2], [1]])
    #expect(pages.states.current.value?.hasNext == false)
  }

  @Test func `a page that fails leaves the list as it was, and the next attempt continues there`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    try await pages.fetch()
    shelf.change { $0.failures["items?after=3"] = .internalServerError }
    await #expect(throws: ReactorError.self) { try await pages.loadNext() }
    let failed = try #require(pages.states.current.value)
    #expect(pages.ids == [[4, 3]] && failed.nextError != nil && failed.hasNext)
    shelf.change { $0.failures = [:] }
    #expect(try await pages.loadNext())
    #expect(pages.ids == [[4, 3], [2, 1]] && pages.states.current.value?.nextError == nil)
    #expect(shelf.paths.filter { $0 == "items" }.count == 1)
  }

  @Test func `a refresh that fails mixes no chains`() async throws {
    let shelf = Shelf([6, 5, 4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    try await loaded(pages, 3)
    shelf.change {
      $0.items.insert(Item(id: 7), at: 0)
      $0.failures["items?after=6"] = .internalServerError
    }
    await #expect(throws: ReactorError.self) { try await pages.refresh() }
    #expect(pages.ids == [[6, 5], [4, 3], [2, 1]] && pages.states.current.error != nil)
    shelf.change { $0.failures = [:] }
    try await pages.refresh()
    #expect(pages.ids == [[7, 6], [5, 4], [3, 2]] && pages.states.current.error == nil)
  }

  @Test func `the limit drops pages at the other end, and they come back from disk`() async throws {
    let shelf = Shelf(stride(from: 10, to: 0, by: -1))
    let pages = shelf.items.pages(from: "items", limit: 2)
    try await loaded(pages, 4)
    #expect(pages.ids == [[6, 5], [4, 3]] && pages.states.current.value?.hasPrevious == true)
    let asked = shelf.paths.count
    #expect(try await pages.loadPrevious())
    #expect(pages.ids == [[8, 7], [6, 5]])
    #expect(try await pages.loadPrevious())
    #expect(pages.ids == [[10, 9], [8, 7]] && pages.states.current.value?.hasPrevious == false)
    #expect(try await !pages.loadPrevious())
    #expect(try await pages.loadNext())
    #expect(pages.ids == [[8, 7], [6, 5]] && shelf.paths.count == asked)
  }

  @Test func `a page that was dropped and leads elsewhere now starts the chain again`() async throws {
    let shelf = Shelf(stride(from: 8, to: 0, by: -1), cacheControl: "max-age=0")
    let pages = shelf.items.pages(from: "items", limit: 2)
    try await loaded(pages, 3)
    #expect(pages.ids == [[6, 5], [4, 3]])
    shelf.change { $0.items.removeAll { $0.id == 7 } }
    #expect(try await pages.loadPrevious())
    #expect(pages.ids == [[8, 6], [5, 4]])
  }

  @Test func `pages come before the first one too`() async throws {
    let shelf = Shelf([4, 3, 2, 1], linksBack: true)
    let pages = shelf.items.pages(from: "items")
    try await pages.fetch()
    shelf.change { $0.items.insert(contentsOf: [Item(id: 6), Item(id: 5)], at: 0) }
    #expect(try await pages.loadPrevious())
    #expect(pages.ids == [[6, 5], [4, 3]])
  }

  @Test func `a link that leads back into the list ends it`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    shelf.change { $0.links["items?after=3"] = "items" }
    let pages = shelf.items.pages(from: "items")
    try await loaded(pages, 2)
    #expect(pages.states.current.value?.hasNext == false)
    #expect(try await !pages.loadNext())
    try await pages.refresh()
    #expect(pages.ids == [[4, 3], [2, 1]])
  }

  @Test func `a chain of links in a circle ends, also where the limit has dropped its beginning`() async throws {
    let shelf = Shelf([6, 5, 4, 3, 2, 1])
    shelf.change { $0.links["items?after=3"] = "items" }
    let pages = shelf.items.pages(from: "items", limit: 2)
    while try await pages.loadNext() { #expect(shelf.paths.count <= 3) }
    #expect(pages.ids == [[4, 3], [2, 1]] && pages.states.current.value?.hasNext == false)
    try await pages.refresh()
    #expect(pages.ids == [[4, 3], [2, 1]] && pages.states.current.value?.hasNext == false)
    while try await pages.loadPrevious() { #expect(pages.ids.count == 2) }
    #expect(pages.ids == [[6, 5], [4, 3]])
  }

  @Test func `a circle of links to previous pages ends too`() async throws {
    let shelf = Shelf([6, 5, 4, 3, 2, 1])
    let circle: [Int: Resource] = [6: "items?after=3", 2: "items?after=5", 4: "items"]
    let turning = PageTurning<[Item]>(
      next: { _, _, _ in nil }, previous: { page, _, _ in page.first.flatMap { circle[$0.id] } })
    for limit in [nil, 2] {
      let pages = shelf.items.pages(from: "items", by: turning, limit: limit)
      try await pages.fetch()
      var count = 0
      while try await pages.loadPrevious(), count < 10 { count += 1 }
      #expect(count == 2 && pages.states.current.value?.hasPrevious == false)
    }
  }

  @Test func `a link outside of the base URL is an invalid resource`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    shelf.change { $0.links["items"] = "https://evil.example/items" }
    let pages = shelf.items.pages(from: "items")
    try await pages.fetch()
    #expect(pages.states.current.value?.hasNext == true)
    let error = await #expect(throws: ReactorError.self) { try await pages.loadNext() }
    guard case .invalidResource? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(pages.ids == [[4, 3]])
  }

  @Test func `a page whose last item is gone stays, empty`() async throws {
    let shelf = Shelf([3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    try await loaded(pages, 2)
    shelf.change { $0.items.removeAll { $0.id == 1 } }
    try await shelf.items.save([], for: "items?after=2")
    #expect(pages.ids == [[3, 2], [1]])
    try await pages.refresh()
    #expect(pages.ids == [[3, 2]])
  }

  @Test func `a page by cursor takes it from the page`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items", by: .cursor("after", next: { $0.last.map { "\($0.id)" } }))
    try await loaded(pages, 2)
    #expect(pages.ids == [[4, 3], [2, 1]])
    #expect(shelf.paths == ["items", "items?after=3"])
  }

  @Test func `a caller that is cancelled leaves at once, and the load ends with its last caller`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    try await pages.fetch()
    let gate = Gate()
    shelf.change { $0.gates["items?after=3"] = gate }
    let one = Task { try await pages.loadNext() }
    let other = Task { try await pages.loadNext() }
    try await shelf.bench.transport.waitForRequests(count: 2)
    one.cancel()
    await #expect(throws: ReactorError.self) { try await one.value }
    #expect(shelf.bench.transport.inFlight == 1)
    other.cancel()
    await #expect(throws: ReactorError.self) { try await other.value }
    try await shelf.bench.transport.waitForCancellations()
    #expect(pages.ids == [[4, 3]] && pages.states.current.value?.isLoadingNext == false)
    gate.open()
  }

  @Test func `a cancelled refresh continues for the readers of the list`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    var states = pages.states.makeAsyncIterator()
    #expect(await states.first { $0.value != nil && $0.fetchStatus == .idle } != nil)
    let gate = Gate()
    shelf.change {
      $0.items.insert(Item(id: 5), at: 0)
      $0.gates["items"] = gate
    }
    let refresh = Task { try await pages.refresh() }
    try await shelf.bench.transport.waitForRequests(count: 2)
    refresh.cancel()
    await #expect(throws: ReactorError.self) { try await refresh.value }
    gate.open()
    #expect(await states.first { $0.value?.first?.first?.id == 5 } != nil)
    #expect(shelf.bench.transport.cancellationCount == 0)
  }

  @Test func `a refresh without readers is cancelled with its caller`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    try await pages.fetch()
    let gate = Gate()
    shelf.change { $0.gates["items"] = gate }
    let refresh = Task { try await pages.refresh() }
    try await shelf.bench.transport.waitForRequests(count: 2)
    refresh.cancel()
    try await shelf.bench.transport.waitForCancellations()
    await #expect(throws: ReactorError.self) { try await refresh.value }
    gate.open()
  }

  @Test func `an unread list loses a removed entity`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    try await loaded(pages, 2)
    shelf.bench.layer.remove(Item.self, id: 3)
    #expect(try await pages.fetch().map { $0.map(\.id) } == [[4], [2, 1]])
    #expect(pages.ids == [[4], [2, 1]])
    let revision = pages.states.current.valueRevision
    #expect(try await pages.fetch().members.map(\.id) == [4, 2, 1])
    #expect(pages.states.current.valueRevision == revision)
    _ = try await shelf.items.save([Item(id: 2, text: "mine"), Item(id: 1)], for: "items?after=3")
    #expect(try await pages.fetch().members.map(\.text) == ["", "mine", ""])
  }

  @Test func `members have each id once, from the page that was requested later`() {
    var list = PageList([[Item(id: 1, text: "a"), Item(id: 2, text: "a")], [Item(id: 2, text: "b"), Item(id: 3)]])
    #expect(list.members == [Item(id: 1, text: "a"), Item(id: 2, text: "b"), Item(id: 3)])
    list = PageList([[Item(id: 1), Item(id: 1, text: "again")]])
    #expect(list.members == [Item(id: 1)])
  }
}
