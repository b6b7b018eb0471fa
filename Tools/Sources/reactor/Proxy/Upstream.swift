import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Sends requests to the server behind the proxy, each on a separate connection (RFC 9112 §9.6).
///
/// Bytes beyond an answer cannot reach another exchange, and no request is lost to a connection
/// that was just closed. Redirects are not followed, content is not decoded, and nothing is
/// retried.
struct Upstream: Sendable {
  let address: UpstreamArgument
  private let tls: NIOSSLContext?
  private let silence: TimeAmount
  private let bodyLimit: Int

  /// Creates an upstream.
  ///
  /// - Parameters:
  ///   - address: The server behind the proxy.
  ///   - silence: The maximum time without any bytes. Default: 60 seconds.
  ///   - bodyLimit: The size in bytes beyond which the body of a response is a stream.
  /// - Throws: An error, if the certificates of the system cannot be read.
  init(_ address: UpstreamArgument, silence: Duration = .seconds(60), bodyLimit: Int = BodyLimit.response) throws {
    self.address = address
    tls = address.isSecure ? try NIOSSLContext(configuration: .makeClientConfiguration()) : nil
    self.silence = .init(silence)
    self.bodyLimit = bodyLimit
  }

  /// Sends the request, and returns the complete response, or a response whose body is a stream.
  /// Cancellation closes the connection.
  ///
  /// - Parameters:
  ///   - request: The request to send.
  ///   - memory: The memory of the bodies of responses.
  ///   - interim: A closure that receives each response before the final one (RFC 9110 §15.2), on
  ///     an event loop.
  /// - Throws: ``UpstreamUnreachable`` without a connection, and another error if there is no
  ///   complete response.
  func send(
    _ request: ForwardedRequest, memory: BodyMemory, interim: @escaping @Sendable (HTTPResponse) -> Void = { _ in }
  ) async throws -> ForwardedResponse {
    let channel = try await connect()
    // Made after the connection: of several addresses, only the connected one may fail the answer.
    let answer = channel.eventLoop.makePromise(of: ForwardedResponse.self)
    return try await withTaskCancellationHandler {
      channel.eventLoop.execute {
        do {
          let handler = UpstreamHandler(
            answer: answer, isHead: request.head.method == .head, limit: bodyLimit, memory: memory,
            requestBody: request.body, interim: interim)
          try configure(channel, handler)
          handler.write(head(of: request), try channel.pipeline.syncOperations.context(handler: handler))
        } catch {
          answer.fail(error)
          channel.close(promise: nil)
        }
      }
      return try await answer.futureResult.get()
    } onCancel: {
      channel.close(promise: nil)
    }
  }

  private func connect() async throws(UpstreamUnreachable) -> any Channel {
    do {
      return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connectTimeout(.seconds(10))
        .channelOption(.socketOption(.tcp_nodelay), value: 1)
        .connect(host: address.host, port: address.port).get()
    } catch { throw UpstreamUnreachable(reason: error) }
  }

  private func configure(_ channel: any Channel, _ handler: UpstreamHandler) throws {
    let pipeline = channel.pipeline.syncOperations
    if let tls {
      // An IP address cannot be sent as a server name (RFC 6066 §3).
      let isAddress = (try? SocketAddress(ipAddress: address.host, port: 0)) != nil
      try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : address.host))
    }
    var framing = HTTPRequestEncoder.Configuration()
    framing.automaticallySetFramingHeaders = false
    try pipeline.addHandlers([
      IdleStateHandler(allTimeout: silence), FieldBytes.Outbound(), HTTPRequestEncoder(configuration: framing),
      ByteToMessageHandler(
        HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .forward)),
      handler,
    ])
  }

  private func head(of request: ForwardedRequest) -> HTTPRequestHead {
    var headers = EndToEndFields.headers(request.head.headerFields)
    headers.frame(bodyLength: request.body.readableBytes, isChunked: request.isChunked)
    headers.add(name: "Connection", value: "close")
    var first = HTTPHeaders([("Host", address.authority)])
    first.add(contentsOf: headers)
    return HTTPRequestHead(
      version: .http1_1, method: HTTPMethod(rawValue: request.head.method.rawValue), uri: request.head.path ?? "/",
      headers: first)
  }
}
