import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1

/// The connection of one client. It collects a request, and sends the answer of the proxy. The
/// pipeline holds back the next request until then.
///
/// A client that closes its side of the connection still gets its answer. The handler cannot
/// distinguish it from one that has disconnected. Its request to the server therefore continues
/// unless the client resets the connection.
final class ProxyHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  private let proxy: Proxy
  private let hosts: ServedHosts
  private let executor: EventLoopExecutor?
  /// The host of the latest request, if it is served. A client rarely asks for another one.
  private var servedHost: String?
  private var head: HTTPRequestHead?
  private var body = ByteBuffer()
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
      // Whoever announces too much need not send it.
      let announced = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
      guard announced <= BodyLimit.request else { return refuse(.payloadTooLarge, context) }
      self.head = head
      body = ByteBuffer()
      // The proxy forwards a body only when it is complete, so it asks the client for it here (RFC
      // 9110 §10.1.1).
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
      body.writeBuffer(&part)
    case .end:
      guard let head else { return }
      self.head = nil
      isLast = head.isLastOfConnection
      answer(head, body, context.channel)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    exchange?.cancel()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    // Bytes after the last request are ignored.
    case is HTTPParserError where isLast: break
    // A request was cut off, perhaps after the one that is being answered.
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
    guard case .end = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
    isAnswering = false
    unsentAnswers += 1
    let sent = promise ?? context.eventLoop.makePromise()
    sent.futureResult.assumeIsolated().whenComplete { _ in
      self.unsentAnswers -= 1
      self.closeIfDone(context)
    }
    context.write(data, promise: sent)
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

  private func answer(_ head: HTTPRequestHead, _ body: ByteBuffer, _ channel: any Channel) {
    isAnswering = true
    guard let method = RequestRules.method(of: head), let target = RequestTarget(head) else {
      isLast = true
      return ClientResponse(status: .badRequest).send(on: channel)
    }
    if let authority = target.authority, authority != servedHost {
      guard hosts.contains(authority, at: channel.localAddress) else {
        isLast = true
        return ClientResponse(status: .misdirectedRequest).send(on: channel)
      }
      servedHost = authority
    }
    guard let fields = EndToEndFields.ofRequest(head.headers) else {
      isLast = true
      return ClientResponse(status: .requestHeaderFieldsTooLarge).send(on: channel)
    }
    let request = ForwardedRequest(
      head: HTTPRequest(
        method: method, scheme: nil, authority: nil, path: target.path, headerFields: fields),
      body: body,
      isChunked: head.headers.contains(name: "transfer-encoding"))
    let work = ClientRequest(proxy: proxy, request: request, head: head, channel: channel)
    exchange = Task(executorPreference: executor) { await work.run() }
  }

  private func refuse(_ status: HTTPResponseStatus, _ context: ChannelHandlerContext) {
    head = nil
    body = ByteBuffer()
    isLast = true
    ClientResponse(status: status).send(on: context.channel)
  }
}

/// The work of one request, from the proxy's answer to the response.
private struct ClientRequest: Sendable {
  let proxy: Proxy
  let request: ForwardedRequest
  let head: HTTPRequestHead
  let channel: any Channel

  func run() async {
    let answer = await proxy.answer(request) { interim in
      // HTTP/1.0 has no interim responses, and the body has already been requested.
      guard head.version == .http1_1, interim.status != .continue else { return }
      var interim = interim
      // An interim response has no body (RFC 9110 §8.6).
      interim.headerFields[.contentLength] = nil
      channel.writeAndFlush(HTTPServerResponsePart.head(ClientResponse.head(interim)), promise: nil)
    }
    let response = ClientResponse(answer, to: head)
    guard let stream = answer.stream, head.method != .HEAD else { return response.send(on: channel) }
    await response.send(on: channel, stream)
  }
}

/// A response to a client, with the framing of its connection.
private struct ClientResponse {
  var head: HTTPResponseHead
  var body = Data()
  /// A Boolean value that indicates whether the connection ends after the response.
  var closes: Bool

  /// Creates a response of the proxy itself, which ends the connection.
  init(status: HTTPResponseStatus) {
    head = HTTPResponseHead(
      version: .http1_1, status: status, headers: ["Content-Length": "0", "Connection": "close"])
    closes = true
  }

  init(_ answer: ProxyResponse, to request: HTTPRequestHead) {
    head = Self.head(answer.response)
    // HTTP/1.0 has no chunks, so the end of the connection ends the body.
    closes = request.isLastOfConnection
    let status = answer.response.status
    if status == .noContent || status.kind == .informational {
      head.headers.remove(name: "content-length")
    } else if answer.stream != nil, request.method != .HEAD {
      // The server's length, or none: the body is not here.
      if head.headers["content-length"].count != 1 { head.headers.frame(bodyLength: -1, isChunked: true) }
      if request.version == .http1_0 {
        closes = closes || head.headers.contains(name: "transfer-encoding")
        head.headers.remove(name: "transfer-encoding")
      }
    } else if request.method != .HEAD, status != .notModified {
      body = answer.body
      head.headers.frame(bodyLength: body.count, isChunked: true)
      if request.version == .http1_0 { head.headers.remove(name: "transfer-encoding") }
    }
    if closes { head.headers.add(name: "Connection", value: "close") }
  }

  func send(on channel: any Channel) {
    channel.write(HTTPServerResponsePart.head(head), promise: nil)
    if !body.isEmpty {
      channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
    }
    let end = channel.writeAndFlush(HTTPServerResponsePart.end(nil))
    if closes { end.whenComplete { _ in channel.close(promise: nil) } }
  }

  /// Sends the head, and the body as it arrives. A body that ends too early closes the connection,
  /// so that nobody takes it for the whole.
  func send(on channel: any Channel, _ stream: BodyStream) async {
    do {
      try await channel.writeAndFlush(HTTPServerResponsePart.head(head))
      try await stream.forEach { try await channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer($0))) }
      try await channel.writeAndFlush(HTTPServerResponsePart.end(nil))
      if closes { channel.close(promise: nil) }
    } catch {
      channel.close(promise: nil)
    }
  }

  static func head(_ response: HTTPResponse) -> HTTPResponseHead {
    HTTPResponseHead(
      version: .http1_1,
      status: HTTPResponseStatus(statusCode: response.status.code, reasonPhrase: response.status.reasonPhrase),
      headers: EndToEndFields.headers(response.headerFields))
  }
}
