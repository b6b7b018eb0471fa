import Foundation
import ReactorTesting
import Synchronization
import Testing
import Wire

@testable import reactor

@Suite(.timeLimit(.minutes(5))) struct `What a proxy forwards` {
  private static let empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

  /// Sends `request` as it is, and gives what the origin got and what came back.
  private func exchange(
    _ request: String, answer: String = empty
  ) async throws -> (sent: WireMessage, received: WireMessage) {
    var result: (WireMessage, WireMessage)?
    try await ProxyBench.run(script: { _ in .raw(answer) }) { bench in
      let received = WireMessage(try await WireClient.exchange(request, port: bench.server.port))
      result = (WireMessage(try #require(bench.origin.requests.first)), received)
      #expect(bench.origin.requests.count == 1)
    }
    return try #require(result)
  }

  @Test(arguments: ["GET", "HEAD", "OPTIONS", "DELETE", "POST", "M-SEARCH", "QUERY", "PROPFIND"])
  func `is a request without a field more than Via`(method: String) async throws {
    let (sent, _) = try await exchange("\(method) /a HTTP/1.1\r\nHost: proxy\r\nConnection: close\r\n\r\n")
    #expect(sent.firstLine == "\(method) /a HTTP/1.1")
    #expect(sent.names == ["Host", "Via", "Connection"])
    #expect(sent["Host"]?.hasPrefix("127.0.0.1:") == true)
    #expect(sent["Connection"] == "close")
  }

  @Test func `is a request's fields in order, with duplicates, as they are written`() async throws {
    let (sent, _) = try await exchange(
      "POST /a HTTP/1.1\r\nB: 1\r\nhost: proxy\r\nA: 2\r\nb: 3\r\nCookie: x=y\r\nTE: trailers\r\nUpgrade: h2c\r\n"
        + "Connection: close, X-Hop\r\nX-Hop: 4\r\nExpect: nothing\r\nContent-Length: 2\r\nEmpty:\r\n\r\nhi")
    #expect(sent.names == ["Host", "B", "A", "b", "Cookie", "Expect", "Content-Length", "Empty", "Via", "Connection"])
    #expect(sent["B"] == "1, 3")
    #expect(sent.body == "hi")
  }

  @Test(arguments: ["/", "/a//b/..c", "/%zz?[x]=|{y}^&", "/a?b?c=d&&", "//x", "/;p=1,2"])
  func `is a path as it was written`(path: String) async throws {
    let (sent, _) = try await exchange("GET \(path) HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n")
    #expect(sent.firstLine == "GET \(path) HTTP/1.1")
  }

  @Test(arguments: [("http://p/a?b", "/a?b"), ("http://p", "/"), ("http://p?b", "/?b")])
  func `is the path of a whole URL`(target: String, path: String) async throws {
    let (sent, _) = try await exchange("GET \(target) HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n")
    #expect(sent.firstLine == "GET \(path) HTTP/1.1")
  }

  @Test func `has one space between the words of its first line`() async throws {
    let (sent, _) = try await exchange("GET  /a   HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n")
    #expect(sent.firstLine == "GET /a HTTP/1.1")
  }

  @Test func `may follow any number of empty lines`() async throws {
    let (sent, _) = try await exchange(
      String(repeating: "\r\n", count: 40_000) + "GET /a HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n")
    #expect(sent.firstLine == "GET /a HTTP/1.1")
  }

  @Test func `is the last where it says so, whatever follows it`() async throws {
    let (sent, received) = try await exchange(
      "GET /a HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\nDELETE /b HTTP/1.1\r\nHost: p\r\n\r\n")
    #expect(sent.firstLine == "GET /a HTTP/1.1")
    #expect(received.status == 200 && received.text.components(separatedBy: "HTTP/1.1 ").count == 2)
  }

  @Test func `is the server's asterisk`() async throws {
    let (sent, _) = try await exchange("OPTIONS * HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n")
    #expect(sent.firstLine == "OPTIONS * HTTP/1.1")
  }

  @Test func `is a body in chunks, in chunks`() async throws {
    let (sent, _) = try await exchange(
      "PUT /a HTTP/1.1\r\nHost: p\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "2;x=y\r\nhe\r\n003\r\nllo\r\n0\r\nTrailer: x\r\n\r\n")
    #expect(sent.names == ["Host", "Via", "Transfer-Encoding", "Connection"])
    #expect(sent.body == "hello")
  }

  @Test(arguments: [200, 201, 299, 302, 404, 499, 500, 599, 700, 999])
  func `is a response without a field more than Date and Via, duplicates and cookies apart`(status: Int)
    async throws
  {
    let (_, received) = try await exchange(
      "GET /a HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n",
      answer: "HTTP/1.1 \(status) Words\r\nX: 1\r\nSet-Cookie: a=b\r\nx: 2\r\nSet-Cookie: c=d\r\nEmpty:\r\n"
        + "Location: http://elsewhere.example/\r\nContent-Encoding: gzip\r\nKeep-Alive: 5\r\nConnection: x-hop\r\n"
        + "X-Hop: 3\r\nContent-Length: 2\r\n\r\nno")
    #expect(received.status == status)
    #expect(
      received.names == [
        "X", "Set-Cookie", "x", "Set-Cookie", "Empty", "Location", "Content-Encoding", "Content-Length", "Date", "Via",
        "Connection",
      ])
    #expect(received["Set-Cookie"] == "a=b, c=d")
    #expect(received.body == "no")
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\r\nhello", "HTTP/1.0 200 OK\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: unheard-of\r\n\r\nhello",
  ])
  func `is a body without a length, in chunks`(answer: String) async throws {
    let (_, received) = try await exchange("GET /a HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n", answer: answer)
    #expect(received.names == ["Date", "Via", "Transfer-Encoding", "Connection"])
    #expect(received.body == "hello")
  }

  @Test func `is a body as it is to a client of HTTP 1.0`() async throws {
    let (_, received) = try await exchange("GET /a HTTP/1.0\r\n\r\n", answer: "HTTP/1.1 200 OK\r\n\r\nhello")
    #expect(received.names == ["Date", "Via", "Connection"])
    #expect(received.body == "hello")
  }

  @Test(arguments: [
    ("HEAD", "200 OK\r\nContent-Length: 5"), ("GET", "304 Not Modified\r\nContent-Length: 5"),
    ("GET", "204 No Content"), ("HEAD", "200 OK\r\nTransfer-Encoding: gzip, chunked"),
  ])
  func `a message without a body has no body`(method: String, head: String) async throws {
    let (_, received) = try await exchange(
      "\(method) /a HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n", answer: "HTTP/1.1 \(head)\r\n\r\n")
    #expect(received.body == "")
    #expect(received["Content-Length"] == (head.contains("Length") ? "5" : nil))
    #expect(received["Transfer-Encoding"] == nil)
  }

  @Test func `is every response before the final one but 100`() async throws {
    let (_, received) = try await exchange(
      "GET /a HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n",
      answer:
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </s>\r\n\r\n"
        + Self.empty)
    let heads = received.text.components(separatedBy: "\r\n\r\n").map(WireMessage.init)
    #expect(heads.map(\.status) == [102, 103, 200, 0])
    #expect(heads[1]["Link"] == "</s>")
  }

  @Test func `is a body that the client holds back until it is requested`() async throws {
    try await ProxyBench.run(script: { _ in .raw(Self.empty) }) { bench in
      let client = try await WireClient.connect(port: bench.server.port)
      try await client.send(
        "PUT /a HTTP/1.1\r\nHost: p\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
      #expect(try await client.read { $0.hasSuffix("\r\n\r\n") } == "HTTP/1.1 100 Continue\r\n\r\n")
      try await client.send("hi")
      #expect(try await client.rest().hasPrefix("HTTP/1.1 200 OK"))
      #expect(bench.origin.requests.map { WireMessage($0).body } == ["hi"])
    }
  }

  @Test func `pipelined requests are forwarded one after the other`() async throws {
    let script: MockServer.Handler = { request in
      let path = String(request.target.dropFirst())
      return .raw("HTTP/1.1 200 OK\r\nContent-Length: \(path.utf8.count)\r\n\r\n\(path)")
    }
    try await ProxyBench.run(script: script) { bench in
      let client = try await WireClient.connect(port: bench.server.port)
      let names = (1...20).map { "request-\($0)" }
      let requests = names.map { "REPORT /\($0) HTTP/1.1\r\nHost: p\r\nContent-Length: 1\r\n\r\nx" }.joined()
      // In two pieces, cut within a head.
      try await client.send(String(requests.prefix(100)))
      try await client.send(String(requests.dropFirst(100)))
      let text = try await client.read { $0.hasSuffix("request-20") }
      #expect(
        text.components(separatedBy: "\r\n\r\n").dropFirst().map { $0.prefix { $0 != "H" } } == names.map { $0[...] })
      try await client.close()
    }
  }

  @Test func `is a body of many pieces`() async throws {
    let body = String(repeating: "0123456789abcdef", count: 1 << 16)
    let script: MockServer.Handler = { request in
      .text(String(decoding: request.body, as: UTF8.self))
    }
    try await ProxyBench.run(script: script) { bench in
      let response = try await bench.get("POST /a", body: body)
      #expect(response.body == body)
    }
  }
}

@Suite(.timeLimit(.minutes(5))) struct `A request that is no HTTP` {
  private static let chunked = "POST /a HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: "
  private static let empty = "\r\n\r\n0\r\n\r\n"

  @Test(arguments: [
    "GET /a HTTP/1.1\nHost: p\n\n", "GET /a HTTP/1.1\r\nHost: p\nX: y\r\n\r\n", "GET /a HTTP/1.1\r\nHost: p\r\n\n",
    "GET /a\r\n\r\n", "GET /a HTTP/0.9\r\n\r\n", "GET /a HTTP/1.2\r\nHost: p\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "GET /\u{E4} HTTP/1.1\r\nHost: p\r\n\r\n", "GET /a\tb HTTP/1.1\r\nHost: p\r\n\r\n",
    "GET /a HTTP/1.1\r\n Host: p\r\n\r\n",
    "GET /a HTTP/1.1\r\nHost: p\r\n: x\r\n\r\n", "GET /a HTTP/1.1\r\nHost: p\r\nno colon\r\n\r\n",
    "GET /a HTTP/1.1\r\nHost: p\r\n" + String(repeating: "a: b\r\n", count: 4_200) + "\r\n",
    "GET /a HTTP/1.1\r\nHost: p\r\n" + String(repeating: "a: \(String(repeating: "b", count: 990))\r\n", count: 70)
      + "\r\n",
    chunked + "gzip, chunked" + empty, chunked + "chunked, chunked" + empty, chunked + "chunked, identity" + empty,
    chunked + "chunked\r\nTransfer-Encoding: chunked" + empty, chunked + "chun\u{212A}ed" + empty,
    chunked + "\u{0B}chunked" + empty, chunked + "chunked;q=1" + empty,
    chunked + "chunked\r\nContent-Length: 1" + empty,
    "POST /a HTTP/1.0\r\nTransfer-Encoding: chunked" + empty, "POST /a HTTP/1.1\r\nHost: p\r\nContent-Length:\r\n\r\n",
    "POST /a HTTP/1.1\r\nHost: p\r\nContent-Length: 1, 1\r\n\r\nx",
    "POST /a HTTP/1.1\r\nHost: p\r\nContent-Length: 0x1\r\n\r\nx",
    "POST /a HTTP/1.1\r\nHost: p\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
    "POST /a HTTP/1.1\r\nHost: p\r\nContent-Length: 99999999999999999999\r\n\r\nx",
    chunked + "chunked\r\n\r\n1 \r\nx\r\n0\r\n\r\n", chunked + "chunked\r\n\r\n1;a\rb\r\nx\r\n0\r\n\r\n",
    chunked + "chunked\r\n\r\n1;a\nb\r\nx\r\n0\r\n\r\n", chunked + "chunked\r\n\r\n0x1\r\nx\r\n0\r\n\r\n",
    chunked + "chunked\r\n\r\nffffffffffffffffff\r\nx\r\n0\r\n\r\n", chunked + "chunked\r\n\r\n\r\nx\r\n0\r\n\r\n",
    "GET /a HTTP/2.0\r\nHost: p\r\n\r\n", "DESCRIBE /a HTTP/1.1\r\nHost: p\r\n\r\n",
    "GET /a HTTP/1.1\r\n\r\n", "GET /a HTTP/1.1\r\nHost: p\r\nHost: q\r\n\r\n",
    "GET /a HTTP/1.1\r\nHost : p\r\n\r\n", "GET /a HTTP/1.1\r\nHost: p\r\n folded\r\n\r\n",
    "GET /a HTTP/1.1\r\nHost: p\r\nX: a\rb\r\n\r\n", "GET /a HTTP/1.1\r\nHost: p\r\nX: a\0b\r\n\r\n",
    "POST /a HTTP/1.1\r\nHost: p\r\nContent-Length: +1\r\n\r\nx",
    "POST /a HTTP/1.1\r\nHost: p\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
    "POST /a HTTP/1.1\r\nHost: p\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /a HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: gzip\r\n\r\nx",
    "POST /a HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n\r\n",
    "POST /a HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n",
    "POST /a HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
    "CONNECT p:80 HTTP/1.1\r\nHost: p\r\n\r\n", "GET * HTTP/1.1\r\nHost: p\r\n\r\n",
    "GET /f#frag HTTP/1.1\r\nHost: p\r\n\r\n", "GET http://p/f?a#b HTTP/1.1\r\nHost: p\r\n\r\n",
    "GET /" + String(repeating: "a", count: 70_000),
  ])
  func `a request that is no HTTP is refused, and reaches no server`(request: String) async throws {
    try await ProxyBench.run(script: { _ in .close }) { bench in
      let response = WireMessage(try await WireClient.exchange(request, port: bench.server.port))
      // The parser limits the whole head, including its first line.
      let isTooLarge = request.utf8.count > 64 << 10 || request.components(separatedBy: "\r\n").count > 4_096
      #expect(response.status == (isTooLarge ? 431 : 400))
      #expect(Set(response.names) == ["Connection", "Content-Length", "Date"])
      #expect(bench.origin.requests.isEmpty)
    }
  }
  @Test(arguments: ["FROB", "get", "G\u{0}T", "nonsense\r\n\r\nGET", "SOURCE", "DESCRIBE /a RTSP/1.0\r\n\r\nGET"])
  func `with a method that is unknown is a 501, and the end of the connection`(method: String) async throws {
    try await ProxyBench.run(script: { _ in .close }) { bench in
      let request = "\(method) /a HTTP/1.1\r\nHost: p\r\n\r\n"
      let text = try await WireClient.exchange(request + request, port: bench.server.port)
      #expect(WireMessage(text).status == 501 && text.components(separatedBy: "HTTP/1.1 ").count == 2)
      #expect(bench.origin.requests.isEmpty)
    }
  }
}
