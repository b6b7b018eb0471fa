import Foundation
import HTTPTypes
import ReactorCore
import ReactorLists
import ReactorTesting
import TestSupport
import Testing

/// A server whose cursors expire. A 304 for a page keeps the link of yesterday's response.
@Suite("A list whose cursor has expired", .timeLimit(.minutes(5)))
struct ExpiredCursorTests {
  private func loaded(_ pages: Pages<[Item]>, _ count: Int) async throws {
    for _ in 0..<count { try await pages.loadNext() }
  }

  /// Lets the cursor of the second page expire. With `new`, the first one has another, once it is
  /// asked for without validators.
  private func expire(_ shelf: Shelf, status: HTTPResponse.Status = .gone, new: String? = "items?today&after=3") {
    shelf.bench.clock.advance(by: .seconds(86_400))
    shelf.change {
      $0.failures["items?after=3"] = status
      $0.newLinks["items"] = new
    }
  }

  @Test(arguments: [HTTPResponse.Status.gone, .notFound])
  func `a refresh whose later page is gone begins again`(status: HTTPResponse.Status) async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    try await loaded(pages, 2)
    expire(shelf, status: status)
    try await pages.refresh()
    #expect(pages.ids == [[4, 3], [2, 1]] && pages.states.current.error == nil)
    #expect(shelf.paths.dropFirst(2) == ["items", "items?after=3", "items", "items?today&after=3"])
    try await pages.refresh()
    #expect(shelf.paths.count == 8)
  }

  @Test func `a linked page that is gone is dropped, and loading it throws the reason`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    try await loaded(pages, 2)
    expire(shelf, new: nil)
    try await pages.refresh()
    let list = try #require(pages.states.current.value)
    #expect(pages.ids == [[4, 3]] && pages.states.current.error == nil)
    #expect(list.hasNext && list.nextError != nil)
    #expect(shelf.paths.dropFirst(2) == ["items", "items?after=3", "items"])
    await #expect(throws: ReactorError.self) { try await pages.loadNext() }
    shelf.change { $0.failures = [:] }
    #expect(try await pages.loadNext())
    #expect(pages.ids == [[4, 3], [2, 1]] && pages.states.current.value?.nextError == nil)
  }

  @Test func `if the previous page is gone too, the list goes back to an existing one`() async throws {
    let shelf = Shelf([8, 7, 6, 5, 4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    try await loaded(pages, 4)
    shelf.bench.clock.advance(by: .seconds(86_400))
    let gone = Gate()
    shelf.change {
      $0.failures["items?after=3"] = .gone
      $0.gates["items?after=3"] = gone
      $0.newLinks["items?after=7"] = "items?today&after=5"
    }
    let refresh = Task { try await pages.refresh() }
    try await shelf.bench.transport.waitForRequests(count: 8)
    // The page before expires while the last one is asked for.
    shelf.change { $0.failures["items?after=5"] = .gone }
    gone.open()
    try await refresh.value
    #expect(pages.ids == [[8, 7], [6, 5], [4, 3]] && pages.states.current.value?.nextError != nil)
    #expect(shelf.paths.dropFirst(8) == ["items?after=5", "items?after=7", "items?today&after=5", "items?after=3"])
  }

  @Test(arguments: [HTTPResponse.Status.gone, .notFound])
  func `a polled list heals, though its first page is a 304`(status: HTTPResponse.Status) async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items", polling: .seconds(30))
    var states = pages.states.makeAsyncIterator()
    #expect(await states.first { $0.value != nil && $0.fetchStatus == .idle } != nil)
    try await pages.loadNext()
    #expect(await states.first { $0.value?.count == 2 && $0.fetchStatus == .idle } != nil)
    shelf.change {
      $0.failures["items?after=3"] = status
      $0.newLinks["items"] = "items?today&after=3"
      $0.lastAnswer = 12
    }
    shelf.bench.clock.advance(by: .seconds(30))
    #expect(await states.first { $0.fetchStatus == .idle && shelf.paths.last == "items?today&after=3" } != nil)
    #expect(pages.ids == [[4, 3], [2, 1]] && pages.states.current.error == nil)
    #expect(shelf.paths.dropFirst(2) == ["items", "items?after=3", "items", "items?today&after=3"])
  }

  @Test func `a polled list whose next page was gone loads it after the next poll`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items", polling: .seconds(30))
    var states = pages.states.makeAsyncIterator()
    #expect(await states.first { $0.value != nil && $0.fetchStatus == .idle } != nil)
    shelf.change {
      $0.failures["items?after=3"] = .gone
      $0.newLinks["items"] = "items?today&after=3"
      $0.lastAnswer = 12
    }
    await #expect(throws: ReactorError.self) { try await pages.loadNext() }
    shelf.bench.clock.advance(by: .seconds(30))
    #expect(await states.first { $0.value != nil && $0.value?.nextError == nil && shelf.paths.count == 4 } != nil)
    #expect(try await pages.loadNext())
    #expect(pages.ids == [[4, 3], [2, 1]])
  }

  @Test func `after a next page that is gone, a refresh begins again, and the next page loads`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    try await loaded(pages, 1)
    expire(shelf)
    await #expect(throws: ReactorError.self) { try await pages.loadNext() }
    try await pages.refresh()
    #expect(pages.states.current.value?.nextError == nil)
    #expect(try await pages.loadNext())
    #expect(pages.ids == [[4, 3], [2, 1]])
  }

  @Test func `a window whose first page is gone begins with the first page of the list, though that is a 304`()
    async throws
  {
    let shelf = Shelf([6, 5, 4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items", limit: 2)
    try await loaded(pages, 3)
    shelf.bench.clock.advance(by: .seconds(86_400))
    shelf.change {
      $0.failures = ["items?after=5": .gone, "items?after=3": .gone]
      $0.newLinks = ["items": "items?today&after=5", "items?today&after=5": "items?today&after=3"]
    }
    try await pages.refresh()
    #expect(pages.ids == [[6, 5], [4, 3]] && pages.states.current.error == nil)
  }
}
