import Foundation
package import NIOCore
import NIOPosix
package import ReactorTesting

/// An HTTP/1 message as it stood on the wire.
package struct WireMessage: Sendable {
  package let text: String
  package let isHeadComplete: Bool
  package let firstLine: String
  /// In order.
  package let fields: [(name: String, value: String)]
  /// Without chunks.
  package let body: String

  package init(_ text: String) {
    self.text = text
    let end = text.range(of: "\r\n\r\n")
    isHeadComplete = end != nil
    let lines = text[..<(end?.lowerBound ?? text.endIndex)].components(separatedBy: "\r\n")
    firstLine = lines.first ?? ""
    fields = lines.dropFirst().compactMap { line in
      line.range(of: ":").map { colon in
        (
          String(line[..<colon.lowerBound]),
          line[colon.upperBound...].trimmingCharacters(in: .whitespaces)
        )
      }
    }
    let raw = String(text[(end?.upperBound ?? text.endIndex)...])
    let isChunked = fields.contains { $0.name.lowercased() == "transfer-encoding" && $0.value == "chunked" }
    body = isChunked ? Self.unchunked(raw) : raw
  }

  /// A request that a server has received.
  package init(_ request: MockServer.Request) {
    firstLine = request.requestLine
    fields = request.headers
    body = String(decoding: request.body, as: UTF8.self)
    isHeadComplete = true
    text = ([firstLine] + fields.map { "\($0.name): \($0.value)" }).joined(separator: "\r\n") + "\r\n\r\n" + body
  }

  /// Zero without a status line.
  package var status: Int { firstLine.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0 }

  package var names: [String] { fields.map(\.name) }

  /// The values in order, joined by a comma; `nil` where there is no such field.
  package subscript(_ name: String) -> String? {
    let values = fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }

  private static func unchunked(_ text: String) -> String {
    var rest = Array(text.utf8)[...]
    var body: [UInt8] = []
    while let end = rest.firstRange(of: Array("\r\n".utf8)),
      let size = Int(String(decoding: rest[..<end.lowerBound], as: UTF8.self), radix: 16), size > 0,
      rest.endIndex - end.upperBound >= size
    {
      body += rest[end.upperBound..<end.upperBound + size]
      rest = rest[(end.upperBound + size)...].dropFirst(2)
    }
    return String(decoding: body, as: UTF8.self)
  }
}

/// A client's end of a connection, which writes bytes and reads text.
package final class WireClient: Sendable {
  package let channel: any Channel
  private let text: AsyncThrowingStream<String, any Error>

  /// Sends `request`, and reads until the server hangs up.
  package static func exchange(_ request: String, port: Int) async throws -> String {
    let client = try await connect(port: port)
    try await client.send(request)
    return try await client.rest()
  }

  package static func connect(port: Int) async throws -> WireClient {
    let (text, continuation) = AsyncThrowingStream.makeStream(of: String.self)
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(TextHandler(continuation))
        }
      }
      .connect(host: "127.0.0.1", port: port).get()
    return WireClient(channel, text)
  }

  private init(_ channel: any Channel, _ text: AsyncThrowingStream<String, any Error>) {
    self.channel = channel
    self.text = text
  }

  package func send(_ text: String) async throws { try await send(bytes: Array(text.utf8)) }

  package func send(bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

  /// Everything until the server hangs up.
  package func rest() async throws -> String { try await read { _ in false } }

  /// Reads until `isEnough`; what comes behind in the same piece is part of it.
  package func read(until isEnough: (String) -> Bool) async throws -> String {
    var whole = ""
    for try await part in text {
      whole += part
      if isEnough(whole) { break }
    }
    return whole
  }

  package func close() async throws { try await channel.close() }

  /// Ends its side, and continues reading.
  package func closeOutput() async throws { try await channel.close(mode: .output) }

  /// Closes without a goodbye: the other end gets a reset.
  package func reset() async throws {
    try await (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
    try await channel.close()
  }
}

private final class TextHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let text: AsyncThrowingStream<String, any Error>.Continuation

  init(_ text: AsyncThrowingStream<String, any Error>.Continuation) { self.text = text }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { text.yield(String(buffer: unwrapInboundIn(data))) }

  func channelInactive(context: ChannelHandlerContext) { text.finish() }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    text.finish(throwing: error)
    context.close(promise: nil)
  }
}
