import Foundation
import ReactorCore
import ReactorLists
import ReactorTesting
import ReactorWrites
import TestSupport
import Testing

/// As in ``UnstoredListTests``, all that is under way runs until nothing is.
@Suite("The rounds of a list", .timeLimit(.minutes(5)))
struct ListRoundTests {
  private let executor = SteppedExecutor()

  private func shelf(_ ids: some Sequence<Int>, cacheControl: String = "max-age=60") -> Shelf {
    let shelf = Shelf(ids, cacheControl: cacheControl) { [executor] in $0.taskExecutor = executor }
    shelf.change { $0.lastAnswer = 60 }
    return shelf
  }

  /// Runs an operation to its end.
  private func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    let task = Task(executorPreference: executor) { try await body() }
    executor.run()
    return try await task.value
  }

  private func opened(_ pages: Pages<[Item]>, _ count: Int) async throws -> PageStates<[Item]>.Iterator {
    let states = pages.states.makeAsyncIterator()
    executor.run()
    while pages.ids.count < count { #expect(try await run { try await pages.loadNext() }) }
    return states
  }

  @Test func `a newer answer that comes while it works shows, though the clock was set back`() async throws {
    let shelf = shelf([6, 5, 4, 3, 2, 1])
    let (items, pages) = (shelf.items, shelf.items.pages(from: "items"))
    let states = try await opened(pages, 2)
    let gate = Gate()
    shelf.change { $0.gates["items?after=3"] = gate }
    let next = Task(executorPreference: executor) { try await pages.loadNext() }
    executor.run()
    shelf.bench.clock.setWallClock(back: .seconds(3_600))
    shelf.change { $0.items.removeAll { $0.id == 3 } }
    _ = try await run { try await items.fetch("items?after=5", policy: .networkOnly) }
    gate.open()
    executor.run()
    #expect(try await next.value)
    #expect(pages.ids == [[6, 5], [4, 2], [1]])
    withExtendedLifetime(states) {}
  }

  @Test func `a follow-up that fails in another chain begins no other`() async throws {
    let shelf = shelf(stride(from: 8, to: 0, by: -1))
    let (items, pages) = (shelf.items, shelf.items.pages(from: "items"))
    let states = try await opened(pages, 3)
    let asked = shelf.paths.count
    shelf.change {
      $0.answerTime = .seconds(1)
      $0.links["items"] = "items?after=5"
      $0.failures["items?after=3"] = .internalServerError
    }
    _ = try await run { try await items.fetch("items", policy: .networkOnly) }
    #expect(Array(shelf.paths.dropFirst(asked)) == ["items", "items?after=5", "items?after=3"])
    #expect(pages.ids == [[8, 7], [6, 5], [4, 3]] && pages.states.current.error != nil)
    withExtendedLifetime(states) {}
  }

  @Test func `a page that it loads with a draft shows without it once the draft is refused`() async throws {
    let shelf = shelf([4, 3, 2, 1])
    let (items, pages) = (shelf.items, shelf.items.pages(from: "items"))
    let gate = Gate()
    shelf.bench.transport.answer("/v1/items/3", with: ScriptedTransport.Answer.response(.badRequest).held(at: gate))
    _ = try await run { try await items.fetch("items") }
    let write = Task(executorPreference: executor) {
      try await items.mutate("items", by: Resource("items/3", method: .delete)) { $0.removeAll { $0.id == 3 } }
    }
    executor.run()
    let states = try await opened(pages, 1)
    #expect(pages.ids == [[4]])
    gate.open()
    executor.run()
    _ = await write.result
    executor.run()
    #expect(pages.ids == [[4, 3]])
    withExtendedLifetime(states) {}
  }

  @Test func `the cursor of a page that it loads with a draft is the server's`() async throws {
    let shelf = shelf([5, 4, 3, 2, 1])
    let (items, gate) = (shelf.items, Gate())
    let pages = items.pages(from: "items", by: .cursor("after", next: { $0.last.map { "\($0.id)" } }))
    shelf.bench.transport.answer("/v1/items/4", with: ScriptedTransport.Answer.response(.ok).held(at: gate))
    _ = try await run { try await items.fetch("items") }
    let write = Task(executorPreference: executor) {
      try await items.mutate("items", by: Resource("items/4", method: .delete)) { $0.removeAll { $0.id == 4 } }
    }
    executor.run()
    let states = try await opened(pages, 2)
    #expect(pages.ids == [[5], [3, 2]])
    gate.open()
    executor.run()
    _ = await write.result
    withExtendedLifetime(states) {}
  }

  @Test func `a follow-up keeps the pages behind a local value`() async throws {
    let shelf = shelf([6, 5, 4, 3, 2, 1])
    let (items, pages) = (shelf.items, shelf.items.pages(from: "items", policy: .cacheOnly))
    _ = try await run { try await items.pages(from: "items").loadNext() }
    for resource: Resource in ["items?after=5", "items?after=3"] {
      _ = try await run { try await items.fetch(resource) }
    }
    let states = try await opened(pages, 3)
    try await run { try await items.save([Item(id: 4, text: "mine")], for: "items?after=5") }
    executor.run()
    #expect(pages.ids == [[6, 5], [4], [2, 1]])
    shelf.bench.clock.advance(by: .seconds(1))
    _ = try await run { try await items.fetch("items", policy: .networkOnly) }
    executor.run()
    #expect(pages.ids == [[6, 5], [4], [2, 1]])
    withExtendedLifetime(states) {}
  }
}
