#if SQLite
  public import Foundation
  public import ReactorCore

  extension ModelLayer {
    /// Creates a layer that stores its records with ``SQLitePersistence``, in the user's caches
    /// directory. The system may empty that directory.
    ///
    /// ```swift
    /// let layer = try ModelLayer(baseURL: api, sqlite: "com.example.news")
    /// ```
    ///
    /// The call blocks while the database is opened, as
    /// ``SQLitePersistence/init(path:limit:countLimit:synchronization:)`` does.
    ///
    /// - Parameters:
    ///   - baseURL: The base of the resources' paths.
    ///   - name: The name of the file, without its extension `.sqlite`. Outside a sandbox, all
    ///     programs of a user share the caches directory, so use a unique name such as a bundle
    ///     identifier.
    ///   - directory: The directory of the file. Default: the user's caches directory, which is
    ///     `$XDG_CACHE_HOME` or `~/.cache` on Linux.
    ///   - transport: The transport of the requests. Default: `URLSessionTransport`.
    ///   - reachability: The source of connectivity. Default: `SystemReachability`.
    ///   - scope: The owner of the records. Default: `Scope.shared`.
    ///   - configuration: The configuration of the layer.
    /// - Throws: ``SQLitePersistenceError``; ``SQLitePersistenceError/invalidPath(_:)`` for a name
    ///   that is empty or contains a slash.
    public convenience init(
      baseURL: URL, sqlite name: String, in directory: URL? = nil,
      transport: any Transport = URLSessionTransport(), reachability: any Reachability = SystemReachability(),
      scope: Scope = .shared, configuration: ReactorConfiguration = .init()
    ) throws(SQLitePersistenceError) {
      try self.init(
        backend: Backend(baseURL: baseURL, transport: transport, reachability: reachability), sqlite: name,
        in: directory, scope: scope, configuration: configuration)
    }

    /// Creates a layer over a backend that stores its records with ``SQLitePersistence``. A backend
    /// may have authentication and other middlewares.
    ///
    /// ```swift
    /// let layer = try ModelLayer(
    ///   backend: backend, sqlite: "com.example.news", scope: Scope(user.id))
    /// ```
    ///
    /// - Parameters:
    ///   - backend: The base URL, the transport, and the middlewares of the requests.
    ///   - name: The name of the file, without its extension `.sqlite`.
    ///   - directory: The directory of the file. Default: the user's caches directory.
    ///   - scope: The owner of the records. Default: `Scope.shared`.
    ///   - configuration: The configuration of the layer.
    /// - Throws: ``SQLitePersistenceError``; ``SQLitePersistenceError/invalidPath(_:)`` for a name
    ///   that is empty or contains a slash.
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
