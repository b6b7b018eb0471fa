import Foundation
import HTTPCachingProxy
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import ReactorCore
import ReactorTesting
import Testing
import Wire

@testable import reactor

/// The handler of a connection whose socket takes pieces when the test says so.
@Suite struct `A client that reads slowly` {
  private let channel = EmbeddedChannel()
  private let socket = SlowSocket()
  private let bodies = SharedBodies(BodyMemory(limit: 100 << 20))

  private func connect() throws {
    let proxy = Proxy(
      cache: ProxyCache(persistence: nil), upstream: try Upstream(UpstreamArgument.parse("http://127.0.0.1:1")))
    let handler = ProxyHandler(proxy, ServedHosts(["p"]), nil)
    try channel.pipeline.syncOperations.addHandlers([socket, handler])
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
  }

  private func answer(_ count: Int) throws -> ClientResponse {
    var answer = ProxyResponse(own: .ok, body: Data(count: count))
    answer.whole = bodies.body(answer.body, held: nil)
    return ClientResponse(
      answer, to: HTTPRequestHead(version: .http1_1, method: .GET, uri: "/", headers: ["Host": "p"]))
  }

  private func send(_ count: Int) throws {
    channel.writeAndFlush(ClientOutput.whole(try answer(count)), promise: nil)
  }

  @Test func `a client that reads slowly costs two pieces of a large body, however often it asks`() throws {
    try connect()
    try send(15 << 20)
    #expect(socket.waitingBytes <= 128 << 10 && !socket.hasEnd)
    for _ in 0..<10 { channel.pipeline.fireChannelWritabilityChanged() }
    #expect(socket.waitingBytes <= 128 << 10)
    // The end, after which the next request is answered, waits for the body.
    while !socket.hasEnd { socket.take() }
    #expect(socket.takenBytes >= 15 << 20 - 128 << 10)
    #expect(bodies.count == 0)
  }

  @Test func `gets nothing of a small body either while the bytes before it have not gone`() throws {
    try connect()
    try send(100 << 10)
    let waiting = socket.waitingBytes
    #expect(waiting == 100 << 10 && !socket.hasEnd)
    for _ in 0..<2 { socket.take() }
    #expect(socket.hasEnd)
  }

  /// `IdleStateHandler` counts what has been written whole, by the clock of the system.
  @Test func `a client makes progress with each piece of 64 KiB, not only with the whole`() throws {
    try connect()
    try send(15 << 20)
    var progress: [Int] = []
    while !socket.hasEnd || socket.waitingBytes > 0 {
      let before = socket.takenBytes
      socket.take()
      progress.append(socket.takenBytes - before)
    }
    #expect(socket.takenBytes == 15 << 20 && progress.count == 240 && progress.allSatisfy { $0 == 64 << 10 })
  }

  @Test func `a client that reads slowly costs nothing once it is gone`() throws {
    try connect()
    try send(15 << 20)
    #expect(bodies.count == 1)
    try channel.close().wait()
    channel.embeddedEventLoop.run()
    #expect(bodies.count == 0)
  }
}

/// A socket whose buffer is full from the first byte on. Each piece waits until the test takes it.
private final class SlowSocket: ChannelOutboundHandler {
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  private var waiting: [(part: HTTPServerResponsePart, promise: EventLoopPromise<Void>?)] = []
  private weak var channel: EmbeddedChannel?
  private(set) var waitingBytes = 0
  private(set) var takenBytes = 0
  private(set) var hasEnd = false

  func handlerAdded(context: ChannelHandlerContext) { channel = context.channel as? EmbeddedChannel }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let part = unwrapOutboundIn(data)
    if case .end = part { hasEnd = true }
    waiting.append((part, promise))
    waitingBytes += Self.size(part)
    setWritable(waitingBytes <= 64 << 10)
  }

  /// Takes the parts up to the next piece of a body.
  func take() {
    while !waiting.isEmpty {
      let (part, promise) = waiting.removeFirst()
      waitingBytes -= Self.size(part)
      takenBytes += Self.size(part)
      promise?.succeed()
      if Self.size(part) > 0 { break }
    }
    setWritable(waitingBytes <= 32 << 10)
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    for (_, promise) in waiting { promise?.fail(ChannelError.ioOnClosedChannel) }
    waiting = []
    context.close(mode: mode, promise: promise)
  }

  private func setWritable(_ isWritable: Bool) {
    guard let channel, channel.isWritable != isWritable else { return }
    channel.isWritable = isWritable
    channel.pipeline.fireChannelWritabilityChanged()
  }

  private static func size(_ part: HTTPServerResponsePart) -> Int {
    if case .body(.byteBuffer(let body)) = part { body.readableBytes } else { 0 }
  }
}

@Suite(.timeLimit(.minutes(5))) struct `Clients that do not read` {
  private static let body = String(repeating: "0123456789abcdef", count: 1 << 18)
  private static let fresh =
    "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"

  @Test func `share the bytes of a stored body, which are let go with the last of them`() async throws {
    try await ProxyBench.run(script: { _ in .raw(Self.fresh) }) { bench async throws in
      #expect(try await bench.get().body == Self.body)
      var clients: [WireClient] = []
      for _ in 0..<20 {
        let client = try await WireClient.connect(port: bench.server.port)
        try await client.channel.setOption(.autoRead, value: false).get()
        try await client.send("GET /a HTTP/1.1\r\nHost: p\r\n\r\n")
        clients.append(client)
      }
      while bench.proxy.responseBodies.count == 0 { await Task.yield() }
      // Another one reads, and is served beside them.
      #expect(try await bench.get().body == Self.body)
      #expect(bench.proxy.responseBodies.memory.count <= Self.body.utf8.count)
      for client in clients { try await client.reset() }
      while bench.proxy.responseBodies.memory.count > 0 { await Task.yield() }
    }
  }

  @Test func `clients that do not read get the whole body once they do`() async throws {
    try await ProxyBench.run(script: { _ in .raw(Self.fresh) }) { bench async throws in
      #expect(try await bench.get().body == Self.body)
      let client = try await WireClient.connect(port: bench.server.port)
      try await client.channel.setOption(.autoRead, value: false).get()
      try await client.send("GET /a HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n")
      while bench.proxy.responseBodies.count == 0 { await Task.yield() }
      try await client.channel.setOption(.autoRead, value: true).get()
      #expect(WireMessage(try await client.rest()).body == Self.body)
    }
  }
}
