#if SQLite
  import Foundation

  /// Setting a database aside: a new one is begun in its place, and it is kept for whoever wants to look.
  extension SQLiteFiles {
    /// How many that were set aside are kept.
    private static let keptCount = 2

    /// Renames the database, `-wal` and `-shm` with it, and removes the oldest of those that were set aside before. The
    /// lock is held. Once the database has its new name, nothing fails: it must be told.
    ///
    /// - Returns: what to tell the next `load`.
    func setAside(_ reason: SQLiteDamage, at date: Date) throws(SQLitePersistenceError) -> SQLitePersistenceError {
      let name = try freeName(at: date)
      // The database first: what another process finds without it, it takes for the rest of one that is gone.
      try system.rename(path, to: name)
      // What stays in its place is removed before the new one is made.
      for suffix in Self.suffixes.dropFirst() { try? system.rename(path + suffix, to: name + suffix) }
      // What stays is removed by the next time.
      for old in ((try? setAside()) ?? []).dropLast(Self.keptCount) { try? removeSetAside(old) }
      return .setAside(path: path, as: name, reason: reason)
    }

    /// Removes all that were set aside: what was removed from the store must not be left in them.
    func removeSetAside() throws(SQLitePersistenceError) {
      for name in try setAside() { try removeSetAside(name) }
    }

    /// Paths of those that were set aside, the oldest first.
    func setAside() throws(SQLitePersistenceError) -> [String] {
      let directory = (path as NSString).deletingLastPathComponent
      let prefix = (path as NSString).lastPathComponent + ".corrupt-"
      let bases = try system.list(directory, prefix: prefix).map { name in
        Self.suffixes.dropFirst().first(where: name.hasSuffix).map { String(name.dropLast($0.count)) } ?? name
      }
      return Set(bases).sorted { $0.compare($1, options: .numeric) == .orderedAscending }
        .map { (directory as NSString).appendingPathComponent($0) }
    }

    private func removeSetAside(_ name: String) throws(SQLitePersistenceError) {
      for suffix in Self.suffixes { try system.remove(name + suffix) }
    }

    /// A name that comes after all others of the same second.
    private func freeName(at date: Date) throws(SQLitePersistenceError) -> String {
      let time = date.formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
      let name = "\(path).corrupt-\(time)"
      guard let last = try setAside().last(where: { $0.hasPrefix(name) }) else { return name }
      return "\(name)-\((Int(last.dropFirst(name.count + 1)) ?? 1) + 1)"
    }
  }
#endif
