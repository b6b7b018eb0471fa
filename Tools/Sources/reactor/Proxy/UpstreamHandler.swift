import HTTPTypes
import NIOCore
import NIOHTTP1

/// Collects one answer, and closes the connection.
final class UpstreamHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  private let answer: EventLoopPromise<ForwardedResponse>
  private let interim: @Sendable (HTTPResponse) -> Void
  private let isHead: Bool
  private var head: HTTPResponse?
  private var body = ByteBuffer()

  /// - Parameter isHead: whether HEAD was asked for, so that no answer has a body.
  init(
    answer: EventLoopPromise<ForwardedResponse>, isHead: Bool, interim: @escaping @Sendable (HTTPResponse) -> Void
  ) {
    self.answer = answer
    self.isHead = isHead
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
      !hasBody(head.status) || Self.isReadable(in: head.headers["transfer-encoding"]),
      let fields = EndToEndFields.of(head.headers)
    else {
      return fail(.garbage, context)
    }
    let status = HTTPResponse.Status(code: Int(head.status.code), reasonPhrase: head.status.reasonPhrase)
    let response = HTTPResponse(status: status, headerFields: fields)
    if status.kind == .informational { interim(response) } else { self.head = response }
  }

  /// An answer to HEAD may name the coding that its body would have had (RFC 9112 §6.1).
  private func hasBody(_ status: HTTPResponseStatus) -> Bool { status.mayHaveResponseBody && !isHead }

  /// Whether a body in these transfer codings is read as what it is. No coding was asked for (RFC 9110 §10.1.4), and none but chunks
  /// is undone here: any other known one would be the body's, and nothing would say so. A single name that nobody knows says nothing;
  /// such a body ends with the connection (RFC 9112 §6.3).
  static func isReadable(in codings: [String]) -> Bool {
    guard let coding = codings.first?.lowercased() else { return true }
    guard codings.count == 1, HTTPField.Name(coding) != nil else { return false }
    return coding == "chunked" || !coding.contains("chunked") && !codingNames.contains(coding)
  }

  /// Those that are registered, for transfers (RFC 9112 §7.3) and for contents (RFC 9110 §16.6), and what servers write for them.
  private static let codingNames: Set<String> = [
    "aes128gcm", "br", "compress", "dcb", "dcz", "deflate", "exi", "gzip", "identity", "pack200-gzip", "trailers",
    "x-compress", "x-deflate", "x-gzip", "zstd",
  ]

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
