import Foundation
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorOutbox

@Suite("Changes that arrive while others are saved", .timeLimit(.minutes(5)))
struct CommitQueueTests {
  private let store = MemoryStore()
  private let queue: CommitQueue

  init() { queue = CommitQueue(store, .shared) }

  private func addition(_ number: UInt64) -> [OutboxChange] {
    [.add(StoredEntry(id: .numbered(number), lane: "main", bytes: Data()))]
  }

  @Test func `changes that arrive during a save are saved together, each with its own numbers`() async throws {
    let next = store.commits.closed()
    let first = queue.enqueue(addition(1))
    async let saved = queue.save(first)
    try await store.commits.waitForArrival(count: next)
    let tickets = [2, 3, 4].map { queue.enqueue(addition($0)) }
    store.commits.open()
    #expect(try await saved == [1])
    var numbers: [[UInt64]] = []
    for ticket in tickets { numbers.append(try await queue.save(ticket)) }
    #expect(numbers == [[2], [3], [4]])
    #expect(store.commits.arrivalCount == next + 1)
  }

  @Test func `changes that arrive while others are saved are saved in commits of a few megabytes`() async throws {
    let next = store.commits.closed()
    let first = queue.enqueue(addition(1))
    async let saved = queue.save(first)
    try await store.commits.waitForArrival(count: next)
    let tickets = (2...33).map { number in
      queue.enqueue([.add(StoredEntry(id: .numbered(number), lane: "main", bytes: Data(count: 1 << 20)))])
    }
    store.commits.open()
    #expect(try await saved == [1])
    for (ticket, number) in zip(tickets, UInt64(2)...) { #expect(try await queue.save(ticket) == [number]) }
    // Three of them are with the framing less than four.
    #expect(store.commits.arrivalCount == next + 11)
  }

  @Test func `changes that arrive while others are saved wait for one before them that is held`() async throws {
    let held = queue.enqueue(addition(1), isHeld: true)
    let other = queue.enqueue(addition(2))
    async let saved = queue.save(other)
    for _ in 0..<100 { await Task.yield() }
    #expect(store.commits.arrivalCount == 0)
    #expect(try await queue.save(held) == [1])
    #expect(try await saved == [2])
  }

  @Test func `changes that arrive while others are saved are saved although one of them cannot be`() async throws {
    let next = store.commits.closed()
    let first = queue.enqueue(addition(1))
    async let saved = queue.save(first)
    try await store.commits.waitForArrival(count: next)
    let (twice, other) = (queue.enqueue(addition(1)), queue.enqueue(addition(2)))
    store.commits.open()
    #expect(try await saved == [1])
    await #expect(throws: OutboxStorageError.self) { try await queue.save(twice) }
    #expect(try await queue.save(other) == [2])
    #expect(try await store.contents(of: .shared).entries.map(\.id) == [.numbered(1), .numbered(2)])
  }
}
