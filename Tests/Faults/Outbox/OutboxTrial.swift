import Foundation
import HTTPCaching
import ReactorOutbox

/// The states that an outbox may have after all that was tried on it, in a test that makes its disk
/// fail.
struct OutboxTrial {
  private typealias State = [StoredEntry]

  /// Each of these may be the stored one. More than one after a commit that failed.
  private var states: Set<[StoredEntry]> = [[]]
  private var count = 0
  private(set) var faults: [String] = []
  private(set) var acknowledged = 0
  /// Every entry that was ever to be stored, for a disk that loses what it said to have saved.
  private var all: Set<Data> = []
  private let isTyped: (any Error) -> Bool

  init(isTyped: @escaping (any Error) -> Bool) { self.isTyped = isTyped }

  private mutating func new(id: UUID = UUID()) -> StoredEntry {
    count += 1
    let text = "\(count) " + String(repeating: "\(count % 10)", count: count % 7 * 200)
    all.insert(Data(text.utf8))
    return StoredEntry(id: id, lane: "main", bytes: Data(text.utf8))
  }

  /// Commits of each kind, on two instances, one after the other.
  mutating func use(_ open: () throws -> any OutboxStorage) async {
    for _ in 0..<2 {
      guard let storage = opened(open) else { continue }
      let (first, second, third) = (new(), new(), new())
      await commit([.add(first)], to: storage)
      await commit([.add(second), .add(third)], to: storage)
      await commit([.update(new(id: second.id))], to: storage)
      await claim(second.id, on: storage)
      await commit([.remove(first.id), .move(new(id: second.id)), .add(new())], to: storage)
      do { _ = try await storage.contents(of: .shared) } catch { judge(error) }
      await commit([.remove(third.id)], to: storage)
    }
  }

  /// Looks at an outbox whose disk fails no more.
  ///
  /// - Parameter mayLose: Pass `true` if the disk has lied. Then every entry must be whole, and no
  ///   more.
  mutating func settle(mayLose: Bool = false, _ open: () throws -> any OutboxStorage) async {
    do {
      let storage = try open()
      let contents = try await storage.contents(of: .shared)
      if !mayLose, !contents.setAside.isEmpty { faults.append("set aside: \(contents.setAside)") }
      let stored = contents.entries.map(Self.withoutNumber)
      if mayLose {
        if !stored.allSatisfy({ all.contains($0.bytes) }) { faults.append("an entry that nobody added") }
      } else if !states.contains(stored) {
        faults.append("\(Self.names(stored)) are stored, not one of \(states.map(Self.names))")
      }
      states = [stored]
      let last = new()
      await commit([.add(last)], to: storage)
      if try await storage.contents(of: .shared).entries.last?.id != last.id {
        faults.append("the next entry is not last")
      }
    } catch {
      faults.append("without faults: \(error)")
    }
  }

  private mutating func opened(_ open: () throws -> any OutboxStorage) -> (any OutboxStorage)? {
    for _ in 0..<2 {
      do { return try open() } catch { judge(error) }
    }
    return nil
  }

  private mutating func commit(_ changes: [OutboxChange], to storage: any OutboxStorage) async {
    let after = Set(states.compactMap { Self.apply(changes, to: $0) })
    do {
      _ = try await storage.commit(changes, in: .shared)
      acknowledged += 1
      states = after
    } catch {
      judge(error)
      states.formUnion(after)
    }
  }

  private mutating func claim(_ id: UUID, on storage: any OutboxStorage) async {
    do {
      let claimed = try await storage.claim(id, in: .shared, by: UUID(), now: .distantPast, until: .distantFuture)
      guard let claimed, !states.contains(where: { $0.contains(Self.withoutNumber(claimed)) }) else { return }
      faults.append("claimed \(Self.names([claimed])), of none of \(states.map(Self.names))")
    } catch {
      judge(error)
    }
  }

  private mutating func judge(_ error: any Error) {
    if !isTyped(error) { faults.append("not typed: \(error)") }
  }

  /// Returns `nil` if the store must refuse the changes.
  private static func apply(_ changes: [OutboxChange], to state: State) -> State? {
    var state = state
    for change in changes {
      switch change {
      case .add(let entry): state.append(entry)
      case .update(let entry):
        guard let index = state.firstIndex(where: { $0.id == entry.id }) else { return nil }
        state[index] = entry
      case .move(let entry):
        guard let index = state.firstIndex(where: { $0.id == entry.id }) else { return nil }
        state.remove(at: index)
        state.append(entry)
      case .remove(let id): state.removeAll { $0.id == id }
      case .identify, .require: break
      }
    }
    return state
  }

  private static func withoutNumber(_ entry: StoredEntry) -> StoredEntry {
    StoredEntry(id: entry.id, lane: entry.lane, bytes: entry.bytes)
  }

  private static func names(_ state: State) -> [String] {
    state.map { String(decoding: $0.bytes.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self) }
  }
}
