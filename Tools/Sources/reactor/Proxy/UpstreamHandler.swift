import HTTPTypes
import NIOCore
import NIOHTTP1

/// Collects one response, and closes the connection.
final class UpstreamHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  private let answer: EventLoopPromise<ForwardedResponse>
  private let interim: @Sendable (HTTPResponse) -> Void
  private let isHead: Bool
  private var head: HTTPResponse?
  private var body = ByteBuffer()

  /// - Parameter isHead: A Boolean value that indicates whether the request is HEAD, whose response
  ///   has no body.
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
      // The first response counts; bytes after it are not part of it (RFC 9112 §6.3).
      answer.succeed(ForwardedResponse(head: head, body: body))
      context.close(promise: nil)
    }
  }

  private func receive(_ head: HTTPResponseHead, _ context: ChannelHandlerContext) {
    // The proxy never requests an upgrade (RFC 9110 §15.2.2).
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

  /// Returns a Boolean value that indicates whether the response has a body. A response to HEAD may
  /// announce the coding of a body that it does not have (RFC 9112 §6.1).
  private func hasBody(_ status: HTTPResponseStatus) -> Bool { status.mayHaveResponseBody && !isHead }

  /// Returns a Boolean value that indicates whether a body in these transfer codings can be read.
  ///
  /// The request asks for no coding (RFC 9110 §10.1.4), and the parser decodes chunks only. Any
  /// other known coding would stay in the body without a field that says so. An unknown coding is
  /// accepted alone; its body ends with the connection (RFC 9112 §6.3).
  static func isReadable(in codings: [String]) -> Bool {
    guard let coding = codings.first?.lowercased() else { return true }
    guard codings.count == 1, HTTPField.Name(coding) != nil else { return false }
    return coding == "chunked" || !coding.contains("chunked") && !codingNames.contains(coding)
  }

  /// The registered codings of transfers (RFC 9112 §7.3) and contents (RFC 9110 §16.6), and common
  /// other names of them.
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

/// The reason for a missing or incomplete response.
enum UpstreamFailure: Error {
  case disconnected, garbage, silent, tooLarge
}

/// There is no connection to the server.
struct UpstreamUnreachable: Error, CustomStringConvertible {
  let reason: any Error
  var description: String { "\(reason)" }
}
