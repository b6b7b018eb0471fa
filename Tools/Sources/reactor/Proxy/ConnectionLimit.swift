import NIOCore

/// Limits the number of open connections. Further clients wait until one of them has disconnected.
///
/// The handler belongs in the pipeline of the listening channel, which must accept one connection
/// per read.
final class ConnectionLimit: ChannelDuplexHandler {
  typealias InboundIn = any Channel
  typealias OutboundIn = any Channel

  private let limit: Int
  private var open = 0
  /// A Boolean value that indicates whether the channel has requested a connection beyond the
  /// limit.
  private var isHeld = false

  init(_ limit: Int) { self.limit = limit }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    open += 1
    unwrapInboundIn(data).closeFuture.hop(to: context.eventLoop).assumeIsolated().whenComplete { _ in
      self.open -= 1
      guard self.isHeld else { return }
      self.isHeld = false
      context.read()
    }
    context.fireChannelRead(data)
  }

  func read(context: ChannelHandlerContext) {
    if open < limit { context.read() } else { isHeld = true }
  }
}
