#if Valkey
  import Foundation
  public import ReactorFleet
  import Synchronization

  /// The store of a fleet on Valkey 7.2 or later, or on Redis 7.
  ///
  /// ```swift
  /// let store = try ValkeyStore(ValkeyAddress("redis://cache.internal"), namespace: "catalog")
  /// let fleet = Fleet(store)
  /// ```
  ///
  /// Everything of it has keys and channels that begin with `rx1:` and the namespace. Each key
  /// expires. A user of the server needs these permissions, and no others: `~rx1:<namespace>:*`,
  /// `&rx1:<namespace>:*`, and `+hello +auth +select +evalsha +eval +script|load +hmget +info
  /// +publish +subscribe +pubsub|numsub`, with `+time +hget +hset +hdel +pttl +pexpire +unlink +get
  /// +set` for the scripts. On a cluster of one node, it needs `+cluster|info`, too.
  public struct ValkeyStore: FleetStore {
    private let commands: any ValkeyCommands
    private let prefix: String
    private let scripts = LoadedScripts()

    /// Creates a store over a client.
    ///
    /// ```swift
    /// let connection = ValkeyConnection(address)
    /// let store = try ValkeyStore(connection, namespace: "catalog")
    /// ```
    ///
    /// - Parameters:
    ///   - commands: The client: a ``ValkeyConnection``, or an adapter to another one.
    ///   - namespace: The name of the fleet, of 1 to 64 letters, digits, points, underscores and
    ///     hyphens. Servers with the same namespace share their responses.
    /// - Throws: `FleetError.misconfigured(_:)` for another namespace.
    public init(_ commands: any ValkeyCommands, namespace: String) throws(FleetError) {
      prefix = try Self.prefix(namespace)
      self.commands = commands
    }

    /// Returns what the keys and channels of a namespace begin with.
    static func prefix(_ namespace: String) throws(FleetError) -> String {
      let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-".utf8)
      guard (1...64).contains(namespace.utf8.count), namespace.utf8.allSatisfy(allowed.contains) else {
        throw .misconfigured("the namespace has other characters than A-Z a-z 0-9 . _ -, or more than 64")
      }
      return "rx1:\(namespace):"
    }

    /// Creates a store with its own ``ValkeyConnection``.
    ///
    /// ```swift
    /// let address = try ValkeyAddress("rediss://cache.internal:6380")
    /// let store = try ValkeyStore(address, namespace: "catalog")
    /// ```
    ///
    /// - Parameters:
    ///   - address: The server.
    ///   - namespace: The name of the fleet, as in ``init(_:namespace:)``.
    public init(_ address: ValkeyAddress, namespace: String) throws(FleetError) {
      try self.init(ValkeyConnection(address), namespace: namespace)
    }

    private var channel: String { prefix + "c" }
    func key(of url: FleetURLID) -> String { prefix + "u:" + url.text }
    private func key(ofGeneration scope: String) -> String { prefix + "g:" + scope }
    private func channel(of node: String) -> String { prefix + "c:" + node }

    /// See `FleetStore.read(_:known:)`.
    public func read(_ record: FleetRecordID, known: FleetVersion?) async throws(FleetError) -> FleetStoredRecord {
      let key = key(of: record.url)
      let fields = ["v:", "u:", "h:"].map { $0 + record.name } + ["f"]
      var reply: ValkeyReply
      do throws(FleetError) {
        reply = try await call(["HMGET", key] + fields + (known == nil ? ["b:" + record.name] : []), key: key)
      } catch {
        // The data under that key is not a record. The next request to the server repairs it.
        guard case .wrongData = error else { throw error }
        return FleetStoredRecord()
      }
      guard var parts = reply.elements, parts.count >= 4 else { throw .wrongData("HMGET has answered \(reply)") }
      if known != nil, parts[0].number != known?.rawValue, parts[0] != .null {
        // Another version than the caller's: once more, with the body.
        reply = try await call(["HMGET", key] + fields + ["b:" + record.name], key: key)
        parts = reply.elements ?? []
        guard parts.count == 5 else { throw .wrongData("HMGET has answered \(reply)") }
      }
      let versions = FleetVersions(body: parts[0].version, confirmation: parts[1].version, fence: parts[3].version)
      guard versions.body != nil else { return FleetStoredRecord(versions: FleetVersions(fence: versions.fence)) }
      let body = known == versions.body ? nil : parts.dropFirst(4).first?.bytes
      return FleetStoredRecord(versions: versions, head: parts[2].bytes, body: body)
    }

    /// See `FleetStore.begin(_:_:lease:retention:)`.
    public func begin(
      _ record: FleetRecordID, _ wish: FleetLeaseRequest, lease: Duration, retention: Duration
    ) async throws(FleetError) -> FleetLeaseAnswer {
      let reply = try await run(
        .begin, key(of: record.url), [record.name, "\(lease.inMicroseconds)", wish.rawValue, retention.milliseconds])
      guard let parts = reply.elements, parts.count == 5, let kind = parts[0].text, let number = parts[1].number else {
        throw .wrongData("begin has answered \(reply)")
      }
      let versions = FleetVersions(body: parts[2].version, confirmation: parts[3].version, fence: parts[4].version)
      let ticket = FleetTicket(record: record, version: FleetVersion(rawValue: number))
      switch kind {
      case "granted": return .granted(ticket, versions)
      case "pass": return .pass(ticket, versions)
      case "held": return .held(.microseconds(number), versions)
      case "failed": return .failed(.microseconds(number), versions)
      default: throw .wrongData("begin has answered \(kind)")
      }
    }

    /// See `FleetStore.renew(_:lease:)`.
    public func renew(_ ticket: FleetTicket, lease: Duration) async throws(FleetError) -> Bool {
      let reply = try await run(
        .renew, key(of: ticket.record.url), [ticket.record.name, "\(ticket.version)", "\(lease.inMicroseconds)"])
      return reply == .integer(1)
    }

    /// See `FleetStore.commit(_:_:retention:)`.
    public func commit(
      _ ticket: FleetTicket, _ change: FleetChange, retention: Duration
    ) async throws(FleetError) -> FleetCommitResult {
      let (head, body, base) =
        switch change {
        case .response(let head, let body): (head, body, "")
        case .confirmation(let head, let base): (head, Data(), "\(base)")
        }
      let message = "s \(ticket.record.url.text) \(ticket.record.name) \(ticket.version)"
      let arguments = [
        ticket.record.name, "\(ticket.version)", retention.milliseconds, channel, message,
        "\(FleetHash.recordLimit)",
      ].map { Data($0.utf8) }
      let reply = try await run(.commit, key(of: ticket.record.url), arguments + [head, body, Data(base.utf8)])
      guard let end = reply.text.flatMap(FleetCommitResult.init) else {
        throw .wrongData("commit has answered \(reply)")
      }
      return end
    }

    /// See `FleetStore.release(_:_:)`.
    public func release(_ ticket: FleetTicket, _ reason: FleetRelease) async throws(FleetError) {
      let (field, time): (String, Duration) =
        switch reason {
        case .abandoned: ("", .zero)
        case .failed(let time): ("e", time)
        case .pass(let time): ("p", time)
        }
      _ = try await run(
        .release, key(of: ticket.record.url),
        [
          ticket.record.name, "\(ticket.version)", field, "\(time.inMicroseconds)", channel,
          "r \(ticket.record.url.text) \(ticket.record.name)",
        ])
    }

    /// See `FleetStore.fence(_:removes:replaying:)`.
    public func fence(
      _ url: FleetURLID, removes: Bool, replaying version: FleetVersion?
    ) async throws(FleetError) -> FleetVersion {
      let reply = try await run(
        .fence, key(of: url), [version.map { "\($0)" } ?? "", channel, "i \(url.text) ", removes ? "1" : "0"])
      guard let fence = reply.version else { throw .wrongData("fence has answered \(reply)") }
      return fence
    }

    /// See `FleetStore.generation(of:renews:)`.
    public func generation(of scope: String, renews: Bool) async throws(FleetError) -> FleetGeneration {
      let reply = try await run(
        .generation, key(ofGeneration: scope),
        [UUID().uuidString, renews ? "1" : "0", Self.generationRetention, channel, "g \(scope) "])
      guard let generation = reply.text else { throw .wrongData("generation has answered \(reply)") }
      return generation
    }

    /// See `FleetStore.beat(_:nonce:scopes:)`.
    public func beat(_ node: String, nonce: UInt64, scopes: [String]) async throws(FleetError) -> FleetHeartbeat {
      // All at once, which is one round trip.
      async let written = result { () throws(FleetError) in
        try await run(.beat, prefix + "b", ["\(nonce)", Self.beatRetention, channel(of: node)])
      }
      async let info = result { () throws(FleetError) in try await call(["INFO", "replication"], key: nil) }
      let generations = await withTaskGroup(of: (Int, Result<FleetGeneration, FleetError>).self) { group in
        for (place, scope) in scopes.enumerated() {
          group.addTask {
            (place, await result { () throws(FleetError) in try await generation(of: scope, renews: false) })
          }
        }
        return await group.reduce(into: Array(repeating: Result.success(""), count: scopes.count)) { $0[$1.0] = $1.1 }
      }
      let back = try await written.get()
      guard back.text == "\(nonce)" else { throw .wrongData("a heartbeat returned \(back)") }
      let lines = try await info.get().text?.split(whereSeparator: \.isNewline) ?? []
      guard let line = lines.first(where: { $0.hasPrefix("master_replid:") }) else {
        throw .wrongData("INFO names no master_replid")
      }
      return FleetHeartbeat(
        store: String(line.dropFirst("master_replid:".count)),
        generations: try generations.map { generation throws(FleetError) in try generation.get() })
    }

    private func result<Value: Sendable>(
      _ body: @Sendable () async throws(FleetError) -> Value
    ) async -> Result<Value, FleetError> {
      do { return .success(try await body()) } catch { return .failure(error) }
    }

    /// See `FleetStore.follow(_:_:)`.
    public func follow(
      _ node: String, _ body: @escaping @Sendable (FleetMessage) -> Void
    ) async throws(FleetError) {
      let own = Data(channel(of: node).utf8)
      try await commands.subscribe(to: [Data(channel.utf8), own]) { [channel] message in
        guard let message else { return body(.following) }
        let text = String(decoding: message.message, as: UTF8.self)
        if message.channel == own {
          if let nonce = UInt64(text) { body(.beat(nonce)) }
        } else if message.channel == Data(channel.utf8), let message = FleetMessage(text: text) {
          body(message)
        }
      }
    }

    /// See `FleetStore.nodes()`.
    public func nodes() async throws(FleetError) -> Int {
      let reply = try await call(["PUBSUB", "NUMSUB", channel], key: nil)
      guard let count = reply.elements?.last?.number else { throw .wrongData("NUMSUB has answered \(reply)") }
      return Int(clamping: count)
    }

    /// A reply has the head of a response, too, which gets a megabyte at most.
    public var largestBody: Int { max(0, commands.replyLimit - 1 << 20) }

    private static let beatRetention = Duration.seconds(60).milliseconds
    private static let generationRetention = Duration.seconds(30 * 86_400).milliseconds
  }

  extension ValkeyStore {
    func call(_ arguments: [String], key: String?) async throws(FleetError) -> ValkeyReply {
      try await call(arguments.map { Data($0.utf8) }, key: key)
    }

    /// Sends a command.
    ///
    /// - Throws: also the error that the server has answered.
    func call(_ arguments: [Data], key: String?) async throws(FleetError) -> ValkeyReply {
      let reply = try await commands.send(arguments, key: key.map { Data($0.utf8) })
      if case .error(let text) = reply { throw FleetError(server: text) }
      return reply
    }

    private func run(_ script: ValkeyScript, _ key: String, _ arguments: [String]) async throws(FleetError)
      -> ValkeyReply
    {
      try await run(script, key, arguments.map { Data($0.utf8) })
    }

    /// Runs a script. A key with foreign data has none of the fleet's, and is removed.
    private func run(_ script: ValkeyScript, _ key: String, _ arguments: [Data]) async throws(FleetError) -> ValkeyReply
    {
      do throws(FleetError) { return try await commands.run(script, scripts, key, arguments) } catch {
        guard case .wrongData = error else { throw error }
        _ = try await call(["UNLINK", key], key: key)
        return try await commands.run(script, scripts, key, arguments)
      }
    }
  }

  extension FleetMessage {
    /// Reads a message of the channel that all servers share; `nil` for one of another release.
    init?(text: String) {
      let parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
      switch (parts.first, parts.count) {
      case ("s", 4):
        guard let version = UInt64(parts[3]) else { return nil }
        self = .stored(
          FleetRecordID(url: FleetURLID(text: parts[1]), name: parts[2]), FleetVersion(rawValue: version))
      case ("r", 3): self = .released(FleetRecordID(url: FleetURLID(text: parts[1]), name: parts[2]))
      case ("i", 3):
        guard let version = UInt64(parts[2]) else { return nil }
        self = .fenced(FleetURLID(text: parts[1]), FleetVersion(rawValue: version))
      case ("g", 3): self = .renewed(scope: parts[1], parts[2])
      default: return nil
      }
    }
  }

  extension ValkeyReply {
    fileprivate var version: FleetVersion? { number.map { FleetVersion(rawValue: $0) } }
  }

  extension Duration {
    /// The duration in whole milliseconds, at least one, as text.
    fileprivate var milliseconds: String { "\(max(1, inMicroseconds / 1_000))" }
  }
#endif
