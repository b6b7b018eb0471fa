#if AsyncHTTPClient
  import AsyncHTTPClient
  import NIOCore
  import NIOHTTP1
  import NIOHTTP2
  import ReactorCore

  /// The order of the parts of responses: interim heads, then one final head, its body and its end.
  ///
  /// The client relies on this order, and its decoders do not guarantee it for every response.
  struct ResponseOrder: Sendable {
    private let lowestStatus: UInt
    private var isInBody = false

    /// Creates an order of which no part has arrived.
    ///
    /// - Parameter lowestStatus: The lowest status to accept. Default: 100 (RFC 9110 §15).
    init(lowestStatus: UInt = 100) { self.lowestStatus = lowestStatus }

    /// Records the next part.
    ///
    /// - Throws: `TransportError/invalidResponse(_:request:)` if the part cannot follow.
    mutating func follow(_ part: HTTPClientResponsePart) throws(TransportError) {
      switch part {
      case .head(let head):
        guard !isInBody else { throw .invalidResponse("a second head within one response") }
        guard head.status.code >= lowestStatus else { throw .invalidResponse("the status \(head.status.code)") }
        // The client ends its wait for a response with 101 too.
        isInBody = head.status.code >= 200 || head.status == .switchingProtocols
      case .body:
        guard isInBody else { throw .invalidResponse("a body without a final head") }
      case .end:
        guard isInBody else { throw .invalidResponse("an end without a final head") }
        isInBody = false
      }
    }
  }

  /// Checks each response of a connection before the client sees it. An invalid response fails its
  /// request, and the client then closes the connection.
  final class ResponseCheck: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    private var order: ResponseOrder
    private var hasFailed = false

    init(_ order: ResponseOrder = ResponseOrder()) { self.order = order }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard !hasFailed else { return }
      do {
        try order.follow(unwrapInboundIn(data))
        context.fireChannelRead(data)
      } catch {
        hasFailed = true
        context.fireErrorCaught(error)
      }
    }
  }

  extension HTTPClient.Configuration {
    /// Adds a check to each connection, directly behind its decoder.
    mutating func addResponseCheck(_ order: ResponseOrder = ResponseOrder()) {
      http1_1ConnectionDebugInitializer = { channel in
        channel.eventLoop.submit {
          let pipeline = channel.pipeline.syncOperations
          let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
          try pipeline.addHandler(ResponseCheck(order), position: .after(decoder))
        }
      }
      http2StreamChannelDebugInitializer = { channel in
        channel.eventLoop.submit {
          let pipeline = channel.pipeline.syncOperations
          let decoder = try pipeline.handler(type: HTTP2FramePayloadToHTTP1ClientCodec.self)
          try pipeline.addHandler(ResponseCheck(order), position: .after(decoder))
        }
      }
    }
  }
#endif
