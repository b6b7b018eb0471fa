#if SQLite
  public import Foundation
  public import HTTPCaching

  extension Persistence where Self == SQLitePersistence {
    /// Opens a store in the user's caches directory, for a layer. The system may empty that
    /// directory.
    ///
    /// ```swift
    /// let layer = try ModelLayer(baseURL: api, persistence: .sqlite("com.example.news"))
    /// ```
    ///
    /// The call blocks while the database is opened, as
    /// ``SQLitePersistence/init(path:limit:countLimit:synchronization:)`` does.
    ///
    /// - Parameters:
    ///   - name: The name of the file, without its extension `.sqlite`. Outside a sandbox, all
    ///     programs of a user share the caches directory, so use a unique name such as a bundle
    ///     identifier.
    ///   - directory: The directory of the file. Default: the user's caches directory, which is
    ///     `$XDG_CACHE_HOME` or `~/.cache` on Linux.
    /// - Throws: ``SQLitePersistenceError``; ``SQLitePersistenceError/invalidPath(_:)`` for a name
    ///   that is empty or contains a slash.
    public static func sqlite(
      _ name: String, in directory: URL? = nil
    ) throws(SQLitePersistenceError) -> SQLitePersistence {
      guard !name.isEmpty, !name.contains("/") else { throw .invalidPath(name) }
      let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
      guard let directory = directory ?? caches else { throw .invalidPath(name) }
      let file = directory.appending(path: "\(name).sqlite", directoryHint: .notDirectory)
      return try SQLitePersistence(path: file.path(percentEncoded: false))
    }
  }
#endif
