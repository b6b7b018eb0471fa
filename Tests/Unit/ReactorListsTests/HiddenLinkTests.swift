import Foundation
import HTTPTypes
import ReactorCore
import ReactorLists
import ReactorTesting
import TestSupport
import Testing

/// A server whose entity tags cover the body, and whose 304s have no `Link`.
@Suite("A list whose links a 304 hides", .timeLimit(.minutes(5)))
struct HiddenLinkTests {
  private func shelf(_ ids: [Int], count: Int) async throws -> (Shelf, Pages<[Item]>) {
    let shelf = Shelf(ids)
    shelf.change { $0.hidesLinks = true }
    let pages = shelf.items.pages(from: "items")
    for _ in 0..<count { try await pages.loadNext() }
    shelf.bench.clock.advance(by: .seconds(1))
    return (shelf, pages)
  }

  @Test func `a list whose links a 304 hides grows behind its last page after a refresh`() async throws {
    let (shelf, pages) = try await shelf([4, 3, 2, 1], count: 2)
    #expect(pages.states.current.value?.hasNext == false)
    shelf.change { $0.items.append(Item(id: 0)) }
    try await pages.refresh()
    #expect(shelf.confirmed == 1 && pages.states.current.value?.hasNext == true)
    #expect(try await pages.loadNext())
    #expect(pages.ids == [[4, 3], [2, 1], [0]])
  }

  @Test func `a list whose links a 304 hides grows from one page, also where it comes from disk`() async throws {
    let (shelf, pages) = try await shelf([2, 1], count: 1)
    shelf.change { $0.items.append(Item(id: 0)) }
    let again = shelf.items.pages(from: "items")
    for list in [pages, again] {
      try await list.refresh()
      #expect(list.states.current.value?.hasNext == true)
    }
  }

  @Test func `a list whose links a 304 hides shrinks where its later page is gone`() async throws {
    let (shelf, pages) = try await shelf([6, 5, 4, 3, 2, 1], count: 3)
    shelf.change { $0.items.removeAll { $0.id < 3 } }
    try await pages.refresh()
    #expect(pages.ids == [[6, 5], [4, 3]] && pages.states.current.error == nil)
    #expect(pages.states.current.value?.hasNext == false)
    #expect(shelf.paths.dropFirst(3) == ["items", "items?after=5", "items?after=3", "items?after=5"])
    try await pages.refresh()
    #expect(pages.ids == [[6, 5], [4, 3]])
  }

  @Test func `a list whose links a 304 hides shrinks to its first page`() async throws {
    let (shelf, pages) = try await shelf([6, 5, 4, 3, 2, 1], count: 3)
    shelf.change { $0.items.removeAll { $0.id < 5 } }
    try await pages.refresh()
    #expect(pages.ids == [[6, 5]] && pages.states.current.error == nil)
  }

  @Test func `a cursor in the body is in a 304 too, and every page is one`() async throws {
    let shelf = Shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(
      from: "items", by: .cursor("after", next: { page in page.last.flatMap { $0.id > 1 ? "\($0.id)" : nil } }))
    for _ in 0..<2 { try await pages.loadNext() }
    shelf.bench.clock.advance(by: .seconds(1))
    try await pages.refresh()
    #expect(shelf.confirmed == 2)
  }
}
