import CommandSupport
import Foundation
import ReactorOutbox
import ReactorTesting
import Testing

/// Each test runs over a directory and over an SQLite file.
@Suite(.timeLimit(.minutes(5))) struct `reactor outbox drain` {
  @Test(arguments: OutboxBench.kinds)
  func `sends what waits in the order of each lane, and prints how many have not ended`(kind: String) async throws {
    try await OutboxBench.run(kind, ["/a/1": .status(204), "/a/2": .status(422), "/a/3": .text("x"), "/b": .text("")]) {
      bench async throws in
      for target in ["/a/1", "/a/2", "/a/3"] { _ = try await bench.save(target, "--lane", "a") }
      _ = try await bench.save("/b", "--lane", "b")
      let result = try await bench.outbox("drain")
      #expect(result.status == 0 && result.output == "0\n")
      #expect(result.error == "reactor: 1 entry was refused; see reactor outbox list\n")
      #expect(bench.received.filter { $0 != "POST /b" } == ["POST /a/1", "POST /a/2", "POST /a/3"])
      #expect(bench.received.count == 4 && Set(bench.keys).count == 4 && !bench.keys.contains(nil))
      // A refusal has ended, holds nothing up, and stays listed.
      #expect(try await bench.list().map(\.state) == ["refused"])
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `says how many entries it has ended without an acceptance, and nothing of earlier ones`(
    kind: String
  ) async throws {
    try await OutboxBench.run(kind, ["/a": .status(422), "/b": .close]) { bench async throws in
      for _ in 0..<2 { _ = try await bench.save("/a", "--lane", "a") }
      _ = try await bench.save("/b", "--lane", "b", "--idempotency-window", "0s")
      let first = try await bench.outbox("drain")
      let text = "2 entries were refused, and the outcome of 1 entry is unknown; see reactor outbox list"
      #expect(first.status == 0 && first.output == "0\n" && first.error == "reactor: \(text)\n")
      let second = try await bench.outbox("drain")
      #expect(second.status == 0 && second.output == "0\n" && second.error == "")
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `respects Retry-After, and sends the same bytes under the same key`(kind: String) async throws {
    try await OutboxBench.run(kind) { bench async throws in
      bench.server.answer("/a", with: .status(503, headers: [.retryAfter: "1"]), .status(204))
      _ = try await bench.save("/a", "--body", "b")
      let result = try await bench.outbox("drain")
      #expect(result.status == 0 && result.output == "0\n")
      #expect(bench.received == ["POST /a", "POST /a"] && Set(bench.keys).count == 1 && bench.keys[0] != nil)
      #expect(bench.server.requests.allSatisfy { $0.body == Data("b".utf8) })
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `respects the Retry-After that an earlier process was given`(kind: String) async throws {
    try await OutboxBench.run(kind, ["/a": .status(503, headers: [.retryAfter: "3600"]), "/b": .status(204)]) {
      bench async throws in
      _ = try await bench.save("/a", "--lane", "a")
      for count in 1...2 {
        let result = try await bench.outbox("drain")
        #expect(result.status == 75 && result.output == "1\n")
        #expect(bench.received.count == count)
        let line = try #require(try await bench.list().first)
        #expect(line.state == "waiting" && line.reason == "backoff" && line.attempts == 1 && line.status == 503)
        // Another lane continues.
        _ = try await bench.save("/b", "--lane", "b")
      }
      #expect(bench.received == ["POST /a", "POST /b"])
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `sends nothing more after a 401, and the next one tries again`(kind: String) async throws {
    try await OutboxBench.run(kind) { bench async throws in
      bench.server.answer("/a", with: .status(401), .status(401), .status(204))
      bench.server.answer("/b", with: .status(204))
      _ = try await bench.save("/a")
      _ = try await bench.save("/b")
      for count in 1...2 {
        let result = try await bench.outbox("drain")
        #expect(result.status == 75 && result.output == "2\n")
        #expect(bench.received == Array(repeating: "POST /a", count: count))
        let lines = try await bench.list()
        #expect(lines.map(\.reason) == ["signIn", "turn"] && lines[0].status == 401)
      }
      #expect(try await bench.outbox("drain").output == "0\n")
      #expect(bench.received == ["POST /a", "POST /a", "POST /a", "POST /b"])
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `says what a 401 wants, and adds a header that is not saved`(kind: String) async throws {
    try await OutboxBench.run(kind) { bench async throws in
      bench.server.answer("/a", with: .status(401), .status(204))
      _ = try await bench.save("/a")
      let missing = try await bench.outbox("drain")
      #expect(missing.status == 75 && missing.error.contains("--header 'Authorization: …'"))
      let signed = try await bench.outbox("drain", "--header", "Authorization: Bearer 1")
      #expect(signed.status == 0 && signed.output == "0\n" && signed.error == "")
      #expect(bench.server.requests.map { $0["Authorization"] } == [nil, "Bearer 1"])
      for name in try FileManager.default.subpathsOfDirectory(atPath: bench.directory.path) {
        let data = FileManager.default.contents(atPath: bench.directory.appending(path: name).path)
        #expect(data?.range(of: Data("Bearer".utf8)) == nil, "\(name)")
      }
    }
  }

  @Test func `drain gives a header to only one origin, which must be named if requests to several wait`() async throws {
    try await OutboxBench.run("outbox", ["/a": .status(204)]) { bench async throws in
      let other = try MockServer.answering(["/a": .status(204)])
      defer { other.stop() }
      _ = try await bench.save("/a")
      let saved = try await Command.run(["send", other.url("/a"), "--outbox", bench.path, "--lane", "other"])
      #expect(saved.status == 0)
      let refused = try await bench.outbox("drain", "--header", "Authorization: Bearer 1")
      #expect(refused.status == 64 && refused.error.contains("--origin") && bench.received.isEmpty)
      let drained = try await bench.outbox(
        "drain", "--header", "Authorization: Bearer 1", "--origin", bench.server.url("/"))
      #expect(drained.status == 0)
      #expect(bench.server.requests.map { $0["Authorization"] } == ["Bearer 1"])
      #expect(other.requests.map { $0["Authorization"] } == [nil])
    }
  }

  @Test func `tries at once what could not be sent, however long its backoff`() async throws {
    try await OutboxBench.run("outbox") { bench async throws in
      let server = try MockServer.onOwnPort([:])
      let url = server.url("/a")
      let port = try #require(URL(string: url)?.port)
      server.stop()
      _ = try await Command.run(["send", url, "--outbox", bench.path])
      // The waits grow, and each is drawn: on a busy machine, one may be over before it is seen.
      var (attempts, isWaiting) = (0, false)
      while attempts < 4 || !isWaiting, attempts < 10 {
        #expect(try await bench.outbox("drain", "--within", "500ms").status == 75)
        attempts += 1
        let reason = try await bench.list().first?.reason
        isWaiting = attempts >= 4 && reason == "backoff"
      }
      #expect(isWaiting)
      let back = try MockServer.answering(["/a": .status(204)], port: port)
      defer { back.stop() }
      #expect(try await bench.outbox("drain", "--within", "5s").output == "0\n")
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `leaves an unknown outcome where its time is over`(kind: String) async throws {
    try await OutboxBench.run(kind) { bench async throws in
      bench.server.answer("/a", with: .silence, .status(204))
      _ = try await bench.save("/a")
      let result = try await bench.outbox("drain", "--within", "3s")
      #expect(result.status == 75 && result.output == "1\n" && result.error == "reactor: 1 entry is unfinished\n")
      #expect(try await bench.list().map(\.state) == ["unknown"])
      // Its lease has ended too, so that the next one need not wait for it.
      #expect(try await bench.outbox("drain", "--within", "10s").output == "0\n")
      #expect(bench.keys.count == 2 && bench.keys[0] == bench.keys[1])
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `leaves an unknown outcome where it is interrupted`(kind: String) async throws {
    try await OutboxBench.run(kind, ["/a": .silence]) { bench async throws in
      for target in ["/a", "/b"] { _ = try await bench.save(target) }
      try await RunningCommand.run(["outbox", "drain", "--outbox", bench.path]) { command in
        try await bench.server.waitForRequests()
        let end = try await command.end()
        #expect(end.status == 130 && end.rest == "2\n")
      }
      #expect(try await bench.list().map(\.state) == ["unknown", "waiting"])
      #expect(bench.received == ["POST /a"])
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `drain only counts if it has no time`(kind: String) async throws {
    try await OutboxBench.run(kind, ["/a": .status(204)]) { bench async throws in
      _ = try await bench.save("/a")
      let result = try await bench.outbox("drain", "--within", "0s")
      #expect(result.status == 75 && result.output == "1\n")
      #expect(bench.received.isEmpty)
    }
  }

  @Test func `a drain without a listener has sent nothing`() async throws {
    try await OutboxBench.run("outbox") { bench async throws in
      let id = try await bench.save("/a")
      bench.server.stop()
      let result = try await bench.outbox("drain", "--within", "3s")
      #expect(result.status == 75 && result.output == "1\n")
      let line = try #require(try await bench.list().first)
      #expect(line.state == "waiting" && line.reason == "backoff" && line.attempts == 0)
      #expect(try await bench.outbox("withdraw", id).status == 0)
    }
  }

  @Test func `says each step in one line of standard error, with the URL`() async throws {
    try await OutboxBench.run("outbox", ["/a": .status(204)]) { bench async throws in
      let id = try await bench.save("/a")
      let trace = try await bench.outbox("drain", "--trace").trace
      #expect(trace.first == "outbox \(id.prefix(8)), sending, attempt 1 \(bench.server.url("/a"))")
      #expect(trace.last == "outbox \(id.prefix(8)), accepted \(bench.server.url("/a"))")
    }
  }
}

@Suite(.timeLimit(.minutes(5))) struct `Processes with one outbox` {
  @Test(arguments: OutboxBench.kinds)
  func `drain it at once, and each entry is sent once, in the order of its lane`(kind: String) async throws {
    try await OutboxBench.run(kind) { bench async throws in
      let layer = try bench.layer()
      for number in 0..<30 {
        let url = try #require(URL(string: bench.server.url("/\(number)")))
        bench.server.answer("/\(number)", with: .text("\(number)"))
        _ = try await layer.submit(.init(url: url), lane: .init(rawValue: "\(number % 3)"))
      }
      try await withThrowingTaskGroup(of: Command.Result.self) { group in
        for _ in 0..<3 { group.addTask { try await bench.outbox("drain") } }
        for try await result in group { #expect(result.status == 0 && result.output == "0\n" && result.error == "") }
      }
      let numbers = bench.server.requests.compactMap { Int($0.target.dropFirst()) }
      for lane in 0..<3 { #expect(numbers.filter { $0 % 3 == lane } == Array(stride(from: lane, to: 30, by: 3))) }
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `processes with one outbox see what another one sends, and wait for it`(kind: String) async throws {
    let gate = Gate()
    try await OutboxBench.run(kind, ["/a": .status(204).held(at: gate), "/b": .status(204)]) { bench async throws in
      let id = try await bench.save("/a")
      _ = try await bench.save("/b")
      try await RunningCommand.run(["outbox", "drain", "--outbox", bench.path]) { command in
        try await bench.server.waitForRequests()
        #expect(try await bench.list().map(\.state) == ["sending", "waiting"])
        #expect(try await bench.outbox("withdraw", id).status == 65)
        // Its lane is held by the other one, which has its lease.
        let other = try await bench.outbox("drain", "--within", "3s")
        #expect(other.status == 75 && other.output == "2\n")
        #expect(bench.received == ["POST /a"])
        gate.open()
        #expect(try await command.ended().rest == "0\n")
      }
      #expect(bench.received == ["POST /a", "POST /b"])
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `processes with one outbox may add to it while it is drained`(kind: String) async throws {
    let gate = Gate()
    try await OutboxBench.run(kind, ["/a": .status(204).held(at: gate), "/b": .status(204)]) { bench async throws in
      _ = try await bench.save("/a")
      try await RunningCommand.run(["outbox", "drain", "--outbox", bench.path]) { command in
        try await bench.server.waitForRequests()
        _ = try await bench.save("/b")
        gate.open()
        let end = try await command.ended()
        #expect(end.status == 0 && end.rest == "0\n")
      }
      #expect(bench.received == ["POST /a", "POST /b"])
    }
  }

  @Test func `find the lock of a directory taken for ten seconds, and give up`() async throws {
    try await OutboxBench.run("outbox") { bench async throws in
      let id = try await bench.save("/a")
      let lock = try #require(FileHandle(forUpdatingAtPath: bench.path + "/lock"))
      #expect(flock(lock.fileDescriptor, LOCK_EX | LOCK_NB) == 0)
      try await withThrowingTaskGroup(of: Command.Result.self) { group in
        group.addTask { try await bench.send("/b") }
        group.addTask { try await bench.outbox("list") }
        group.addTask { try await bench.outbox("drain") }
        group.addTask { try await bench.outbox("withdraw", id) }
        for try await result in group {
          #expect(result.status == 74 && result.output == "" && result.error.contains("another process holds"))
        }
      }
      try lock.close()
      #expect(try await bench.list().map(\.id) == [id])
    }
  }
}
