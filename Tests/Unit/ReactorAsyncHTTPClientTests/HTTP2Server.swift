#if AsyncHTTPClient
  import Foundation
  import NIOCore
  import NIOHTTP1
  import NIOHTTP2
  import NIOPosix
  import NIOSSL
  import ReactorTesting
  import TestSupport

  /// An HTTP/2 server over TLS on 127.0.0.1, with its own certificate. It answers the size of the
  /// request's body, or as much as the target says; `/held` is not answered, until the client
  /// resets the stream.
  final class HTTP2Server: Sendable {
    let authority: String
    let certificates: [NIOSSLCertificate]
    private let counts = Shared((connections: 0, streams: 0))
    private let channel: any Channel
    /// A request for `/held` has arrived.
    let arrived = Latch()
    /// Its stream was reset.
    let reset = Latch()

    var connections: Int { counts.value.connections }
    var streams: Int { counts.value.streams }

    static func run(_ body: (HTTP2Server) async throws -> Void) async throws {
      try await withTemporaryDirectory { directory in
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let (certificate, key) = (directory.appending(path: "certificate.pem"), directory.appending(path: "key.pem"))
        try await UntrustedServer.makeCertificate(certificate, key: key)
        let server = try await HTTP2Server(certificate.path(), key.path())
        try await body(server)
        try await server.channel.close()
      }
    }

    private init(_ certificatePath: String, _ keyPath: String) async throws {
      let certificates = try NIOSSLCertificate.fromPEMFile(certificatePath)
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: certificates.map { .certificate($0) },
        privateKey: .privateKey(try .init(file: keyPath, format: .pem)))
      configuration.applicationProtocols = ["h2"]
      let (context, counts) = (try NIOSSLContext(configuration: configuration), counts)
      let (arrived, reset) = (arrived, reset)
      self.certificates = certificates
      channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .childChannelInitializer { channel in
          counts.change { $0.connections += 1 }
          return channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
            _ = try channel.pipeline.syncOperations.configureHTTP2Pipeline(
              mode: .server, connectionConfiguration: .init(), streamConfiguration: .init()
            ) { stream in
              counts.change { $0.streams += 1 }
              return stream.eventLoop.makeCompletedFuture {
                try stream.pipeline.syncOperations.addHandlers([
                  HTTP2FramePayloadToHTTP1ServerCodec(), HTTP2Answers(arrived: arrived, reset: reset),
                ])
              }
            }
          }
        }
        .bind(host: "127.0.0.1", port: 0).get()
      authority = "localhost:\(channel.localAddress?.port ?? 0)"
    }
  }

  /// Answers the request of one stream.
  private final class HTTP2Answers: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let arrived: Latch
    private let reset: Latch
    private var target = ""
    private var received = 0

    init(arrived: Latch, reset: Latch) {
      self.arrived = arrived
      self.reset = reset
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head): target = head.uri
      case .body(let part): received += part.readableBytes
      case .end: answer(context)
      }
    }

    func channelInactive(context: ChannelHandlerContext) {
      if target == "/held" { reset.open() }
      context.fireChannelInactive()
    }

    private func answer(_ context: ChannelHandlerContext) {
      guard target != "/held" else { return arrived.open() }
      let size = Int(target.dropFirst())
      let body = size.map { ByteBuffer(repeating: 7, count: $0) } ?? ByteBuffer(string: "\(received)")
      let head = HTTPResponseHead(version: .http2, status: .ok, headers: ["x-version": "2"])
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
  }
#endif
