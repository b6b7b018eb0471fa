#if Valkey
  import Foundation
  import HTTPCaching
  import ReactorFleet
  import ReactorConformance
  import ReactorTesting
  import Testing

  @testable import ReactorValkey

  @Suite(
    "The fleet's store on a server", .timeLimit(.minutes(5)),
    .enabled(if: RedisServer.isInstalled, RedisServer.isMissing))
  struct ValkeyStoreTests {
    private static let record = FleetRecordID(url: FleetURLID(text: "url"), name: "00")

    private func store(_ server: RedisServer, _ namespace: String = "fleet") throws -> (ValkeyStore, ValkeyConnection) {
      let connection = ValkeyConnection(server.address)
      return (try ValkeyStore(connection, namespace: namespace), connection)
    }

    private func ticket(_ store: ValkeyStore) async throws -> FleetTicket {
      let beginning = try await store.begin(Self.record, .ticket, lease: .seconds(1), retention: .seconds(60))
      guard case .pass(let ticket, _) = beginning else { throw FleetError.wrongData("\(beginning)") }
      return ticket
    }

    /// Returns the reply of a command with words.
    private func send(_ words: String, on connection: ValkeyConnection) async throws -> ValkeyReply {
      try await connection.send(words.split(separator: " ").map { Data($0.utf8) })
    }

    @Test func `ValkeyStore keeps the contract`() async throws {
      let server = try await RedisServer.start()
      let connection = ValkeyConnection(server.address)
      try await FleetStoreConformance { try ValkeyStore(connection, namespace: UUID().uuidString) }.run()
      await connection.close()
      await server.stop()
    }

    @Test func `a user needs the documented permissions, and no others`() async throws {
      let server = try await RedisServer.start()
      let admin = ValkeyConnection(server.address)
      let permissions =
        "ACL SETUSER reactor on >secret resetchannels resetkeys -@all ~rx1:fleet:* &rx1:fleet:* "
        + "+hello +auth +select +evalsha +eval +script|load +hmget +info +publish +subscribe +pubsub|numsub "
        + "+time +hget +hset +hdel +pttl +pexpire +unlink +get +set"
      #expect(try await send(permissions, on: admin) == .string(Data("OK".utf8)))
      var address = server.address
      (address.user, address.password) = ("reactor", "secret")
      let connection = ValkeyConnection(address)
      let store = try ValkeyStore(connection, namespace: "fleet")
      #expect(
        try await store.commit(ticket(store), .response(head: Data(), body: Data()), retention: .seconds(1)) == .kept)
      _ = try await store.fence(Self.record.url, removes: true, replaying: nil)
      _ = try await store.beat("node", nonce: 1, scopes: ["a"])
      #expect(try await store.nodes() == 0)
      // Every key of the fleet has an end.
      for key in try await send("KEYS *", on: admin).elements ?? [] {
        #expect(key.text?.hasPrefix("rx1:fleet:") == true)
        #expect(try await send("TTL \(key.text ?? "")", on: admin).number != nil)
      }
      let other = try ValkeyStore(connection, namespace: "other")
      await #expect(throws: FleetError.self) { _ = try await ticket(other) }
      await connection.close()
      await admin.close()
      await server.stop()
    }

    @Test func `a wrong password is an error of the configuration, which does not name it`() async throws {
      let server = try await RedisServer.start(["--requirepass", "right"])
      for password in [nil, "wrong-one"] {
        var address = server.address
        address.password = password
        let store = try ValkeyStore(address, namespace: "fleet")
        await #expect {
          _ = try await ticket(store)
        } throws: { error in
          guard case FleetError.misconfigured = error else { return false }
          return !"\(error)".contains("wrong-one")
        }
      }
      await server.stop()
    }

    @Test func `a server that has no scripts any more gets them again`() async throws {
      let server = try await RedisServer.start()
      let (store, connection) = try store(server)
      _ = try await ticket(store)
      _ = try await send("SCRIPT FLUSH", on: connection)
      let first = try await ticket(store)
      #expect(try await ticket(store).version > first.version)
      await connection.close()
      await server.stop()
    }

    @Test func `verify counts the records, and names the unreadable ones`() async throws {
      let server = try await RedisServer.start()
      let (store, connection) = try store(server)
      #expect(try await store.verify() == ValkeyStore.Verification())
      var tickets: [FleetTicket] = []
      for number in 0..<1_200 {
        let id = FleetRecordID(url: FleetURLID(text: "\(number)"), name: "00")
        guard
          case .pass(let ticket, _) = try await store.begin(
            id, .ticket, lease: .seconds(1), retention: .seconds(3_600))
        else { throw FleetError.wrongData("no ticket") }
        // One in four is another program's, or damaged.
        let record = Record(
          head: .init(identity: "a", status: .ok, fields: [:], requestedAt: .now, receivedAt: .now), body: Data([1]))
        let head = number % 4 == 0 ? Data([1, 2, 3]) : Data(RecordCodec.encodeHead(of: record))
        _ = try await store.commit(ticket, .response(head: head, body: record.body), retention: .seconds(3_600))
        tickets.append(ticket)
      }
      // A hash without a response is no record, and another fleet's is not read.
      _ = try await ticket(store)
      let other = try ValkeyStore(connection, namespace: "fleet2")
      _ = try await other.commit(ticket(other), .response(head: Data(), body: Data()), retention: .seconds(3_600))
      let found = try await store.verify()
      #expect(found.records == 1_200 && found.bad.count == 300)
      #expect(found.bad.allSatisfy { $0.hasPrefix("rx1:fleet:u:") && $0.contains(" 00: ") })
      await connection.close()
      await server.stop()
    }

    @Test func `a fence works on a server that is full`() async throws {
      let server = try await RedisServer.start(["--maxmemory-policy", "noeviction"])
      let (store, connection) = try store(server)
      let before = try await ticket(store)
      _ = try await send("CONFIG SET maxmemory 1", on: connection)
      await #expect {
        _ = try await ticket(store)
      } throws: {
        if case FleetError.readOnly = $0 { true } else { false }
      }
      let fence = try await store.fence(Self.record.url, removes: false, replaying: nil)
      #expect(fence > before.version)
      _ = try await send("CONFIG SET maxmemory 0", on: connection)
      #expect(try await store.commit(before, .response(head: Data(), body: Data()), retention: .seconds(1)) == .fenced)
      await connection.close()
      await server.stop()
    }

    @Test func `a frozen server fails within a second or so, and works again once it runs`() async throws {
      let server = try await RedisServer.start()
      let (store, connection) = try store(server)
      _ = try await ticket(store)
      server.send(signal: SIGSTOP)
      let start = ContinuousClock.now
      // All at once, and not one after the other.
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<20 {
          group.addTask {
            await #expect {
              _ = try await ticket(store)
            } throws: {
              if case FleetError.unavailable = $0 { true } else { false }
            }
          }
        }
      }
      #expect(ContinuousClock.now - start < .seconds(30))
      server.send(signal: SIGCONT)
      while (try? await ticket(store)) == nil { await Task.yield() }
      await connection.close()
      await server.stop()
    }

    @Test func `a client finds a server that was started again, and its feed says that it has ended`() async throws {
      let server = try await RedisServer.start()
      let (store, connection) = try store(server)
      let first = try await store.beat("node", nonce: 1, scopes: ["a"])
      let feed = Task { try await store.follow("node") { _ in } }
      while try await store.nodes() == 0 { await Task.yield() }
      await server.stop()
      await #expect(throws: FleetError.self) { try await feed.value }
      await #expect(throws: FleetError.self) { _ = try await store.beat("node", nonce: 2, scopes: []) }
      let again = try await RedisServer.start(port: server.address.port)
      var second: FleetHeartbeat?
      while second == nil {
        second = try? await store.beat("node", nonce: 3, scopes: ["a"])
        await Task.yield()
      }
      #expect(second?.store != first.store && second?.generations != first.generations)
      await connection.close()
      await again.stop()
    }

    @Test func `replies to many callers at once go to the right ones, over one connection`() async throws {
      let server = try await RedisServer.start()
      let connection = ValkeyConnection(server.address)
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<500 {
          group.addTask {
            let text = String(repeating: "\(number) ", count: number + 1)
            let reply = try? await connection.send([Data("ECHO".utf8), Data(text.utf8)])
            #expect(reply == .string(Data(text.utf8)))
          }
        }
      }
      let clients = try await send("CLIENT LIST", on: connection).text ?? ""
      #expect(clients.split(separator: "\n").count == 1)
      await connection.close()
      await server.stop()
    }
  }
#endif
