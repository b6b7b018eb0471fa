import HTTPTypes
import NIOCore
import NIOHTTP1

/// Collects one answer, and closes the connection.
final class UpstreamHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  private let answer: EventLoopPromise<ForwardedResponse>
  private let interim: @Sendable (HTTPResponse) -> Void
  private var head: HTTPResponse?
  private var body = ByteBuffer()

  init(answer: EventLoopPromise<ForwardedResponse>, interim: @escaping @Sendable (HTTPResponse) -> Void) {
    self.answer = answer
    self.interim = interim
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): receive(head, context)
    case .body(var part):
      guard part.readableBytes <= BodyLimit.bytes - body.readableBytes else { return fail(.tooLarge, context) }
      body.writeBuffer(&part)
    case .end:
      guard let head else { return }
      // The first to come counts: what follows it is no part of it (RFC 9112 §6.3).
      answer.succeed(ForwardedResponse(head: head, body: body))
      context.close(promise: nil)
    }
  }

  private func receive(_ head: HTTPResponseHead, _ context: ChannelHandlerContext) {
    // No upgrade was asked for (RFC 9110 §15.2.2).
    guard (100...999).contains(head.status.code), head.status != .switchingProtocols,
      Self.isPlain(head.headers["transfer-encoding"])
    else {
      return fail(.garbage, context)
    }
    let status = HTTPResponse.Status(code: Int(head.status.code), reasonPhrase: head.status.reasonPhrase)
    let response = HTTPResponse(status: status, headerFields: EndToEndFields.of(head.headers))
    if status.kind == .informational { interim(response) } else { self.head = response }
  }

  /// Whether what is read is the body itself. No coding was asked for (RFC 9110 §10.1.4), and none but chunks is undone here: one that
  /// is registered (RFC 9112 §7.3) would be the body's, and nothing would say so. A single name that is not says nothing.
  private static func isPlain(_ codings: [String]) -> Bool {
    guard let coding = codings.first?.lowercased() else { return true }
    return codings.count == 1 && HTTPField.Name(coding) != nil && !registered.contains(coding)
  }

  private static let registered: Set<String> = ["compress", "deflate", "gzip", "trailers", "x-compress", "x-gzip"]

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is IdleStateHandler.IdleStateEvent { fail(.silent, context) }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    answer.fail(error)
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) { answer.fail(UpstreamFailure.disconnected) }

  func handlerRemoved(context: ChannelHandlerContext) { answer.fail(UpstreamFailure.disconnected) }

  private func fail(_ failure: UpstreamFailure, _ context: ChannelHandlerContext) {
    answer.fail(failure)
    context.close(promise: nil)
  }
}

/// Why there is no whole answer.
enum UpstreamFailure: Error {
  case disconnected, garbage, silent, tooLarge
}
