#if Valkey
  import Foundation
  import HTTPCaching
  import ReactorFleet
  import ReactorTesting
  import TestSupport
  import Testing

  @testable import ReactorValkey

  /// Servers that answer, and cannot serve a fleet.
  @Suite(
    "A server that does not suit a fleet", .timeLimit(.minutes(5)),
    .enabled(if: RedisServer.isInstalled, RedisServer.isMissing))
  struct UnfitServerTests {
    private static let record = FleetRecordID(url: FleetURLID(text: "url"), name: "00")

    private func send(_ words: String, on connection: ValkeyConnection) async throws -> ValkeyReply {
      try await connection.send(words.split(separator: " ").map { Data($0.utf8) })
    }

    /// Returns the error of a beat; `nil` if the server takes it.
    private func beat(_ store: ValkeyStore) async -> FleetError? {
      do throws(FleetError) {
        _ = try await store.beat("node", nonce: 1, scopes: ["a"])
        return nil
      } catch { return error }
    }

    private func commit(_ body: Data, _ name: String, _ store: ValkeyStore) async throws {
      let id = FleetRecordID(url: Self.record.url, name: name)
      guard case .pass(let ticket, _) = try await store.begin(id, .ticket, lease: .seconds(1), retention: .seconds(60))
      else { throw FleetError.wrongData("no ticket") }
      let record = Record(
        head: .init(identity: "a", status: .ok, fields: [:], requestedAt: .now, receivedAt: .now), body: body)
      let head = Data(RecordCodec.encodeHead(of: record))
      #expect(try await store.commit(ticket, .response(head: head, body: body), retention: .seconds(60)) == .kept)
    }

    @Test(arguments: [
      (["--replicaof", "127.0.0.1 1"], "READONLY"), (["--min-replicas-to-write", "1"], "NOREPLICAS"),
      (["--maxmemory", "1", "--maxmemory-policy", "noeviction"], "OOM"),
      (["--rename-command", "EVAL", "X1", "--rename-command", "EVALSHA", "X2"], "ERR unknown command"),
      (["--rename-command", "INFO", "X1"], "ERR unknown command"),
    ])
    func `a beat is a write, which it refuses with its reason`(options: [String], reason: String) async throws {
      let server = try await RedisServer.start(options)
      let connection = ValkeyConnection(server.address)
      let store = try ValkeyStore(connection, namespace: "fleet")
      let error = await beat(store)
      #expect(error?.reason.hasPrefix(reason) == true, "\(String(describing: error))")
      await connection.close()
      await server.stop()
    }

    @Test func `a primary that becomes a replica is left, and the name is looked up again`() async throws {
      let server = try await RedisServer.start()
      let connection = ValkeyConnection(server.address)
      let store = try ValkeyStore(connection, namespace: "fleet")
      #expect(await beat(store) == nil)
      let old = try await send("CLIENT ID", on: connection)
      _ = try await send("REPLICAOF 127.0.0.1 1", on: connection)
      guard case .readOnly? = await beat(store) else { return #expect(Bool(false), "a replica takes a beat") }
      var new: ValkeyReply?
      while new == nil {
        new = try? await send("CLIENT ID", on: connection)
        await Task.yield()
      }
      #expect(new != old)
      await connection.close()
      await server.stop()
    }

    @Test func `following that is refused is an error, and its permission is enough for the next time`() async throws {
      let server = try await RedisServer.start()
      let admin = ValkeyConnection(server.address)
      _ = try await send("ACL SETUSER reactor on >secret ~* &* +@all -subscribe", on: admin)
      var address = server.address
      (address.user, address.password) = ("reactor", "secret")
      let connection = ValkeyConnection(address)
      let store = try ValkeyStore(connection, namespace: "fleet")
      await #expect {
        try await store.follow("node") { _ in }
      } throws: {
        if case FleetError.misconfigured(let reason) = $0 { reason.hasPrefix("NOPERM") } else { false }
      }
      _ = try await send("ACL SETUSER reactor +subscribe", on: admin)
      let isFollowing = Gate()
      let feed = Task { try? await store.follow("node") { if $0 == .following { isFollowing.open() } } }
      try await isFollowing.wait()
      feed.cancel()
      await feed.value
      for connection in [connection, admin] { await connection.close() }
      await server.stop()
    }

    @Test func `too many clients are a failure that passes`() async throws {
      let server = try await RedisServer.start(["--maxclients", "1"])
      let first = ValkeyConnection(server.address)
      _ = try await send("PING", on: first)
      let second = ValkeyConnection(server.address)
      await #expect {
        _ = try await send("PING", on: second)
      } throws: {
        if case FleetError.unavailable(let reason) = $0 { reason.contains("max number of clients") } else { false }
      }
      for connection in [first, second] { await connection.close() }
      await server.stop()
    }

    @Test func `keys of another type are repaired by the next request, and named by verify`() async throws {
      let server = try await RedisServer.start()
      let connection = ValkeyConnection(server.address)
      let store = try ValkeyStore(connection, namespace: "fleet")
      try await commit(Data("b".utf8), "00", ValkeyStore(connection, namespace: "fleet"))
      _ = try await send("SET rx1:fleet:u:url 1", on: connection)
      _ = try await send("RPUSH rx1:fleet:g:a 1", on: connection)
      _ = try await send("RPUSH rx1:fleet:u:other 1", on: connection)
      let found = try await store.verify()
      #expect(found.bad.count == 2 && found.bad.contains { $0.hasPrefix("rx1:fleet:u:url: WRONGTYPE") })
      #expect(try await store.read(Self.record, known: nil) == FleetStoredRecord())
      try await commit(Data("c".utf8), "00", store)
      #expect(try await store.read(Self.record, known: nil).body == Data("c".utf8))
      _ = try await store.fence(FleetURLID(text: "other"), removes: false, replaying: nil)
      #expect(await beat(store) == nil)
      #expect(try await store.verify() == ValkeyStore.Verification(records: 1))
      await connection.close()
      await server.stop()
    }

    @Test func `verify reads a URL that has all the variants of the greatest size that it may have`() async throws {
      let server = try await RedisServer.start()
      let connection = ValkeyConnection(server.address)
      let store = try ValkeyStore(connection, namespace: "fleet")
      let body = Data(repeating: 7, count: 1 << 20)
      for number in 10..<30 { try await commit(body, number == 10 ? "00" : "00.\(number)", store) }
      let found = try await store.verify()
      #expect(found == ValkeyStore.Verification(records: 16))
      // By the first of them, the others are found.
      #expect(try await store.read(Self.record, known: nil).body == body)
      await connection.close()
      await server.stop()
    }

    @Test(arguments: [
      ([], []), (["--replicaof", "127.0.0.1 1"], ["a replica"]),
      (["--maxmemory", "100mb"], ["noeviction"]), (["--maxmemory", "1"], ["is full", "OOM"]),
      (["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-random"], ["at random"]),
      (["--maxmemory", "100mb", "--maxmemory-policy", "volatile-ttl"], []),
      (["--rename-command", "EVAL", "X1", "--rename-command", "EVALSHA", "X2"], ["unknown command"]),
      (["--rename-command", "PUBSUB", "X1"], ["unknown command"]),
    ])
    func `verify names what keeps a fleet from working well`(options: [String], problems: [String]) async throws {
      let server = try await RedisServer.start(options)
      let connection = ValkeyConnection(server.address)
      let found = try await ValkeyStore(connection, namespace: "fleet").verify().problems
      #expect(found.count == problems.count, "\(found)")
      for (problem, word) in zip(found, problems) { #expect(problem.contains(word), "\(problem)") }
      await connection.close()
      await server.stop()
    }

    @Test func `old versions are named, and those of Valkey by its own number`() {
      func problems(_ text: String) -> [String] { ServerInfo(text).problems }
      #expect(problems("redis_version:6.2.14\r\nrole:master\r\n").first?.contains("Redis 6.2.14") == true)
      #expect(problems("redis_version:7.0.15\r\n").isEmpty)
      #expect(problems("redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.8\r\n").isEmpty)
      #expect(problems("redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:7.1.0\r\n").count == 1)
    }

    @Test func `one node of a cluster is enough if it has all keys`() async throws {
      let server = try await RedisServer.start(["--cluster-enabled", "yes"])
      let connection = ValkeyConnection(server.address)
      _ = try await send("CLUSTER ADDSLOTSRANGE 0 16383", on: connection)
      let store = try ValkeyStore(connection, namespace: "fleet")
      while case .unavailable? = await beat(store) { await Task.yield() }
      #expect(await beat(store) == nil)
      await connection.close()
      await server.stop()
    }

    @Test func `one of two nodes of a cluster is refused`() async throws {
      let (one, other) = (
        try await RedisServer.start(["--cluster-enabled", "yes"]),
        try await RedisServer.start(["--cluster-enabled", "yes"])
      )
      let (first, second) = (ValkeyConnection(one.address), ValkeyConnection(other.address))
      _ = try await send("CLUSTER ADDSLOTSRANGE 0 8191", on: first)
      _ = try await send("CLUSTER ADDSLOTSRANGE 8192 16383", on: second)
      _ = try await send("CLUSTER MEET 127.0.0.1 \(other.address.port)", on: first)
      var isWhole = false
      while !isWhole {
        isWhole = try await send("CLUSTER INFO", on: first).text?.contains("cluster_size:2") == true
        try await Task.sleep(for: .milliseconds(20))
      }
      let third = ValkeyConnection(one.address)
      guard case .misconfigured(let reason)? = await beat(try ValkeyStore(third, namespace: "fleet")) else {
        return #expect(Bool(false), "a node with half of the keys is taken")
      }
      #expect(reason.contains("2 nodes"))
      for connection in [first, second, third] { await connection.close() }
      for server in [one, other] { await server.stop() }
    }

    @Test func `a fleet whose bodies are larger than a reply is refused`() async throws {
      let store = try ValkeyStore(
        ValkeyConnection(ValkeyAddress(host: "127.0.0.1", port: 1), replyLimit: 4 << 20), namespace: "fleet")
      #expect(store.largestBody == 3 << 20)
      var configuration = FleetConfiguration()
      configuration.largestBody = 4 << 20
      let fleet = Fleet(store, configuration: configuration)
      await #expect(throws: FleetError.self) { try await fleet.run() }
    }
  }
#endif
