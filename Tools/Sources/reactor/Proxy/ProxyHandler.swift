import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import ReactorChangeFeed

/// The connection of one client. It collects a request, and sends the answer of the proxy. The
/// pipeline holds back the next request until then.
///
/// The body of an answer is written in pieces, as fast as the client reads. So a client that does
/// not read costs little, and each piece that has gone out counts as progress.
///
/// A client that closes its side of the connection still gets its answer. The handler cannot
/// distinguish it from a client that has disconnected. Its request to the server therefore
/// continues unless the client resets the connection.
final class ProxyHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundIn = ClientOutput
  typealias OutboundOut = HTTPServerResponsePart

  private let proxy: Proxy
  private let hosts: ServedHosts
  private let executor: EventLoopExecutor?
  /// The host of the latest request, if it is served. A client rarely asks for another one.
  private var servedHost: String?
  private var head: HTTPRequestHead?
  private var body = ByteBuffer()
  /// The bytes that are counted for ``body``.
  private var held = HeldBytes()
  /// The rest of the answer that is being written.
  private var unsent: Unsent?
  private var isWriting = false
  private var exchange: Task<Void, Never>?
  /// A Boolean value that indicates whether the connection ends after the current answer.
  private var isLast = false
  /// A Boolean value that indicates whether a complete request has no answer yet.
  private var isAnswering = false
  /// The number of answers that were written and not yet sent completely.
  private var unsentAnswers = 0
  private var isInputClosed = false

  /// - Parameter executor: Runs the proxy's answers; `nil` for the global one.
  init(_ proxy: Proxy, _ hosts: ServedHosts, _ executor: EventLoopExecutor?) {
    self.proxy = proxy
    self.hosts = hosts
    self.executor = executor
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isLast else { return }
    switch unwrapInboundIn(data) {
    case .head(let head):
      if let status = RequestRules.refusal(of: head) { return refuse(status, context) }
      // A client that announces too large a body need not send it.
      let announced = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
      guard announced <= BodyLimit.request else { return refuse(.payloadTooLarge, context) }
      self.head = head
      (body, held) = (ByteBuffer(), HeldBytes())
      // The proxy forwards a body only when it is complete, so it requests the body from the client
      // here (RFC 9110 §10.1.1).
      let expectations = head.headers[canonicalForm: "expect"]
      if head.version == .http1_1, expectations.contains(where: { $0.lowercased() == "100-continue" }) {
        let head = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
      }
    case .body(var part):
      guard head != nil else { return }
      guard part.readableBytes <= BodyLimit.request - body.readableBytes else {
        return refuse(.payloadTooLarge, context)
      }
      guard held.grow(by: part.readableBytes, in: proxy.requestBodies) else {
        return refuse(.serviceUnavailable, context)
      }
      body.writeBuffer(&part)
    case .end:
      guard let head else { return }
      isLast = head.isLastOfConnection
      answer(head, context)
      self.head = nil
      (body, held) = (ByteBuffer(), HeldBytes())
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    exchange?.cancel()
    unsent = nil
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    // Bytes after the last request are ignored.
    case is HTTPParserError where isLast: break
    // A request was cut off, perhaps after the request that is being answered.
    case is ByteToMessageDecoderError, HTTPParserError.invalidEOFState: endInput(context)
    case let error as HTTPParserError: refuse(RequestRules.status(of: error), context)
    default: context.close(promise: nil)
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
    if event as? ChannelEvent == .inputClosed { endInput(context) }
    context.fireUserInboundEventTriggered(event)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch unwrapOutboundIn(data) {
    case .interim(let head):
      // It may be left out, and a client that does not read gets no more of them.
      if context.channel.isWritable {
        context.write(wrapOutboundOut(.head(head)), promise: promise)
      } else {
        promise?.succeed()
      }
    case .head(let response): context.write(wrapOutboundOut(.head(response.head)), promise: promise)
    case .part(let part): context.write(wrapOutboundOut(.body(.byteBuffer(part))), promise: promise)
    case .end(let response): writeEnd(of: response, promise, context)
    case .whole(let response):
      promise?.succeed()
      unsent = Unsent(response: response)
      writeUnsent(context)
    }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    writeUnsent(context)
    context.fireChannelWritabilityChanged()
  }

  /// Writes as much of the answer as the client takes. The end, after which the next request of the
  /// connection is answered, waits as well.
  private func writeUnsent(_ context: ChannelHandlerContext) {
    // A write may report at once that it can continue, and an end may bring the next answer.
    guard !isWriting else { return }
    isWriting = true
    defer { isWriting = false }
    while let response = unsent?.response {
      guard context.channel.isWritable else {
        context.flush()
        if context.channel.isWritable { continue }
        return
      }
      if let part = unsent?.next() {
        context.write(wrapOutboundOut(part), promise: nil)
      } else {
        unsent = nil
        writeEnd(of: response, nil, context)
        context.flush()
      }
    }
  }

  private func writeEnd(
    of response: ClientResponse, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
  ) {
    isAnswering = false
    unsentAnswers += 1
    let sent = promise ?? context.eventLoop.makePromise()
    // Not the response, whose body is released here.
    let closes = response.closes
    sent.futureResult.assumeIsolated().whenComplete { _ in
      self.unsentAnswers -= 1
      if closes { context.close(promise: nil) } else { self.closeIfDone(context) }
    }
    context.write(wrapOutboundOut(.end(nil)), promise: sent)
  }

  private func endInput(_ context: ChannelHandlerContext) {
    isInputClosed = true
    closeIfDone(context)
  }

  /// Closes the connection once the client has closed its side and all answers are sent. A request
  /// that arrived before is answered too.
  private func closeIfDone(_ context: ChannelHandlerContext) {
    if isInputClosed, !isAnswering, unsentAnswers == 0 { context.close(promise: nil) }
  }

  private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
    isAnswering = true
    guard let method = RequestRules.method(of: head), let target = RequestTarget(head) else {
      return refuse(.badRequest, context)
    }
    if let authority = target.authority, authority != servedHost {
      guard hosts.contains(authority, at: context.channel.localAddress) else {
        return refuse(.misdirectedRequest, context)
      }
      servedHost = authority
    }
    guard let fields = EndToEndFields.ofRequest(head.headers, method) else {
      return refuse(.requestHeaderFieldsTooLarge, context)
    }
    let request = ForwardedRequest(
      head: HTTPRequest(
        method: method, scheme: nil, authority: nil, path: target.path, headerFields: fields),
      body: body,
      isChunked: head.headers.contains(name: "transfer-encoding"), held: held,
      version: head.version == .http1_0 ? "1.0" : "1.1")
    let work = ClientRequest(proxy: proxy, request: request, head: head, channel: context.channel)
    exchange = Task(executorPreference: executor) { await work.run() }
  }

  private func refuse(_ status: HTTPResponseStatus, _ context: ChannelHandlerContext) {
    head = nil
    (body, held) = (ByteBuffer(), HeldBytes())
    isLast = true
    context.channel.writeAndFlush(ClientOutput.whole(ClientResponse(status: status)), promise: nil)
  }
}

/// The parts of an answer that are still to be written.
private struct Unsent {
  let response: ClientResponse
  private var isHeadWritten = false
  private var pieces = 0

  init(response: ClientResponse) { self.response = response }

  /// Returns the head, and then each piece of the body.
  mutating func next() -> HTTPServerResponsePart? {
    guard isHeadWritten else {
      isHeadWritten = true
      return .head(response.head)
    }
    guard let body = response.body, pieces < body.pieces.count else { return nil }
    defer { pieces += 1 }
    return .body(.byteBuffer(body.pieces[pieces]))
  }
}

/// The work of one request, from the proxy's answer to the response.
private struct ClientRequest: Sendable {
  let proxy: Proxy
  let request: ForwardedRequest
  let head: HTTPRequestHead
  let channel: any Channel

  func run() async {
    if let answer = proxy.changes(request, onStall: { [channel] in channel.close(promise: nil) }) {
      return await send(ClientResponse(answer, to: head), answer.changes)
    }
    let answer = await proxy.answer(request) { interim in
      // HTTP/1.0 has no interim responses, and the body has already been requested.
      guard head.version == .http1_1, interim.status != .continue else { return }
      var interim = interim
      // An interim response has no body (RFC 9110 §8.6).
      interim.headerFields[.contentLength] = nil
      channel.writeAndFlush(ClientOutput.interim(ClientResponse.head(interim)), promise: nil)
    }
    let response = ClientResponse(answer, to: head)
    guard let stream = answer.stream, head.method != .HEAD else {
      return channel.writeAndFlush(ClientOutput.whole(response), promise: nil)
    }
    await send(response, stream)
  }

  /// Sends the head, and changes as they come. Each piece waits until the client has taken the one
  /// before.
  private func send(_ response: ClientResponse, _ changes: ChangeStream?) async {
    guard let changes else { return channel.writeAndFlush(ClientOutput.whole(response), promise: nil) }
    do {
      try await channel.writeAndFlush(ClientOutput.head(response))
      for await piece in changes { try await channel.writeAndFlush(ClientOutput.part(ByteBuffer(bytes: piece))) }
      try await channel.writeAndFlush(ClientOutput.end(response))
    } catch {
      channel.close(promise: nil)
    }
  }

  /// Sends the head, and the body as it arrives. A body that ends too early closes the connection,
  /// so that the client does not take it for the whole.
  private func send(_ response: ClientResponse, _ stream: BodyStream) async {
    do {
      try await channel.writeAndFlush(ClientOutput.head(response))
      try await stream.forEach { try await channel.writeAndFlush(ClientOutput.part($0)) }
      try await channel.writeAndFlush(ClientOutput.end(response))
    } catch {
      channel.close(promise: nil)
    }
  }
}
