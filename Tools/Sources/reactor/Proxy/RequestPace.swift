import NIOCore
import NIOHTTP1

/// How slowly a client may send a request.
struct RequestPaceLimits: Sendable {
  /// How long a request's head may take from its first byte to its last.
  var head: TimeAmount = .seconds(30)
  /// In each of these periods, a body brings at least ``bytes``, or ends.
  var period: TimeAmount = .seconds(30)
  var bytes = 16 << 10
}

/// Closes the connection of a client that sends a request too slowly, so that it holds no place for ever.
///
/// It stands behind SwiftNIO's `HTTPServerPipelineHandler`, which holds back the next request while one is answered: that time
/// counts for none.
final class RequestPace: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// Tells the handlers behind that bytes have come, before they are parsed. It stands in front of the parser.
  final class Arrivals: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    struct BytesHaveCome {}

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      context.fireUserInboundEventTriggered(BytesHaveCome())
      context.fireChannelRead(data)
    }
  }

  private let limits: RequestPaceLimits
  /// Ends the connection, unless it is cancelled.
  private var deadline: Scheduled<Void>?
  /// Bytes of the body in this period.
  private var moved = 0
  private var isAnswering = false
  /// True from the first piece of a head until it has come whole. A head that begins in the same piece as the end of another
  /// request counts from its next piece on; until then the connection's own limit of idle time holds.
  private var isHeadPending = false
  /// True from a head until the end of its body.
  private var isInBody = false

  init(_ limits: RequestPaceLimits = RequestPaceLimits()) { self.limits = limits }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is Arrivals.BytesHaveCome, !isHeadPending, !isInBody {
      isHeadPending = true
      if !isAnswering { awaitHead(context) }
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head:
      (isHeadPending, isInBody) = (false, true)
      moved = 0
      awaitBody(context)
    case .body(let part): moved += part.readableBytes
    case .end:
      stop()
      (isInBody, isAnswering) = (false, true)
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .end = unwrapOutboundIn(data) {
      isAnswering = false
      if isHeadPending { awaitHead(context) }
    }
    context.write(data, promise: promise)
  }

  func handlerRemoved(context: ChannelHandlerContext) { stop() }

  private func awaitHead(_ context: ChannelHandlerContext) {
    stop()
    deadline = context.eventLoop.assumeIsolated().scheduleTask(in: limits.head) { context.close(promise: nil) }
  }

  private func awaitBody(_ context: ChannelHandlerContext) {
    stop()
    deadline = context.eventLoop.assumeIsolated().scheduleTask(in: limits.period) {
      guard self.moved >= self.limits.bytes else { return context.close(promise: nil) }
      self.moved = 0
      self.awaitBody(context)
    }
  }

  private func stop() {
    deadline?.cancel()
    deadline = nil
  }
}
