import NIOCore
import NIOHTTP1

/// Lets values of fields pass byte for byte that are not UTF-8 (RFC 9110 §5.5, *obs-text*).
///
/// SwiftNIO's parser reads a value as UTF-8 and replaces all other bytes, so that two values would
/// become equal. Before the parser, each such byte of a head becomes a character of a private
/// range, and behind the encoder of the request to the server, it becomes the byte again. A
/// character of that range in a head is three such bytes, and so is U+FFFD, which the parser leaves
/// of others. So different values stay different.
///
/// The head of a request that arrives in one read with the body before it is not converted. If it
/// has such a byte, it is refused.
enum FieldBytes {
  /// Converts the heads of requests. It precedes the parser.
  final class Inbound: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// A Boolean value that indicates whether the next byte belongs to a head.
    fileprivate var isInHead = true
    /// A Boolean value that indicates whether the first line of the head has begun.
    private var hasBegun = false
    private var isLineEmpty = true
    /// The beginning of a character whose other bytes have not arrived.
    private var held = ByteBuffer()

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var rest = unwrapInboundIn(data)
      while isInHead, rest.readableBytes > 0, let head = rest.readSlice(length: endOfHead(rest.readableBytesView)) {
        context.fireChannelRead(wrapInboundOut(converted(head)))
      }
      if rest.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(rest)) }
    }

    /// Returns the number of bytes up to the end of the head, which may end in a later read.
    private func endOfHead(_ bytes: ByteBufferView) -> Int {
      for (index, byte) in bytes.enumerated() {
        switch byte {
        case UInt8(ascii: "\n"):
          if hasBegun, isLineEmpty {
            hasBegun = false
            return index + 1
          }
          isLineEmpty = true
        case UInt8(ascii: "\r"): break
        default: (hasBegun, isLineEmpty) = (true, false)
        }
      }
      return bytes.count
    }

    private func converted(_ head: ByteBuffer) -> ByteBuffer {
      guard held.readableBytes > 0 || head.readableBytesView.contains(where: { $0 >= 0x80 }) else { return head }
      var whole = held
      whole.writeImmutableBuffer(head)
      let bytes = whole.readableBytesView
      let complete = bytes.count - FieldBytes.lengthOfUnfinished(bytes)
      held = ByteBuffer(bytes: bytes.suffix(bytes.count - complete))
      return ByteBuffer(bytes: FieldBytes.converted(bytes.prefix(complete)))
    }
  }

  /// Notes for an ``Inbound`` where heads begin and end. It follows the parser.
  final class Heads: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let inbound: Inbound

    init(_ inbound: Inbound) { self.inbound = inbound }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head: inbound.isInHead = false
      case .body: break
      case .end: inbound.isInHead = true
      }
      context.fireChannelRead(data)
    }
  }

  /// Puts the bytes back into the head of a request, which the encoder writes first.
  final class Outbound: ChannelOutboundHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private var isHead = true

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      guard isHead, case .byteBuffer(let head) = unwrapOutboundIn(data) else {
        return context.write(data, promise: promise)
      }
      isHead = false
      context.write(wrapOutboundOut(.byteBuffer(ByteBuffer(bytes: restored(head.readableBytesView)))), promise: promise)
    }
  }

  /// Returns the bytes of a head, with characters in place of bytes that are not UTF-8.
  static func converted(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    var rest = Array(bytes)[...]
    while let byte = rest.first {
      let length = byte < 0x80 ? 1 : lengthOfCharacter(rest)
      if length == 1, byte >= 0x80 { result += character(of: byte) } else { result += rest.prefix(length) }
      rest = rest.dropFirst(length)
    }
    return result
  }

  /// Returns the bytes that were passed to ``converted(_:)``.
  static func restored(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    var rest = Array(bytes)[...]
    while let byte = rest.popFirst() {
      guard byte == 0xEF, let second = rest.first, second == 0x9E || second == 0x9F,
        let third = rest.dropFirst().first, third & 0xC0 == 0x80
      else {
        result.append(byte)
        continue
      }
      result.append(0x80 + (second - 0x9E) << 6 + (third & 0x3F))
      rest = rest.dropFirst(2)
    }
    return result
  }

  /// Returns U+F780 for 0x80, and so on up to U+F7FF for 0xFF.
  private static func character(of byte: UInt8) -> [UInt8] {
    [0xEF, 0x9E + (byte - 0x80) >> 6, 0x80 + (byte & 0x3F)]
  }

  /// Returns the length of the character at the beginning; 1 if the first byte is not UTF-8, or
  /// begins a character that is converted itself.
  private static func lengthOfCharacter(_ bytes: ArraySlice<UInt8>) -> Int {
    var iterator = bytes.prefix(4).makeIterator()
    var parser = Unicode.UTF8.ForwardParser()
    guard case .valid(let encoded) = parser.parseScalar(from: &iterator) else { return 1 }
    let scalar = Unicode.UTF8.decode(encoded)
    return scalar == "\u{FFFD}" || (0xF780...0xF7FF).contains(scalar.value) ? 1 : encoded.count
  }

  /// Returns the number of bytes at the end that begin a character and do not complete it.
  private static func lengthOfUnfinished(_ bytes: ByteBufferView) -> Int {
    for (index, byte) in bytes.suffix(3).reversed().enumerated() where byte & 0xC0 != 0x80 {
      let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
      return length > index + 1 ? index + 1 : 0
    }
    return 0
  }
}
