import CMeasuring
import Foundation
import HTTPTypes
import ReactorCore
import ReactorLists
import ReactorSQLite

/// The bytes in use while one scrolls through 10,000 items, 20 on a page, in a list that holds five
/// pages.
///
/// Every page is on disk, and memory keeps ten that are not observed. The limit is the same list
/// after its first 100 pages, when SQLite's cache is full. What grows is the way back: the address
/// of each page that was dropped, less than a kilobyte each.
enum ListMemory: Benchmark {
  static let name = "list-memory"
  static let question = "bytes in use after 10,000 items of a list that holds five pages"

  private static let pages = 500
  private static let step = 50

  static func measure(_ bench: Bench) async throws {
    guard measuring_counts_allocations() else { return print("Memory cannot be counted on this system.") }
    var curves: [[Double]] = []
    for _ in 0..<(bench.settings.rounds.lowerBound > 3 ? 5 : 2) { curves.append(try await scroll()) }
    let medians = curves[0].indices.map { place in curves.map { $0[place] }.median }
    // The points after 100 pages, and after all of them.
    let ratios = curves.map { $0[$0.count - 1] / $0[1] }
    bench.add(
      Figure(
        benchmark: name, name: "list of five pages, 10,000 items scrolled", baselineName: "after 2,000 items",
        unit: .bytes, clock: .elapsed, value: medians[medians.count - 1], baseline: medians[1],
        ratio: ratios.median, spread: Figure.Spread(low: ratios.quantile(0.25), high: ratios.quantile(0.75)),
        difference: medians[medians.count - 1] - medians[1], rounds: ratios.count, target: .ratio(1.25)))
    let points = medians.enumerated().map { place, bytes in
      "\((place + 1) * step): \(Table.quantity(bytes, .bytes))"
    }
    print("list of five pages, in use by pages scrolled: \(points.joined(separator: ", "))")
  }

  /// - Returns: the bytes in use after each ``step`` of pages.
  private static func scroll() async throws -> [Double] {
    let directory = try TemporaryDirectory()
    var configuration = ReactorConfiguration()
    configuration.memoryLimit = ReactorConfiguration.MemoryLimit(models: 10, bytes: 1 << 30)
    configuration.saving = .awaited
    let reactor = Reactor<FeedPage>(
      baseURL: StoredArticles.baseURL, transport: FeedTransport(last: pages),
      persistence: try SQLitePersistence(path: directory.url.appending(path: "feed.sqlite").path),
      configuration: configuration)
    let list = reactor.pages(from: "feed", by: .cursor("after", next: { $0.next }), limit: 5)
    measuring_begin()
    _ = try await list.fetch()
    var points: [Double] = []
    for page in 2...pages {
      guard try await list.loadNext() else { throw Unexpected(description: "the list ends at page \(page)") }
      if page.isMultiple(of: step) { points.append(Double(measuring_now().live_bytes)) }
    }
    _ = measuring_end()
    let held = list.states.current.value
    try expect(held?.count == 5 && held?.flatMap(\.items).count == 100, "five pages are held")
    return points
  }
}

private struct FeedItem: Codable, Sendable {
  var id: Int
  var title: String
  var text: String
}

private struct FeedPage: Codable, Sendable {
  var items: [FeedItem]
  var next: String?
}

/// Pages of a feed, made on the spot.
private struct FeedTransport: Transport {
  let last: Int

  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    let page = request.path.flatMap { URLComponents(string: $0)?.queryItems?.first?.value }.flatMap(Int.init) ?? 0
    let items = (0..<20).map { index in
      let id = page * 20 + index
      return FeedItem(id: id, title: "Article \(id)", text: String(repeating: "A sentence of some length. ", count: 30))
    }
    let next = page + 1 < last ? "\(page + 1)" : nil
    let data = try JSONEncoder().encode(FeedPage(items: items, next: next))
    return (HTTPResponse(status: .ok, headerFields: StoredArticles.fields(of: page)), data)
  }
}
