public import ReactorCore

/// The states that a store may have after a test that makes its disk fail.
public struct Ledger: Sendable {
  /// The keys in use. Keys 0 and 8 belong to another scope.
  public static let numbers = 0..<10
  /// The faults that were found.
  public private(set) var faults: [String] = []
  /// The effects of saves and removals that threw. They are allowed only if synchronizing or the
  /// power fails.
  public private(set) var revived: [String] = []
  /// The number of acknowledged saves.
  public private(set) var acknowledged = 0
  /// The versions that each number may have; 0 for no record.
  private var possible: [Int: Set<Int>] = [:]
  /// The same, of saves and removals that failed since the last that did not.
  private var failed: [Int: Set<Int>] = [:]
  private var version = 0
  private let isTyped: @Sendable (any Error) -> Bool

  /// - Parameter isTyped: whether the store documents an error.
  public init(isTyped: @escaping @Sendable (any Error) -> Bool) { self.isTyped = isTyped }

  /// All that a store can do, several saves at once among it; opens it twice.
  public mutating func use(_ open: () throws -> any Persistence) async {
    if let store = opened(open) {
      for number in [0, 1, 2] { await save([number], to: store) }
      await save([3, 4, 8, 1], to: store)
      await look(at: store, 0..<4)
      await list(store)
      await remove(1, from: store)
      await save([5], to: store)
    }
    if let store = opened(open) {
      await save([2, 9], to: store)
      await removeAll(in: "user", from: store)
      await save([0], to: store)
      await look(at: store, 0..<3)
    }
  }

  /// Looks at a store whose disk fails no more: `isStrict` says whether all that was acknowledged
  /// must be there, or what is there must only be what was saved once, or nothing.
  public mutating func settle(isStrict: Bool, mayMiss: Bool = false, _ open: () throws -> any Persistence) async {
    do {
      let store = try open()
      var found: Set<RecordKey> = []
      for number in Self.numbers {
        if !isStrict { possible[number] = Set(0...version) }
        let key = WrittenRecord(number: number, version: 0).key
        do {
          let record = try await store.load(key)
          judge(record, number)
          if record != nil { found.insert(key) }
          settle(number, version(of: record, number))
        } catch  where mayMiss && error is Record.Failure {
          settle(number, 0)
          try await store.remove(key)
        }
      }
      let listed = try await store.entries(in: nil, url: nil).map(\.key)
      if Set(listed) != found || listed.count != found.count {
        faults.append("\(listed.count) are listed, \(found.count) are there")
      }
      await save([7], to: store)
      judge(try await store.load(WrittenRecord(number: 7, version: 0).key), 7)
    } catch {
      faults.append("without faults: \(error)")
    }
  }
}

extension Ledger {
  private mutating func opened(_ open: () throws -> any Persistence) -> (any Persistence)? {
    for _ in 0..<2 {
      do {
        return try open()
      } catch {
        judge(error)
      }
    }
    return nil
  }

  private mutating func save(_ numbers: [Int], to store: any Persistence) async {
    let all = numbers.map { number in
      version += 1
      return WrittenRecord(number: number, version: version)
    }
    let results = await withTaskGroup(of: (WrittenRecord, (any Error)?).self) { group in
      for written in all {
        group.addTask {
          do {
            try await store.save(written.record, for: written.key)
            return (written, nil)
          } catch {
            return (written, error)
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    for (written, error) in results {
      if let error {
        judge(error)
        failed[written.number, default: []].insert(written.version)
      } else {
        acknowledged += 1
        settle(written.number, written.version)
      }
    }
  }

  private mutating func remove(_ number: Int, from store: any Persistence) async {
    do {
      try await store.remove(WrittenRecord(number: number, version: 0).key)
      settle(number, 0)
    } catch {
      judge(error)
      failed[number, default: []].insert(0)
    }
  }

  /// A failed one may have removed a part.
  private mutating func removeAll(in scope: Scope, from store: any Persistence) async {
    let numbers = Self.numbers.filter { WrittenRecord(number: $0, version: 0).key.scope == scope }
    do {
      try await store.removeAll(in: scope)
      for number in numbers { settle(number, 0) }
    } catch {
      judge(error)
      for number in numbers { possible[number, default: [0]].insert(0) }
    }
  }

  private mutating func look(at store: any Persistence, _ numbers: Range<Int>) async {
    for number in numbers {
      do {
        judge(try await store.load(WrittenRecord(number: number, version: 0).key), number)
      } catch {
        judge(error)
      }
    }
  }

  private mutating func list(_ store: any Persistence) async {
    do {
      _ = try await store.entries(in: nil, url: nil)
    } catch {
      judge(error)
    }
  }

  /// Nothing else is possible any more.
  private mutating func settle(_ number: Int, _ version: Int) {
    possible[number] = [version]
    failed[number] = nil
  }

  private mutating func judge(_ error: any Error) {
    if !isTyped(error) { faults.append("not typed: \(error)") }
  }

  private mutating func judge(_ record: Record?, _ number: Int) {
    let version = version(of: record, number)
    let possible = possible[number, default: [0]]
    guard !possible.contains(version) else { return }
    let fault = "\(number) is of version \(version), not of \(possible.sorted())"
    guard failed[number]?.contains(version) == true else { return faults.append(fault) }
    revived.append(fault)
    self.possible[number, default: [0]].insert(version)
  }

  /// 0 for no record, -1 for a record that was never saved.
  private func version(of record: Record?, _ number: Int) -> Int {
    record.map { WrittenRecord($0, number: number)?.version ?? -1 } ?? 0
  }
}
