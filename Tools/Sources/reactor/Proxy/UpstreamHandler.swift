import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1

/// Sends one request and collects its response, and closes the connection. A body beyond the limit
/// becomes a stream.
final class UpstreamHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  private let answer: EventLoopPromise<ForwardedResponse>
  private let interim: @Sendable (HTTPResponse) -> Void
  private let isHead: Bool
  private let limit: Int
  private let memory: BodyMemory
  private var requestBody: ByteBuffer?
  private var isWriting = false
  private var head: HTTPResponse?
  private var version = "1.1"
  private var body = ByteBuffer()
  private var held = HeldBytes()
  private var stream: BodyStream.Source?

  /// - Parameters:
  ///   - isHead: A Boolean value that indicates whether the request is HEAD, whose response has no
  ///     body.
  ///   - limit: The size of a body in bytes beyond which it becomes a stream.
  ///   - memory: The memory of all bodies. A body without room in it becomes a stream.
  ///   - requestBody: The body of the request, which is sent as fast as the server reads it.
  init(
    answer: EventLoopPromise<ForwardedResponse>, isHead: Bool, limit: Int, memory: BodyMemory,
    requestBody: ByteBuffer, interim: @escaping @Sendable (HTTPResponse) -> Void
  ) {
    self.answer = answer
    self.isHead = isHead
    self.limit = limit
    self.memory = memory
    self.requestBody = requestBody
    self.interim = interim
  }

  /// Writes the head of the request, and its body in pieces. Each piece that has gone out counts as
  /// progress for the limit of silence.
  func write(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
    // The connection was closed before the handler was added.
    guard context.channel.isActive else { return end(UpstreamFailure.disconnected) }
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    writeBody(context)
  }

  private func writeBody(_ context: ChannelHandlerContext) {
    // A write may report at once that it can continue.
    guard !isWriting else { return }
    isWriting = true
    defer { isWriting = false }
    while requestBody != nil {
      guard context.channel.isWritable else {
        context.flush()
        if context.channel.isWritable { continue }
        return
      }
      let size = min(SharedBody.pieceSize, requestBody?.readableBytes ?? 0)
      if size > 0, let piece = requestBody?.readSlice(length: size) {
        context.write(wrapOutboundOut(.body(.byteBuffer(piece))), promise: nil)
      } else {
        requestBody = nil
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
      }
    }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    writeBody(context)
    context.fireChannelWritabilityChanged()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): receive(head, context)
    case .body(var part):
      if let stream { return stream.yield(part) }
      let isHeld = held.grow(by: part.readableBytes, in: memory)
      body.writeBuffer(&part)
      if body.readableBytes > limit {
        beginStream(context, .tooLarge)
      } else if !isHeld {
        beginStream(context, .noMemory)
      }
    case .end:
      guard let head else { return }
      if let stream {
        // Its end is the body's, and no failure of the connection.
        self.stream = nil
        stream.finish()
        return context.close(promise: nil)
      }
      // The first response counts; bytes after it are not part of it (RFC 9112 §6.3).
      answer.succeed(ForwardedResponse(head: head, body: body, held: held, version: version))
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
    if status.kind == .informational { return interim(response) }
    self.head = response
    if head.version == .http1_0 { version = "1.0" }
    guard hasBody(head.status) else { return }
    // A client does not wait for a body that is known to be too large, nor for the end of events.
    let announced = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
    if announced > limit {
      beginStream(context, .tooLarge)
    } else if Self.isEventStream(fields) {
      beginStream(context, .eventStream)
    }
  }

  private static func isEventStream(_ fields: HTTPFields) -> Bool {
    let type = fields[.contentType]?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
    return type == "text/event-stream"
  }

  private func beginStream(_ context: ChannelHandlerContext, _ reason: BodyStream.Reason) {
    guard let head else { return }
    let stream = BodyStream.Source(context.channel, reason)
    self.stream = stream
    while let piece = body.readSlice(length: min(SharedBody.pieceSize, body.readableBytes)), piece.readableBytes > 0 {
      stream.yield(piece)
    }
    body = ByteBuffer()
    answer.succeed(
      ForwardedResponse(head: head, body: ByteBuffer(), stream: stream.stream, held: held, version: version))
  }

  /// Returns a Boolean value that indicates whether the response has a body. A response to HEAD may
  /// announce the coding of a body that it does not have (RFC 9112 §6.1).
  private func hasBody(_ status: HTTPResponseStatus) -> Bool { status.mayHaveResponseBody && !isHead }

  /// Returns a Boolean value that indicates whether a body in these transfer codings can be read.
  ///
  /// The request accepts no coding (RFC 9110 §10.1.4), and the parser decodes chunks only. Any
  /// other known coding would stay in the body without a field that says so. An unknown coding is
  /// accepted if it is the only one; its body ends with the connection (RFC 9112 §6.3).
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
    end(error)
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) { end(UpstreamFailure.disconnected) }

  func handlerRemoved(context: ChannelHandlerContext) { end(UpstreamFailure.disconnected) }

  private func fail(_ failure: UpstreamFailure, _ context: ChannelHandlerContext) {
    end(failure)
    context.close(promise: nil)
  }

  /// Ends a response that is not complete.
  private func end(_ error: any Error) {
    answer.fail(error)
    stream?.fail(error)
    stream = nil
  }
}

/// The reason for a missing or incomplete response.
enum UpstreamFailure: Error {
  case disconnected, garbage, silent
}

/// There is no connection to the server.
struct UpstreamUnreachable: Error, CustomStringConvertible {
  let reason: any Error
  var description: String { "\(reason)" }
}
