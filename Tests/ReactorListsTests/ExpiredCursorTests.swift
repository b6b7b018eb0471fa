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
  func `a refresh whose later page is gone begins anew`(status: HTTPResponse.Status) async throws {
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

  @Test func `a refresh begins anew once, and then fails`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items")
    try await loaded(pages, 2)
    expire(shelf, new: nil)
    await #expect(throws: ReactorError.self) { try await pages.refresh() }
    #expect(pages.ids == [[4, 3], [2, 1]] && pages.states.current.error != nil)
    #expect(shelf.paths.dropFirst(2) == ["items", "items?after=3", "items", "items?after=3"])
  }

  @Test func `after a next page that is gone, a refresh begins anew, and the next page loads`() async throws {
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
