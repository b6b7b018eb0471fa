#if SQLite
  public import Foundation
  public import ReactorCore

  extension ModelLayer {
    /// A layer whose records are in SQLite, in the user's caches directory, which the system may empty.
    ///
    /// ```swift
    /// let layer = try ModelLayer(baseURL: api, sqlite: "com.example.news")
    /// ```
    ///
    /// It blocks while the database is opened, as ``SQLitePersistence/init(path:limit:countLimit:synchronization:)`` does.
    ///
    /// - Parameters:
    ///   - name: the database's file is called so, with `.sqlite` after it. Outside of a sandbox all programs of a user share the
    ///     directory: a bundle identifier is a name that no other has.
    ///   - directory: another place than the user's caches directory, which is `$XDG_CACHE_HOME` or `~/.cache` on Linux.
    /// - Throws: ``SQLitePersistenceError``; ``SQLitePersistenceError/invalidPath(_:)`` for a name that is empty, or a path.
    public convenience init(
      baseURL: URL, sqlite name: String, in directory: URL? = nil,
      transport: any Transport = URLSessionTransport(), reachability: any Reachability = SystemReachability(),
      scope: Scope = .shared, configuration: ReactorConfiguration = .init()
    ) throws(SQLitePersistenceError) {
      try self.init(
        backend: Backend(baseURL: baseURL, transport: transport, reachability: reachability), sqlite: name,
        in: directory, scope: scope, configuration: configuration)
    }

    /// The same over a backend with authentication or other middlewares.
    ///
    /// ```swift
    /// let layer = try ModelLayer(backend: backend, sqlite: "com.example.news", scope: Scope(user.id))
    /// ```
    ///
    /// - Throws: ``SQLitePersistenceError``; ``SQLitePersistenceError/invalidPath(_:)`` for a name that is empty, or a path.
    public convenience init(
      backend: Backend, sqlite name: String, in directory: URL? = nil, scope: Scope = .shared,
      configuration: ReactorConfiguration = .init()
    ) throws(SQLitePersistenceError) {
      guard !name.isEmpty, !name.contains("/") else { throw .invalidPath(name) }
      let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
      guard let directory = directory ?? caches else { throw .invalidPath(name) }
      let path = directory.appending(path: "\(name).sqlite", directoryHint: .notDirectory).path(percentEncoded: false)
      self.init(
        backend: backend, persistence: try SQLitePersistence(path: path), scope: scope, configuration: configuration)
    }
  }
#endif
