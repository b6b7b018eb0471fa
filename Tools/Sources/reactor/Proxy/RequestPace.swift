import NIOCore
import NIOHTTP1

/// The minimum speed of a client's request.
struct RequestPaceLimits: Sendable {
  /// The maximum time from the first byte of a head to its last.
  var head: TimeAmount = .seconds(30)
  /// The period in which a body must bring at least ``bytes``, or end.
  var period: TimeAmount = .seconds(30)
  var bytes = 16 << 10
}

/// Closes the connection of a client that sends a request too slowly, so that it cannot occupy a
/// place for ever.
///
/// The handler follows SwiftNIO's `HTTPServerPipelineHandler`, which holds back the next request
/// during an answer. That time does not count.
final class RequestPace: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// Reports arriving bytes to the handlers behind the parser. It precedes the parser.
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
  /// A timer that closes the connection.
  private var deadline: Scheduled<Void>?
  /// The number of bytes of the body in this period.
  private var moved = 0
  private var isAnswering = false
  /// A Boolean value that indicates whether a head has begun and is not complete.
  ///
  /// A head that begins in the same read as the end of another request counts from its next bytes
  /// on. Until then, the connection's idle timeout applies.
  private var isHeadPending = false
  /// A Boolean value that indicates whether a body is expected: from a head to the end of its body.
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
