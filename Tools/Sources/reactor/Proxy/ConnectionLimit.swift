import NIOCore

/// Lets in so many clients at once: whoever comes then waits, and is accepted when one of them has gone.
///
/// It belongs into the pipeline of the channel that listens, which is to accept one at a time.
final class ConnectionLimit: ChannelDuplexHandler {
  typealias InboundIn = any Channel
  typealias OutboundIn = any Channel

  private let limit: Int
  private var open = 0
  /// Whether the channel has asked for more while there was no room.
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
