import Foundation
import ReactorCore
import ReactorSealing

/// The cost of a seal: the same fetch from disk with sealed records, beside the records in the
/// clear.
enum SealedDiskHit: Benchmark {
  static let name = "sealed-disk-hit"
  static let question = "fetch of a model that is on disk, sealed, 1 KB and 50 KB, beside the same unsealed"

  private struct Keys: SealingKeyProvider {
    private let store = SealingKey()
    private let all = SealingKey()
    func storeKey() -> SealingKey { store }
    func keys(of scope: Scope) -> SealingKeys { SealingKeys(current: all) }
  }

  static func measure(_ bench: Bench) async throws {
    for size in Size.allCases {
      let disk = try await Disk(try StoredArticles(500, size))
      let files = FilePersistence(directory: disk.directory.url.appending(path: "sealed"))
      let sealed = SealedPersistence(files, sealing: Sealing(keys: Keys()))
      try await disk.articles.save(in: sealed)
      try await bench.compare(
        "sealed disk hit with parsing, \(size.rawValue), file", to: "the same, unsealed", target: .ratio(1.3),
        job: ParsedDiskHit.fetching(disk.articles, from: sealed),
        limit: ParsedDiskHit.fetching(disk.articles, from: disk.files))
    }
  }
}
