#if SQLite
  import Foundation

  /// Replacing a database: it is renamed, so that it can be examined, and a new one replaces it.
  extension SQLiteFiles {
    /// Renames the database with `-wal` and `-shm`, and removes the oldest databases that were set
    /// aside before. If its rows are adopted, it has the name ``unadoptedPath`` until they are.
    ///
    /// The caller holds the lock. After the database itself is renamed, no failure is thrown,
    /// because the caller must report the new name.
    ///
    /// - Returns: The error that the next load throws.
    func setAside(_ reason: SQLiteDamage, at date: Date) throws(SQLitePersistenceError) -> SQLitePersistenceError {
      if adopts { return .setAside(path: path, as: try setAsideForAdoption(), reason: reason) }
      let name = try freeName(at: date)
      // The database first: without it, another process would take `-wal` and `-shm` for leftovers.
      try system.rename(path, to: name)
      // Files that stay are removed before the new database is created.
      for suffix in Self.suffixes.dropFirst() { try? system.rename(path + suffix, to: name + suffix) }
      // Databases that stay are removed the next time.
      for old in ((try? setAside()) ?? []).dropLast(keptCount) { try? removeSetAside(old) }
      return .setAside(path: path, as: name, reason: reason)
    }

    /// Removes all databases that were set aside. Records that were removed from the store must not
    /// remain in them.
    func removeSetAside() throws(SQLitePersistenceError) {
      for name in try setAside() { try removeSetAside(name) }
    }

    /// Returns the paths of the databases that were set aside, oldest first.
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

    /// Returns an unused name that sorts after all others of the same second.
    private func freeName(at date: Date) throws(SQLitePersistenceError) -> String {
      let time = date.formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
      let name = "\(path).corrupt-\(time)"
      guard let last = try setAside().last(where: { $0.hasPrefix(name) }) else { return name }
      return "\(name)-\((Int(last.dropFirst(name.count + 1)) ?? 1) + 1)"
    }
  }

  /// Adopting the rows of a damaged database. Its name says that they are not adopted yet, so if
  /// that fails or the process exits at any point, the next opening finishes the job. The new
  /// database is not used before. The caller of each method holds the lock.
  extension SQLiteFiles {
    /// The name of a damaged database whose rows are not yet adopted.
    var unadoptedPath: String { path + ".damaged" }

    /// Returns a Boolean value that indicates whether there are rows to adopt.
    func hasUnadopted() throws(SQLitePersistenceError) -> Bool {
      guard adopts else { return false }
      return try system.status(unadoptedPath) != nil
    }

    fileprivate func setAsideForAdoption() throws(SQLitePersistenceError) -> String {
      if try hasUnadopted() {
        // The database at the path was created to adopt those rows, so it has no others.
        for suffix in Self.suffixes.reversed() { try system.remove(path + suffix) }
      } else {
        try system.rename(path, to: unadoptedPath)
      }
      return unadoptedPath
    }

    /// Renames `-wal` and `-shm`, after the database itself. They may hold the newest rows.
    func beginAdoption() throws(SQLitePersistenceError) {
      guard try hasUnadopted() else { return }
      for suffix in Self.suffixes.dropFirst() where try system.status(unadoptedPath + suffix) == nil {
        try system.rename(path + suffix, to: unadoptedPath + suffix)
      }
    }

    /// Gives the damaged database its final name, once its rows were adopted.
    func endAdoption(at date: Date) throws(SQLitePersistenceError) {
      let name = try freeName(at: date)
      // The database itself last: until then, its rows are adopted again.
      for suffix in Self.suffixes.reversed() { try system.rename(unadoptedPath + suffix, to: name + suffix) }
      // If a power cut undid this, rows that were removed meanwhile would be adopted again.
      try system.synchronizeDirectory((path as NSString).deletingLastPathComponent)
    }
  }
#endif
