import Foundation
import ReactorCore
import ReactorLists
import ReactorTesting
import TestSupport
import Testing

/// Each test runs all that is under way until nothing is. Requests are counted: a loop that causes
/// its own next round makes as many as the server answers.
@Suite("A list whose pages may not be stored", .timeLimit(.minutes(5)))
struct UnstoredListTests {
  private let executor = SteppedExecutor()

  private func shelf(_ ids: some Sequence<Int>, cacheControl: String = "no-store") -> Shelf {
    let shelf = Shelf(ids, cacheControl: cacheControl) { [executor] in $0.taskExecutor = executor }
    shelf.change {
      $0.lastAnswer = 60
      $0.answerTime = .milliseconds(1)
    }
    return shelf
  }

  /// Reads the states of a list, and loads as many pages.
  private func opened(_ pages: Pages<[Item]>, _ count: Int) async throws -> PageStates<[Item]>.Iterator {
    let states = pages.states.makeAsyncIterator()
    executor.run()
    while pages.ids.count < count {
      let next = Task(executorPreference: executor) { try await pages.loadNext() }
      executor.run()
      #expect(try await next.value)
    }
    return states
  }

  @Test func `two of one resource ask once each, and show the later answer`() async throws {
    let shelf = shelf([2, 1])
    let lists = [shelf.items.pages(from: "items"), shelf.items.pages(from: "items")]
    let one = try await opened(lists[0], 1)
    shelf.change { $0.items[0].text = "new" }
    let other = try await opened(lists[1], 1)
    #expect(shelf.paths.count == 2)
    #expect(lists.allSatisfy { $0.states.current.value?.first?.first?.text == "new" })
    withExtendedLifetime((one, other)) {}
  }

  @Test func `two lists each request the page behind an invalidated first page once`() async throws {
    let shelf = shelf([4, 3, 2, 1], cacheControl: "max-age=60")
    shelf.change { $0.cacheControl["items?after=3"] = "no-store" }
    let lists = [shelf.items.pages(from: "items"), shelf.items.pages(from: "items")]
    let one = try await opened(lists[0], 2)
    let other = try await opened(lists[1], 2)
    let asked = shelf.paths.count
    shelf.change { $0.items[3].text = "new" }
    await shelf.items.invalidate("items")
    executor.run()
    #expect(shelf.paths.dropFirst(asked).count { $0 == "items" } == 1)
    #expect((1...2).contains(shelf.paths.dropFirst(asked).count { $0 == "items?after=3" }))
    #expect(lists.allSatisfy { $0.states.current.value?.last?.last?.text == "new" })
    withExtendedLifetime((one, other)) {}
  }

  @Test func `each poll asks once for each of its pages`() async throws {
    let shelf = shelf([4, 3, 2, 1])
    let pages = shelf.items.pages(from: "items", polling: .seconds(10))
    let states = try await opened(pages, 2)
    let asked = shelf.paths.count
    for _ in 1...6 {
      shelf.bench.clock.advance(by: .seconds(10))
      executor.run()
    }
    #expect(shelf.paths.dropFirst(asked).count { $0 == "items" } == 6)
    #expect(shelf.paths.dropFirst(asked).count { $0 == "items?after=3" } == 6)
    withExtendedLifetime(states) {}
  }

  @Test func `a first page that another caller fetches after a removal shows without another request`() async throws {
    let shelf = shelf([2, 1])
    let pages = shelf.items.pages(from: "items")
    let states = try await opened(pages, 1)
    try await shelf.items.remove("items")
    executor.run()
    #expect(pages.ids == [])
    let asked = shelf.paths.count
    let fetch = Task(executorPreference: executor) { [items = shelf.items] in try await items.fetch("items") }
    executor.run()
    _ = try await fetch.value
    #expect(pages.ids == [[2, 1]] && pages.states.current.error == nil && shelf.paths.count == asked + 1)
    withExtendedLifetime(states) {}
  }
}
