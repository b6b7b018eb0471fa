import Foundation
import HTTPTypes
public import ReactorCore

/// Saves records of 1 KB, each under a separate key, for a store that must stay small.
public struct Soak: Sendable {
  /// The number of repetitions: `REACTOR_SOAK`, or 5,000.
  public let count: Int

  /// - Parameter share: the part of `REACTOR_SOAK` that is saved.
  public init(share: Int = 1) { count = Chance.count("REACTOR_SOAK", default: 5_000 * share) / share }

  /// A fifth of what is saved, or a third of the least: 50 MB for 200,000.
  public var limit: Int { max(2_000_000, count * 250) }

  public struct Excess: Error, CustomStringConvertible {
    public let description: String
  }

  /// - Parameter size: of the store on disk, in bytes.
  /// - Throws: ``Excess`` where the store, or on Linux the process's memory, is larger than it may
  ///   be.
  public func run(_ store: any Persistence, largest: Int, size: () throws -> Int) async throws {
    let body = Data(repeating: 0x78, count: 1_000)
    var (early, greatest): (Int?, Int) = (nil, 0)
    for index in 0..<count {
      let key = RecordKey(method: .get, url: "https://api.example.com/items/\(index)")
      let head = Record.Head(
        identity: key.identity, status: .ok, fields: [:], requestedAt: Date(timeIntervalSinceReferenceDate: 1),
        receivedAt: Date(timeIntervalSinceReferenceDate: 2))
      try await store.save(Record(head: head, body: body), for: key)
      if index == count / 10 { early = Self.residentMemory() }
      guard index % 250 == 249 else { continue }
      let size = try size()
      greatest = max(greatest, size)
      if size > largest { throw Excess(description: "\(size) bytes after \(index + 1) saves") }
    }
    // Before the list, which takes room itself.
    let late = Self.residentMemory()
    let entries = try await store.entries(in: nil, url: nil)
    let size = entries.reduce(0) { $0 + $1.size }
    print(
      "\(count) saves under \(limit) bytes: \(greatest) on the disk at most, \(entries.count) left of \(size);",
      "memory \(early ?? 0) bytes after a tenth, \(late ?? 0) at the end")
    // An error ends the process before it has written that.
    fflush(nil)
    // As many as may be, and no more.
    guard size <= limit, size > limit / 2 else {
      throw Excess(description: "\(size) bytes in \(entries.count) entries")
    }
    guard let early, let late, late > early + (8 << 20) else { return }
    throw Excess(description: "memory grew from \(early) bytes to \(late)")
  }

  /// In bytes; `nil` where the system does not say.
  private static func residentMemory() -> Int? {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
    let words = text.split(separator: " ")
    return words.count > 1 ? Int(words[1]).map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) } : nil
  }
}
