import Foundation
import ReactorCore

/// The cost of a model from disk: `fetch` with an empty memory and a fresh record.
///
/// The limits read the same bytes and run the same parser on them. `fetch` also makes the key,
/// begins a flight that other callers could join, checks the record, judges its freshness and puts
/// the model into memory. The cost of 1 KB is stated, too, beside the same limit in a separate
/// task, which lets a cancelled caller leave at once.
enum ParsedDiskHit: Benchmark {
  static let name = "parsed-disk-hit"
  static let question = "fetch of a model that is on disk, 1 KB and 50 KB, file and SQLite"

  static func measure(_ bench: Bench) async throws {
    for size in Size.allCases {
      let disk = try await Disk(try StoredArticles(500, size))
      let parser = Parser<[Article]>.json()
      let head = StoredArticles.rawHead.count
      try await bench.compare(
        "disk hit with parsing, \(size.rawValue), file", to: "open and read, and the same parser", target: .ratio(1.1),
        job: fetching(disk.articles, from: disk.files)
      ) { count in
        for index in 0..<count {
          let bytes = try RawFiles.load(disk.paths[index % disk.paths.count])
          blackHole(try parser.parse(bytes.dropFirst(head)))
        }
      }
      let keys = disk.articles.keys
      try await bench.compare(
        "disk hit with parsing, \(size.rawValue), SQLite", to: "a prepared statement, and the same parser",
        target: .ratio(1.1), job: fetching(disk.articles, from: disk.sqlite)
      ) { count in
        for index in 0..<count {
          let row = try disk.raw.load(keys[index % keys.count].digest)
          blackHole(try parser.parse(row?.body ?? Data()))
        }
      }
      guard size == .small else { continue }
      try await bench.compare(
        "disk hit with parsing, \(size.rawValue), file", to: "the same, in a separate task", target: nil,
        job: fetching(disk.articles, from: disk.files)
      ) { count in
        for index in 0..<count {
          let path = disk.paths[index % disk.paths.count]
          blackHole(try await Task { try parser.parse(try RawFiles.load(path).dropFirst(head)) }.value)
        }
      }
    }
  }

  static func grow(_ growth: Growth) async throws {
    try await growth.curve("disk hit with parsing, file", of: "articles", expected: 1, sizes: [1, 4, 20, 200, 2_000]) {
      size in
      let articles = try StoredArticles(20, articles: size)
      let directory = try TemporaryDirectory()
      let files = FilePersistence(directory: directory.url)
      try await articles.save(in: files)
      let work = fetching(articles, from: files)
      return { count in
        defer { withExtendedLifetime(directory) {} }
        try await work(count)
      }
    }
    // One layer that evicts each model before it is requested again, as a server does for days.
    try await growth.curve("disk hit with parsing, one layer", of: "disk hits before", sizes: [100, 1_000, 20_000]) {
      size in
      let articles = try StoredArticles(20)
      let directory = try TemporaryDirectory()
      let files = FilePersistence(directory: directory.url)
      try await articles.save(in: files)
      var configuration = ReactorConfiguration()
      configuration.memoryLimit = ReactorConfiguration.MemoryLimit(models: 10)
      let reactor = Reactor<[Article]>(
        baseURL: StoredArticles.baseURL, transport: NoTransport(), persistence: files, configuration: configuration)
      var done = 0
      func fetch(_ count: Int) async throws {
        for _ in 0..<count {
          blackHole(try await reactor.fetch(articles.resources[done % articles.resources.count]))
          done += 1
        }
      }
      try await fetch(size)
      return { count in
        defer { withExtendedLifetime(directory) {} }
        try await fetch(count)
      }
    }
  }

  /// Each pass over the resources has a layer whose memory is empty. A pass takes many turns: with
  /// a layer for each turn, which is a few fetches, making and freeing it would be half of what is
  /// measured.
  static func fetching(_ articles: StoredArticles, from persistence: any Persistence) -> Work {
    var (reactor, place) = (emptyReactor(persistence), 0)
    return { count in
      for _ in 0..<count {
        if place == articles.resources.count { (reactor, place) = (emptyReactor(persistence), 0) }
        blackHole(try await reactor.fetch(articles.resources[place]))
        place += 1
      }
    }
  }

  static func emptyReactor(_ persistence: any Persistence) -> Reactor<[Article]> {
    Reactor(baseURL: StoredArticles.baseURL, transport: NoTransport(), persistence: persistence)
  }
}
