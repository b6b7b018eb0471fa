#if SQLite
  import Foundation
  import ReactorCore
  import TestSupport
  import Testing

  @testable import ReactorSQLite

  /// Three databases that are opened and used while the system fails: a full database, behind a
  /// link; a missing database in missing directories; and a damaged database.
  final class FileFaultTrial {
    /// The errors that were thrown while the system failed.
    private(set) var errors: [any Error] = []
    private var acknowledged: Set<RecordKey> = []
    private var isEmptied = false
    private var isDamageTold = false
    private let full, link, new, damaged: String
    private let keys = (0..<3).map { RecordKey.sample("\($0)") }
    private let users = RecordKey.sample("user", scope: "user")
    private let later = RecordKey.sample("later")
    private struct Lost: Error {}
    private static let damage = Data("no database, and yet somebody's".utf8)
    private static let older = Data("set aside long ago".utf8)

    init(_ directory: URL) async throws {
      func path(_ name: String) -> String { directory.appending(path: name).path() }
      (full, link, new) = (path("full.sqlite"), path("link.sqlite"), path("new/deep/new.sqlite"))
      damaged = path("damaged.sqlite")
      let persistence = try SQLitePersistence(path: full)
      for key in keys + [users] { try await persistence.save(.sample(key), for: key) }
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: full)
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: full)
      for name in [full, damaged] {
        for year in 2020...2021 { try Self.older.write(to: URL(filePath: "\(name).corrupt-\(year)0101T000000Z")) }
      }
      try Self.damage.write(to: URL(filePath: damaged))
    }

    func use(_ system: SQLiteSystem) async {
      if let store = await opened(link, system) {
        await save(later, to: store)
        await check { if try await store.load(keys[0]) != .sample(keys[0]) { throw Lost() } }
        isEmptied = await check { try await store.removeAll(in: "user") }
      }
      if let store = await opened(new, system) { await save(.sample("new"), to: store) }
      if let store = await opened(damaged, system) {
        do {
          _ = try await store.load(later)
        } catch SQLitePersistenceError.setAside {
          isDamageTold = true
        } catch {
          note(error)
        }
        await save(.sample("damaged"), to: store)
      }
    }

    /// Looks at the databases when nothing fails any more.
    ///
    /// - Returns: what should not be.
    func settled() async throws -> [String] {
      var faults = errors.filter { !($0 is SQLitePersistenceError) }.map { "untyped: \($0)" }
      let persistence = try SQLitePersistence(path: full)
      for key in keys where try await persistence.load(key) != .sample(key) { faults.append("\(key.url) is lost") }
      for (key, path) in [(later, full), (.sample("new"), new), (.sample("damaged"), damaged)] {
        let persistence = try SQLitePersistence(path: path)
        do {
          let record = try await persistence.load(key)
          if acknowledged.contains(key), record != .sample(key) { faults.append("\(key.url) was acknowledged") }
        } catch SQLitePersistenceError.setAside(path: damaged, as: _, reason: _) {
          isDamageTold = true
        }
        try await persistence.save(.sample(key), for: key)
      }
      if errors.isEmpty, !isDamageTold { faults.append("nobody was told of the damage") }
      if try !isFound(Self.damage, beside: damaged) { faults.append("what was damaged is gone") }
      if isEmptied {
        if try await persistence.load(users) != nil { faults.append("what was removed is there") }
        if try isFound(Self.older, beside: full) { faults.append("what was removed may be in what was set aside") }
      }
      let permissions = try attribute(.posixPermissions, of: URL(filePath: full)) as? Int
      if permissions != 0o600 { faults.append("others may read it") }
      return faults
    }

    private func opened(_ path: String, _ system: SQLiteSystem) async -> SQLitePersistence? {
      for _ in 0..<2 {
        do {
          return try SQLitePersistence(path: path, system: system, now: { Date() })
        } catch {
          note(error)
        }
      }
      return nil
    }

    private func save(_ key: RecordKey, to store: SQLitePersistence) async {
      if await check({ try await store.save(.sample(key), for: key) }) { acknowledged.insert(key) }
    }

    /// - Returns: whether it did not throw.
    @discardableResult private func check(_ body: () async throws -> Void) async -> Bool {
      do {
        try await body()
        return true
      } catch {
        note(error)
        return false
      }
    }

    private func note(_ error: any Error) { errors.append(error) }

    /// Returns true if a file of the database holds exactly these bytes.
    private func isFound(_ bytes: Data, beside path: String) throws -> Bool {
      let file = URL(filePath: path)
      return try files(in: file.deletingLastPathComponent()).contains { other in
        try other.lastPathComponent.hasPrefix(file.lastPathComponent) && Data(contentsOf: other) == bytes
      }
    }
  }
#endif
