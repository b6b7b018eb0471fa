import Foundation
import HTTPCachingProxy
import HTTPTypes
import ReactorTesting
import Synchronization
import Testing
import Wire

@testable import reactor

@Suite(.timeLimit(.minutes(5))) struct `Equal requests at a proxy` {
  private static let field = "Cache-Status"

  /// An origin that counts its answers, and holds them.
  private static func script(_ fields: String, held gate: Gate) -> MockServer.Handler {
    let count = Mutex(0)
    return { _ in
      let number = count.withLock {
        $0 += 1
        return $0
      }
      return .raw("HTTP/1.1 200 OK\r\n\(fields)Content-Length: \("\(number)".utf8.count)\r\n\r\n\(number)").held(
        at: gate)
    }
  }

  /// The answers to equal requests that were all under way at once.
  private func answers(
    to count: Int, waiting: Int, fields: String, request: String = "GET /a"
  ) async throws -> (messages: [WireMessage], sent: Int) {
    let gate = Gate()
    var (messages, sent): ([WireMessage], Int) = ([], 0)
    try await ProxyBench.run(statusName: "p", script: Self.script(fields, held: gate)) { bench in
      try await withThrowingTaskGroup(of: WireMessage.self) { group in
        for _ in 0..<count { group.addTask { try await bench.get(request) } }
        await bench.waitForCollapsed(waiting)
        try await bench.origin.waitForRequests(count: count - waiting)
        gate.open()
        for try await message in group { messages.append(message) }
      }
      sent = bench.origin.requests.count
      #expect(bench.proxy.collapsing.waiting == 0)
    }
    return (messages, sent)
  }

  @Test func `equal requests at a proxy are one request, whose answer all get`() async throws {
    let (messages, sent) = try await answers(to: 64, waiting: 63, fields: "Cache-Control: max-age=60\r\n")
    #expect(sent == 1)
    #expect(messages.allSatisfy { $0.status == 200 && $0.body == "1" })
    let handled = messages.compactMap { $0[Self.field] }
    #expect(handled.count { $0 == "p; fwd=uri-miss; fwd-status=200; stored" } == 1)
    #expect(handled.count { $0 == "p; fwd=uri-miss; collapsed" } == 63)
  }

  @Test func `are all sent, at once, where the answer of one may not be stored`() async throws {
    let gate = Gate()
    try await ProxyBench.run(statusName: "p", script: Self.script("Cache-Control: no-store\r\n", held: gate)) { bench in
      try await withThrowingTaskGroup(of: WireMessage.self) { group in
        for _ in 0..<8 { group.addTask { try await bench.get() } }
        await bench.waitForCollapsed(7)
        gate.open()
        var bodies: Set<String> = []
        for try await message in group { bodies.insert(message.body) }
        #expect(bodies.count == 8)
      }
      // From now on, none waits for another.
      let before = bench.origin.requests.count
      try await withThrowingTaskGroup(of: WireMessage.self) { group in
        for _ in 0..<4 { group.addTask { try await bench.get() } }
        try await bench.origin.waitForRequests(count: before + 4)
        for try await message in group { #expect(message[Self.field] == "p; fwd=uri-miss; fwd-status=200") }
      }
    }
  }

  @Test(arguments: ["GET /a\nCache-Control: no-store", "GET /a\nRange: bytes=0-1", "HEAD /a", "POST /a"])
  func `are all sent where one requests the server itself, or for a part`(request: String) async throws {
    let (messages, sent) = try await answers(
      to: 3, waiting: 0, fields: "Cache-Control: max-age=60\r\n", request: request)
    #expect(sent == 3)
    #expect(messages.count == 3)
  }

  @Test func `equal requests at a proxy fail together where the server gives no answer`() async throws {
    let gate = Gate()
    try await ProxyBench.run(statusName: "p", script: { _ in .raw("").held(at: gate) }) { bench in
      try await withThrowingTaskGroup(of: WireMessage.self) { group in
        for _ in 0..<8 { group.addTask { try await bench.get() } }
        await bench.waitForCollapsed(7)
        gate.open()
        var handled: [String] = []
        for try await message in group {
          #expect(message.status == 502)
          handled.append(message[Self.field] ?? "")
        }
        #expect(handled.sorted() == ["p; fwd=uri-miss"] + Array(repeating: "p; fwd=uri-miss; collapsed", count: 7))
      }
      #expect(bench.origin.requests.count == 1)
    }
  }

  @Test func `equal requests at a proxy are sent by another one when the client of the first hangs up`() async throws {
    let gate = Gate()
    try await ProxyBench.run(script: Self.script("Cache-Control: max-age=60\r\n", held: gate)) { bench in
      let client = try await WireClient.connect(port: bench.server.port)
      try await client.send("GET /a HTTP/1.1\r\nHost: p\r\n\r\n")
      try await bench.origin.waitForRequests()
      try await withThrowingTaskGroup(of: WireMessage.self) { group in
        for _ in 0..<4 { group.addTask { try await bench.get() } }
        await bench.waitForCollapsed(4)
        try await client.reset()
        try await bench.origin.waitForRequests(count: 2)
        await bench.waitForCollapsed(3)
        gate.open()
        for try await message in group { #expect(message.body == "2") }
      }
      #expect(bench.origin.requests.count == 2)
    }
  }

  @Test func `equal requests at a proxy are sent where the answer varies, and waited without success`() async throws {
    let gate = Gate()
    let script = Self.script("Cache-Control: max-age=60\r\nVary: Accept\r\n", held: gate)
    try await ProxyBench.run(script: script) { bench in
      try await withThrowingTaskGroup(of: WireMessage.self) { group in
        group.addTask { try await bench.get("GET /a\nAccept: a") }
        try await bench.origin.waitForRequests()
        group.addTask { try await bench.get("GET /a\nAccept: b") }
        group.addTask { try await bench.get("GET /a\nAccept: a") }
        await bench.waitForCollapsed(2)
        gate.open()
        var bodies: [String] = []
        for try await message in group { bodies.append(message.body) }
        #expect(bodies.sorted() == ["1", "1", "2"])
      }
    }
  }

  @Test func `equal requests at a proxy do not wait for one from before a change of their URL`() async throws {
    let gate = Gate()
    let count = Mutex(0)
    let script: MockServer.Handler = { request in
      if request.method == "PUT" { return .raw("HTTP/1.1 204 No Content\r\n\r\n") }
      let number = count.withLock {
        $0 += 1
        return $0
      }
      let answer = MockServer.Response.raw(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 1\r\n\r\n\(number)")
      return number == 1 ? answer.held(at: gate) : answer
    }
    try await ProxyBench.run(statusName: "p", script: script) { bench in
      async let old = bench.get()
      try await bench.origin.waitForRequests(count: 1)
      #expect(try await bench.get("PUT /a").status == 204)
      let new = try await bench.get()
      #expect(new.body == "2" && new[Self.field] == "p; fwd=uri-miss; fwd-status=200; stored")
      let last = try await bench.get()
      #expect(last.body == "2" && last[Self.field] == "p; hit; ttl=60")
      gate.open()
      let first = try await old
      #expect(first.body == "1" && first[Self.field] == "p; fwd=uri-miss; fwd-status=200")
      #expect(try await bench.get().body == "2")
    }
  }

  @Test func `equal requests wait for each other again after a change made its response unstorable`() async {
    let requests = CollapsedRequests()
    let isOvertaken = Mutex(false)
    let start = { await requests.join("a", mayLead: true, isOvertaken: { isOvertaken.withLock { $0 } }) }
    guard case .lead(let old) = await start() else { return #expect(Bool(false)) }
    isOvertaken.withLock { $0 = true }
    guard case .lead(let new) = await requests.join("a", mayLead: true) else { return #expect(Bool(false)) }
    requests.end(old, "a", .answered(isStored: false))
    requests.end(new, "a", .answered(isStored: true))
    guard case .lead = await requests.join("a", mayLead: true) else { return #expect(Bool(false)) }
  }

  @Test func `equal requests at a proxy wait again after two minutes, though an answer could not be stored`() async {
    let time = Mutex(ContinuousClock.now)
    let requests = CollapsedRequests { time.withLock { $0 } }
    guard case .lead(let flight) = await requests.join("a", mayLead: true) else { return #expect(Bool(false)) }
    requests.end(flight, "a", .answered(isStored: false))
    guard case .alone = await requests.join("a", mayLead: true) else { return #expect(Bool(false)) }
    time.withLock { $0 += .seconds(121) }
    guard case .alone = await requests.join("a", mayLead: false) else { return #expect(Bool(false)) }
    guard case .lead = await requests.join("a", mayLead: true) else { return #expect(Bool(false)) }
    #expect(requests.waiting == 0)
  }
}

@Suite(.timeLimit(.minutes(5))) struct `A proxy for several users` {
  @Test func `a user never gets another user's response`() async throws {
    let script: MockServer.Handler = { request in
      let user = WireMessage(request)["Authorization"] ?? "nobody"
      let control = request.target == "/open" ? "public, max-age=60" : "max-age=60"
      return .raw(
        "HTTP/1.1 200 OK\r\nCache-Control: \(control)\r\nSet-Cookie: a=\(user)\r\nContent-Length: \(user.utf8.count)\r\n\r\n"
          + user)
    }
    try await ProxyBench.run(rules: .shared(), script: script) { bench in
      let ann = try await bench.get("GET /own\nAuthorization: ann")
      let bob = try await bench.get("GET /own\nAuthorization: bob")
      #expect([ann.body, bob.body] == ["ann", "bob"])
      let first = try await bench.get("GET /open\nAuthorization: ann")
      let second = try await bench.get("GET /open\nAuthorization: bob")
      #expect([first.body, second.body] == ["ann", "ann"])
      #expect([first["Set-Cookie"], second["Set-Cookie"]] == ["a=ann", nil])
    }
  }

  @Test func `respects s-maxage, and the fields that are meant for it`() async throws {
    let script: MockServer.Handler = { request in
      let field =
        request.target == "/shared"
        ? "Cache-Control: max-age=0, s-maxage=60" : "Cache-Control: no-store\r\nCDN-Cache-Control: max-age=60"
      return .raw("HTTP/1.1 200 OK\r\n\(field)\r\nContent-Length: 1\r\n\r\n1")
    }
    let targets = ["CDN-Cache-Control"].compactMap { HTTPField.Name($0) }
    try await ProxyBench.run(rules: .shared(targets: targets), statusName: "p", script: script) { bench in
      for path in ["/shared", "/targeted"] {
        _ = try await bench.get("GET \(path)")
        bench.setAge(59)
        #expect(try await bench.get("GET \(path)")["Cache-Status"] == "p; hit; ttl=1")
        bench.setAge(0)
      }
      #expect(bench.origin.requests.count == 2)
    }
  }
}
