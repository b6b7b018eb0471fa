#if Valkey
  import Foundation
  import HTTPTypes
  import ReactorChangeFeed
  import ReactorFleet
  import ReactorTesting
  import ReactorValkey
  import Testing

  @Suite(
    "A log of changes on a server", .timeLimit(.minutes(2)),
    .enabled(if: RedisServer.isInstalled, RedisServer.isMissing))
  struct ValkeyChangeLogTests {
    /// Runs `body` with a server, and a client of it.
    private static func run(_ body: (RedisServer, ValkeyConnection) async throws -> Void) async throws {
      let server = try await RedisServer.start()
      let connection = ValkeyConnection(server.address)
      let result: Result<Void, any Error>
      do { result = .success(try await body(server, connection)) } catch { result = .failure(error) }
      await connection.close()
      await server.stop()
      try result.get()
    }

    private static func append(_ texts: [String], to log: ValkeyChangeLog) async throws {
      for text in texts { try await log.append(Array(text.utf8)) }
    }

    /// Returns all entries behind a number.
    private static func entries(_ log: ValkeyChangeLog, behind number: UInt64? = nil) async throws
      -> [SharedChangeEntry]
    {
      var (entries, last) = ([SharedChangeEntry](), number)
      while true {
        let more = try await log.entries(behind: last)
        guard let end = more.last else { return entries }
        entries += more
        last = end.number
      }
    }

    private static func texts(_ entries: [SharedChangeEntry]) -> [String] {
      entries.map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    @Test func `two servers append to one history, whose numbers are consecutive`() async throws {
      try await Self.run { server, connection in
        let (one, other) = (
          try ValkeyChangeLog(connection, namespace: "shop"), try ValkeyChangeLog(server.address, namespace: "shop")
        )
        let first = try await Self.entries(one)
        #expect(first.map(\.bytes) == [[]], "a new history begins with an entry that says nothing")
        try await Self.append((0..<150).map { "a\($0)" }, to: one)
        try await Self.append(["b\0\r\n\u{FF}"], to: other)
        let all = try await Self.entries(other)
        #expect(Self.texts(all) == [""] + (0..<150).map { "a\($0)" } + ["b\0\r\n\u{FF}"])
        #expect(Set(all.map(\.history)).count == 1)
        #expect(zip(all, all.dropFirst()).allSatisfy { $1.number == $0.number + 1 })
        let latest = try await Self.entries(one, behind: all[149].number)
        #expect(Self.texts(latest) == ["a149", "b\0\r\n\u{FF}"])
        #expect(try await Self.entries(try ValkeyChangeLog(connection, namespace: "other")).count == 1)
      }
    }

    @Test func `the oldest entries are dropped, and the rest says so by its number`() async throws {
      try await Self.run { _, connection in
        let log = try ValkeyChangeLog(connection, namespace: "shop", limit: 100)
        let first = try #require(try await Self.entries(log).first)
        try await Self.append((0..<1_000).map { "\($0)" }, to: log)
        let kept = try await Self.entries(log, behind: first.number)
        #expect((100..<400).contains(kept.count))
        #expect(try #require(kept.first).number > first.number + 1)
        #expect(kept.last.map { Self.texts([$0]) } == ["999"])
      }
    }

    @Test func `what an emptied server has from then on is another history, beyond each earlier number`() async throws {
      try await Self.run { _, connection in
        let log = try ValkeyChangeLog(connection, namespace: "shop")
        try await Self.append(["1", "2", "3"], to: log)
        let before = try #require(try await Self.entries(log).last)
        _ = try await connection.send([Data("FLUSHALL".utf8)])
        try await Self.append(["4"], to: log)
        let after = try await Self.entries(log, behind: before.number)
        #expect(Self.texts(after) == ["", "4"])
        #expect(after[0].history != before.history && after[0].number > before.number + 1)
      }
    }

    @Test func `a replica that was promoted without the last entries begins another history`() async throws {
      try await Self.run { primary, connection in
        let log = try ValkeyChangeLog(connection, namespace: "shop")
        try await Self.append(["1"], to: log)
        let replica = try await RedisServer.start(["--replicaof", "127.0.0.1 \(primary.address.port)"])
        let other = ValkeyConnection(replica.address)
        func send(_ words: String) async throws -> ValkeyReply {
          try await other.send(words.split(separator: " ").map { Data($0.utf8) })
        }
        while try await send("EXISTS rx1:shop:l").number != 1 { await Task.yield() }
        #expect(try await send("REPLICAOF NO ONE").text == "OK")
        // These the replica never gets.
        try await Self.append(["2", "3"], to: log)
        let before = try #require(try await Self.entries(log).last)
        let promoted = try ValkeyChangeLog(other, namespace: "shop")
        let after = try await Self.entries(promoted, behind: before.number)
        #expect(Self.texts(after) == [""])
        #expect(after.first?.history != before.history)
        try await Self.append(["4"], to: promoted)
        #expect(Self.texts(try await Self.entries(promoted, behind: before.number)) == ["", "4"])
        await other.close()
        await replica.stop()
      }
    }

    @Test func `a key with foreign data is removed, and a user needs the documented permissions`() async throws {
      try await Self.run { server, connection in
        _ = try await connection.send(["SET", "rx1:shop:l", "foreign"].map { Data($0.utf8) })
        let permissions =
          "ACL SETUSER reactor on >secret resetchannels resetkeys -@all ~rx1:shop:* &rx1:shop:* "
          + "+hello +auth +select +evalsha +eval +script|load +hmget +info +publish +subscribe +pubsub|numsub "
          + "+time +hget +hset +hdel +pttl +pexpire +unlink +get +set +xadd +xrange +xrevrange +xtrim"
        _ = try await connection.send(permissions.split(separator: " ").map { Data($0.utf8) })
        var address = server.address
        (address.user, address.password) = ("reactor", "secret")
        let user = ValkeyConnection(address)
        let log = try ValkeyChangeLog(user, namespace: "shop")
        try await Self.append(["1"], to: log)
        #expect(Self.texts(try await Self.entries(log)) == ["", "1"])
        let ttl = try await connection.send(["TTL", "rx1:shop:l"].map { Data($0.utf8) })
        #expect(try #require(ttl.number) > 86_400)
        await user.close()
      }
      #expect(throws: FleetError.self) { try ValkeyChangeLog(ValkeyAddress(host: "x"), namespace: "a b") }
    }

    @Test func `a change of one server reaches a client of another, who continues at a third after a crash`()
      async throws
    {
      try await Self.run { server, connection in
        func feed() throws -> (ChangeFeed, Task<Void, Never>) {
          let feed = ChangeFeed(log: try ValkeyChangeLog(server.address, namespace: "shop"))
          return (feed, Task { await feed.run() })
        }
        func open(_ feed: ChangeFeed, _ id: String? = nil) async throws -> ChangeStream.Iterator {
          var request = HTTPRequest(method: .get, scheme: "http", authority: "shop", path: "/events")
          if let name = HTTPField.Name("Last-Event-ID") { request.headerFields[name] = id }
          while true {
            do throws(ChangeFeedError) { return try feed.open(request).makeAsyncIterator() } catch .unavailable {
              try await Task.sleep(for: .milliseconds(5))
            }
          }
        }
        func text(_ bytes: [UInt8]?) -> String { String(decoding: bytes ?? [], as: UTF8.self) }
        let ((one, a), (two, b)) = (try feed(), try feed())
        var client = try await open(two)
        let hello = text(await client.next())
        #expect(hello.contains("\"resumed\":false"))
        let clock = ContinuousClock()
        var longest: Duration = .zero
        var id = ""
        for number in 0..<200 {
          let start = clock.now
          one.publish([.url("/products/\(number)")])
          let told = text(await client.next())
          longest = max(longest, clock.now - start)
          #expect(told.contains("\"/products/\(number)\""))
          id = told.split(separator: "\n").first { $0.hasPrefix("id: ") }.map { String($0.dropFirst(4)) } ?? ""
        }
        print("the longest of 200 ways from one feed to a client of another: \(longest)")
        b.cancel()
        one.publish([.url("/products/missed")])
        let (three, c) = try feed()
        var back = try await open(three, id)
        #expect(text(await back.next()).contains("\"resumed\":true"))
        #expect(text(await back.next()).contains("/products/missed"))
        for task in [a, c] { task.cancel() }
        for task in [a, b, c] { await task.value }
      }
    }
  }
#endif
