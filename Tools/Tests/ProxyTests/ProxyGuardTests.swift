import Foundation
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import ReactorCore
import ReactorTesting
import Testing
import Wire

@testable import reactor

/// Forbidden actions of a client, or of a page in a client's browser.
@Suite(.timeLimit(.minutes(5))) struct `A proxy does not let a client` {
  private static let fresh = MockServer.Response.raw(
    "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nok")

  @Test(arguments: [
    "/../private", "/%2e%2e/private", "/a/.%2E/b", "/a/..", "/./a", "/a/%2e", "/..%2fprivate", "/a%5c..%5Cprivate",
    "/a\\..\\b", "/..;x=1/private", "http://p/../private", "/a/../b?c",
  ])
  func `leave the path of its server`(path: String) async throws {
    try await ProxyBench.run(base: "/public", script: { _ in Self.fresh }) { bench in
      let answer = try await bench.get("GET \(path)")
      #expect(answer.status == 400)
      #expect(bench.origin.requests.isEmpty)
    }
  }

  @Test(arguments: ["/...", "/.well-known/x", "/a..b", "/a?b=../c", "/%2e%2ea", "/..a/b.", "/"])
  func `lose a path that only looks so`(path: String) async throws {
    try await ProxyBench.run(base: "/public", script: { _ in Self.fresh }) { bench in
      let answer = try await bench.get("GET \(path)")
      #expect(answer.status == 200)
      #expect(bench.origin.requests.first?.target == "/public\(path)")
    }
  }

  /// Foundation's own reading of a path judges whatever is let through.
  @Test func `leave the path of its server by any spelling`() throws {
    let parts = [".", "..", "%2e", "%2E", "/", "/", "%2f", "%5C", "\\", "a", ";", "?", "%", "%25", "2e"]
    var (accepted, random) = (0, SeededGenerator(seed: 15))
    for _ in 0..<20_000 {
      let path =
        "/"
        + (0..<Int.random(in: 0...8, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }
        .joined()
      let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: ["Host": "p"])
      guard let target = RequestTarget(head) else { continue }
      accepted += 1
      #expect(target.path == path)
      let plain = path.prefix { $0 != "?" }
      let decoded = (plain.removingPercentEncoding ?? String(plain)).replacing("\\", with: "/")
      let standard = ("/base" + decoded as NSString).standardizingPath
      #expect(standard == "/base" || standard.hasPrefix("/base/"), "\(path)")
    }
    #expect(accepted > 1_000)
  }

  @Test(arguments: [
    ("localhost", 200), ("LOCALHOST:1", 200), ("127.0.0.1", 200), ("127.9.9.9:80", 200), ("[::1]:80", 200),
    ("x.localhost.", 200), ("api.example:8080", 200), ("API.example", 200), ("evil.example", 421), ("", 421),
    ("127.0.0.1.evil.example", 421), ("localhost@evil.example", 421), ("evil.example:127.0.0.1", 421), ("::1", 421),
    ("notlocalhost", 421), ("api.example.evil", 421), ("127.0.0.256", 421),
  ])
  func `request another host`(host: String, status: Int) async throws {
    try await ProxyBench.run(hosts: ["api.example"], script: { _ in Self.fresh }) { bench in
      for target in ["/a", "http://\(host)/a"] where target == "/a" || !host.isEmpty {
        let request =
          "GET \(target) HTTP/1.1\r\nHost: \(target == "/a" ? host : "localhost")\r\nConnection: close\r\n\r\n"
        let answer = WireMessage(try await WireClient.exchange(request, port: bench.server.port))
        #expect(answer.status == status, "\(target)")
      }
    }
  }

  @Test(arguments: [
    ("LocalHost:80", "localhost"), ("a.example.", "a.example"), ("a..", "a."), (".", "."), ("a:", "a"),
    ("[::1]:8080", "::1"), ("[FE80::1%1]", "fe80::1%1"), ("a:12345", "a"),
    ("", nil), (":80", nil), ("a:123456", nil), ("a:8x", nil), ("a:٣", nil), ("a:1:2", nil), ("a b", nil),
    ("a@b", nil), ("a/b", nil), ("a\\b", nil), ("[]", nil), ("[::1", nil), ("[::1]x", nil), ("[::g]", nil), ("a]", nil),
  ])
  func `name a host in one way`(_ authority: String, _ name: String?) {
    #expect(ServedHosts.name(authority) == name)
  }

  @Test(arguments: [
    "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "x-forwarded-for", "X-Original-URL", "X_Forwarded_Host",
    "X-Forward-Host", "X-Original-Forwarded-For", "X-Original-Host", "X-HTTP-Host-Override", "X-Scheme", "X-Url-Scheme",
    "Front-End-Https", "Proxy", "X-Real-IP", "True-Client-IP", "X-Cluster-Client-IP", "CF-Connecting-IP",
    "X-Remote-Addr", "Content_Type", "X-Rewrite-URL", "X-Http-Method-Override", "X-Method-Override", "X-HTTP-Method",
  ])
  func `put a name into everybody's answer`(field: String) async throws {
    try await ProxyBench.run(script: { _ in Self.fresh }) { bench in
      let plain = try await bench.get("GET /a\n\(field): evil.example\nX-For-Us: kept\nX-Host-Name: kept")
      #expect(plain.status == 200)
      let sent = WireMessage(try #require(bench.origin.requests.first))
      #expect(sent[field] == nil && sent["X-For-Us"] == "kept" && sent["X-Host-Name"] == "kept")
    }
  }

  @Test func `give a read another method, whose answer all would get`() async throws {
    let script: MockServer.Handler = { request in
      request["X-HTTP-Method-Override"] == nil
        ? Self.fresh : .raw("HTTP/1.1 405 No\r\nCache-Control: max-age=60\r\nContent-Length: 0\r\n\r\n")
    }
    try await ProxyBench.run(script: script) { bench async throws in
      for _ in 0..<2 { #expect(try await bench.get("GET /a\nX-HTTP-Method-Override: PATCH").status == 200) }
      #expect(bench.origin.requests.count == 1)
      // A POST may have another one: it is sent on each time, and makes its target stale.
      #expect(try await bench.get("POST /a\nX-HTTP-Method-Override: PATCH", body: "x").status == 405)
    }
  }

  @Test func `get the answer to another GET with a body`() async throws {
    let script: MockServer.Handler = { request in
      let body = String(decoding: request.body, as: UTF8.self)
      return .raw(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: \(body.utf8.count + 1)\r\n\r\n=\(body)")
    }
    try await ProxyBench.run(script: script) { bench in
      let one = try await bench.get("GET /_search")
      #expect(one.body == "=")
      let two = try await bench.get("GET /_search", body: "q1")
      #expect(two.body == "=q1")
      let again = try await bench.get("GET /_search", body: "q2")
      #expect(again.body == "=q2")
      let other = try await bench.get("GET /_search")
      #expect(other.body == "=")
      #expect(bench.origin.requests.count == 3)
    }
  }

  @Test(arguments: [false, true]) func `get another's cookie, but where it is told to`(keeps: Bool) async throws {
    let answer = MockServer.Response.raw(
      "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nSet-Cookie: id=1\r\nContent-Length: 0\r\n\r\n")
    try await ProxyBench.run(keepsCookies: keeps, script: { _ in answer }) { bench in
      let (first, second) = (try await bench.get(), try await bench.get())
      #expect(first["Set-Cookie"] == "id=1" && second["Set-Cookie"] == (keeps ? "id=1" : nil))
      #expect(bench.origin.requests.count == 1)
    }
  }
}

@Suite(.timeLimit(.minutes(5))) struct `A client of a proxy gets its answer` {
  @Test(arguments: [1, 3]) func `where it has ended its side of the connection`(count: Int) async throws {
    let gate = Gate()
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    try await ProxyBench.run(script: { _ in .raw(answer).held(at: gate) }) { bench in
      let client = try await WireClient.connect(port: bench.server.port)
      try await client.send((0..<count).map { "GET /\($0) HTTP/1.1\r\nHost: p\r\n\r\n" }.joined())
      try await client.closeOutput()
      try await bench.origin.waitForRequests()
      gate.open()
      let text = try await client.rest()
      #expect(text.components(separatedBy: "HTTP/1.1 200 OK").count == count + 1)
    }
  }

  @Test(arguments: ["", "GET /a HTT", "POST /a HTTP/1.1\r\nHost: p\r\nContent-Length: 9\r\n\r\nx"])
  func `or is let go where nothing is due`(text: String) async throws {
    try await ProxyBench.run(script: { _ in .close }) { bench in
      let client = try await WireClient.connect(port: bench.server.port)
      try await client.send(text)
      try await client.closeOutput()
      _ = try await client.rest()
      #expect(bench.origin.requests.isEmpty)
    }
  }

  @Test(arguments: [1, 7, 1000]) func `however its request is cut`(size: Int) async throws {
    try await ProxyBench.run(script: { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }) { bench in
      let client = try await WireClient.connect(port: bench.server.port)
      var rest =
        "\r\n\r\nPOST /a HTTP/1.1\r\nHost: p\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\n\r\n"[...]
      while !rest.isEmpty {
        try await client.send(String(rest.unicodeScalars.prefix(size)))
        rest = Substring(rest.unicodeScalars.dropFirst(size))
      }
      #expect(try await client.read { $0.hasSuffix("ok") }.hasPrefix("HTTP/1.1 200"))
      let sent = WireMessage(try #require(bench.origin.requests.first))
      #expect(sent["X"] == "y" && sent.body == "xyz" && bench.origin.requests.count == 1)
    }
  }

  @Test func `before the refusal of what comes behind its request`() async throws {
    try await ProxyBench.run(script: { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }) { bench in
      let request = "GET /a HTTP/1.1\r\nHost: p\r\n\r\n"
      let refused = try await WireClient.exchange(request + "FROB /b HTTP/1.1\r\n\r\n", port: bench.server.port)
      #expect(refused.hasPrefix("HTTP/1.1 200 ") && refused.contains("okHTTP/1.1 501 "))
      // A truncated request gets no answer.
      let client = try await WireClient.connect(port: bench.server.port)
      try await client.send(request + "GET /b HTT")
      try await client.closeOutput()
      let cut = try await client.rest()
      #expect(cut.hasPrefix("HTTP/1.1 200 ") && cut.hasSuffix("ok"))
      #expect(bench.origin.requests.map(\.target) == ["/a", "/a"])
    }
  }

  @Test func `and a closed connection where it requests another protocol`() async throws {
    try await ProxyBench.run(script: { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }) { bench in
      let text = try await WireClient.exchange(
        "GET /a HTTP/1.1\r\nHost: p\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nGET /b HTTP/1.1\r\nHost: p\r\n\r\n",
        port: bench.server.port)
      #expect(text.hasSuffix("ok") && WireMessage(text)["Connection"] == "close")
      #expect(bench.origin.requests.map(\.target) == ["/a"])
    }
  }

  @Test(arguments: [
    (fields: "Content-Length: 67108865\r\nExpect: 100-continue", status: 413),
    (fields: (0..<4_097).map { _ in "A: b" }.joined(separator: "\r\n"), status: 431),
    (fields: "A: " + String(repeating: "b", count: 65 << 10), status: 431),
  ])
  func `or a refusal where its request is too large`(fields: String, status: Int) async throws {
    try await ProxyBench.run(script: { _ in .close }) { bench in
      let request = "POST /a HTTP/1.1\r\nHost: p\r\n\(fields)\r\n\r\n"
      let answer = WireMessage(try await WireClient.exchange(request, port: bench.server.port))
      #expect(answer.status == status && answer["Connection"] == "close")
      #expect(bench.origin.requests.isEmpty)
    }
  }

  @Test(arguments: ["1\nx\n0\n\n", "1\r\nx\n", "0\r\nA: b\n\n"])
  func `a chunk line that ends in a bare LF is refused at once`(chunks: String) async throws {
    try await ProxyBench.run(script: { _ in .close }) { bench in
      let request = "POST /a HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
      let answer = WireMessage(try await WireClient.exchange(request, port: bench.server.port))
      #expect(answer.status == 400)
      #expect(bench.origin.requests.isEmpty)
    }
  }
}

/// Only the handler, with time that the test advances.
@Suite struct `A client that sends slowly` {
  private let channel = EmbeddedChannel()
  private let limits = RequestPaceLimits(head: .seconds(30), period: .seconds(30), bytes: 100)

  private func connect() throws {
    try channel.pipeline.syncOperations.addHandlers([
      RequestPace.Arrivals(), RequestRules.makeParser(), RequestPace(limits),
    ])
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
  }

  private func send(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }

  private func advance(_ seconds: Int64) { channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }

  @Test func `a client that sends slowly has so long for a head, however it is cut`() throws {
    try connect()
    advance(1_000)
    for byte in "GET /a HTTP/1.1\r\nHost: p".prefix(15) {
      #expect(channel.isActive)
      try send(String(byte))
      advance(2)
    }
    #expect(!channel.isActive)
  }

  @Test func `a client that sends slowly has so long for empty lines too`() throws {
    try connect()
    for _ in 0..<15 {
      try send("\r\n")
      advance(2)
    }
    #expect(!channel.isActive)
  }

  @Test func `a client that sends slowly has so long for the head of each request`() throws {
    try connect()
    for _ in 0..<3 {
      try send("GET /a HTTP/1.1\r\n")
      advance(29)
      try send("Host: p\r\n\r\n")
      // While it is answered, no time counts, though the next head has begun.
      try send("GET")
      advance(300)
      try channel.writeOutbound(HTTPServerResponsePart.end(nil))
      advance(29)
      try send(" /b HTTP/1.1\r\nHost: p\r\n\r\n")
      advance(300)
      try channel.writeOutbound(HTTPServerResponsePart.end(nil))
      #expect(channel.isActive)
    }
    advance(1_000)
    #expect(channel.isActive)
    _ = try? channel.finish()
  }

  @Test func `a client that sends slowly brings so much of a body in each period`() throws {
    try connect()
    try send("POST /a HTTP/1.1\r\nHost: p\r\nContent-Length: 100000\r\n\r\n")
    for _ in 0..<10 {
      try send(String(repeating: "x", count: 100))
      advance(30)
      #expect(channel.isActive)
    }
    for _ in 0..<29 {
      try send("x")
      advance(1)
    }
    #expect(channel.isActive)
    advance(1)
    #expect(!channel.isActive)
  }
}
