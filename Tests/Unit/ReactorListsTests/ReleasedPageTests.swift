import Foundation
import ReactorCore
import ReactorLists
import ReactorTesting
import Synchronization
import TestSupport
import Testing

/// A page whose end calls a list, as a user's `deinit` may.
private final class Sheet: Decodable, Sendable {
  static let ends = AsyncStream.makeStream(of: Void.self)
  static let atEnd = Mutex<(@Sendable () -> Void)?>(nil)

  init(from decoder: any Decoder) throws { _ = try [Item](from: decoder) }

  deinit {
    Self.atEnd.withLock(\.self)?()
    Self.ends.continuation.yield()
  }
}

@Suite("Pages that a list lets go", .timeLimit(.minutes(5)))
struct ReleasedPageTests {
  @Test func `pages that a list releases may call the list as they end`() async throws {
    // Only the list holds what may not be stored.
    let shelf = Shelf(stride(from: 8, to: 0, by: -1), cacheControl: "no-store")
    let sheets: Reactor<Sheet> = shelf.bench.layer.reactor()
    let pages = sheets.pages(from: "items", limit: 2)
    Sheet.atEnd.withLock { $0 = { _ = pages.states.current } }
    defer { Sheet.atEnd.withLock { $0 = nil } }
    var ends = Sheet.ends.stream.makeAsyncIterator()
    for _ in 1...3 { try await pages.loadNext() }
    // The first page, which the limit has dropped.
    await ends.next()
    try await pages.refresh()
    for _ in 1...2 { await ends.next() }
    try await pages.loadPrevious()
    await ends.next()
    try await shelf.bench.layer.removeAll()
    #expect(pages.states.current.value == nil)
    for _ in 1...2 { await ends.next() }
  }
}
