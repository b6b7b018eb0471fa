#if Valkey
  import Foundation
  public import ReactorChangeFeed
  public import ReactorFleet

  /// A log of changes in a stream of a server that speaks RESP, such as Valkey or Redis, for the
  /// change feeds of several servers.
  ///
  /// ```swift
  /// let address = try ValkeyAddress("rediss://cache.internal:6380")
  /// let log = try ValkeyChangeLog(address, namespace: "shop")
  /// let feed = ChangeFeed(log: log)
  /// await feed.run()
  /// ```
  ///
  /// The stream belongs to one history of the server: when another one is promoted, or its data is
  /// lost, a new history begins, and each client asks for everything that it shows.
  ///
  /// It has the key `rx1:<namespace>:l` and the channel `rx1:<namespace>:lc`, and expires 30 days
  /// after the last change. Beside the permissions of a ``ValkeyStore``, a user of the server needs
  /// `+xadd +xrange +xrevrange +xtrim`, for the scripts.
  public struct ValkeyChangeLog: SharedChangeLog {
    private let commands: any ValkeyCommands
    private let (key, channel): (String, String)
    private let limit: Int
    private let scripts = LoadedScripts()

    /// The entries that one reply has at most.
    private static let batch = 100

    /// Creates a log over a client.
    ///
    /// ```swift
    /// let connection = ValkeyConnection(address)
    /// let log = try ValkeyChangeLog(connection, namespace: "shop")
    /// ```
    ///
    /// - Parameters:
    ///   - commands: The client: a ``ValkeyConnection``, which may be that of a ``ValkeyStore``, or
    ///     an adapter to another one.
    ///   - namespace: The name of the log, of 1 to 64 letters, digits, points, underscores and
    ///     hyphens. Feeds with the same namespace share their changes.
    ///   - limit: The latest changes that are kept, or some more. Default: 10,000.
    /// - Throws: `FleetError.misconfigured(_:)` for another namespace.
    public init(_ commands: any ValkeyCommands, namespace: String, limit: Int = 10_000) throws(FleetError) {
      let prefix = try ValkeyStore.prefix(namespace)
      self.commands = commands
      (key, channel) = (prefix + "l", prefix + "lc")
      self.limit = max(limit, 1)
    }

    /// Creates a log with its own ``ValkeyConnection``.
    ///
    /// - Parameters:
    ///   - address: The server.
    ///   - namespace: The name of the log, as in ``init(_:namespace:limit:)``.
    ///   - limit: The latest changes that are kept, or some more. Default: 10,000.
    public init(_ address: ValkeyAddress, namespace: String, limit: Int = 10_000) throws(FleetError) {
      try self.init(ValkeyConnection(address), namespace: namespace, limit: limit)
    }

    /// See `SharedChangeLog.append(_:)`.
    public func append(_ entry: [UInt8]) async throws {
      _ = try await run(.append, [Data("\(limit)".utf8), Data(channel.utf8), Data(entry)])
    }

    /// See `SharedChangeLog.entries(behind:)`.
    public func entries(behind number: UInt64?) async throws -> [SharedChangeEntry] {
      let start = number.map { "\($0 + 1)" } ?? "-"
      let reply = try await run(.entries, [Data(start.utf8), Data("\(Self.batch)".utf8)])
      guard let entries = reply.elements else { throw FleetError.wrongData("entries has answered \(reply)") }
      return try entries.map { try Self.entry($0) }
    }

    /// See `SharedChangeLog.listen(_:)`.
    public func listen(_ body: @escaping @Sendable () -> Void) async throws {
      try await commands.subscribe(to: [Data(channel.utf8)]) { _ in body() }
    }

    /// Reads an entry of a stream: its id and its fields.
    private static func entry(_ reply: ValkeyReply) throws -> SharedChangeEntry {
      guard let parts = reply.elements, parts.count == 2, let fields = parts[1].elements, fields.count == 6,
        let number = parts[0].text.flatMap({ UInt64($0.prefix { $0 != "-" }) }), let history = fields[1].text,
        let bytes = fields[5].bytes
      else { throw FleetError.wrongData("the log of changes has \(reply)") }
      return SharedChangeEntry(history: history, number: number, bytes: [UInt8](bytes))
    }

    /// Runs a script. A key with foreign data has no history, and is removed.
    private func run(_ script: ValkeyScript, _ arguments: [Data]) async throws -> ValkeyReply {
      let history = Data(String(UInt64.random(in: .min ... .max), radix: 36).utf8)
      do throws(FleetError) { return try await commands.run(script, scripts, key, [history] + arguments) } catch {
        guard case .wrongData = error else { throw error }
        _ = try await commands.send([Data("UNLINK".utf8), Data(key.utf8)], key: Data(key.utf8))
        return try await commands.run(script, scripts, key, [history] + arguments)
      }
    }
  }

  /// The scripts of a ``ValkeyChangeLog``.
  ///
  /// Each entry names its history, and the server on whose data it was written: a stream that
  /// another server continues may lack the last entries. A new history begins beyond every number
  /// that an earlier history can have had, by the clock in half microseconds. Its first entry says
  /// nothing, so that a feed notices it by reading.
  extension ValkeyScript {
    private static let history = """
      local key = KEYS[1]
      local function text(n) return string.format('%.0f', n) end
      local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)') or ''
      local number, history = 0, nil
      local last = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
      if last then
        number = tonumber(string.match(last[1], '^%d+'))
        if last[2][4] == server then history = last[2][2] end
      end
      local function add(entry)
        number = number + 1
        redis.call('XADD', key, text(number) .. '-0', 'h', history, 's', server, 'e', entry)
        redis.call('PEXPIRE', key, 2592000000)
      end
      if not history then
        local time = redis.call('TIME')
        number = math.max(number + 65536, time[1] * 2000000 + time[2] * 2)
        history = ARGV[1]
        add('')
      end

      """

    /// Arguments: a name for a new history, the limit, the channel, the entry.
    static let append = ValkeyScript(
      name: "append",
      text: history + """
        add(ARGV[4])
        redis.call('XTRIM', key, 'MAXLEN', '~', ARGV[2])
        redis.call('PUBLISH', ARGV[3], '')
        return text(number)
        """)

    /// Arguments: a name for a new history, the first id, the count.
    static let entries = ValkeyScript(
      name: "entries",
      text: history + """
        return redis.call('XRANGE', key, ARGV[2], '+', 'COUNT', ARGV[3])
        """)
  }
#endif
