import HTTPTypes
import NIOCore
import NIOHTTP1

/// Reads HTTP/1 requests (RFC 9112) of any method: SwiftNIO's decoder knows a list of them. Strict: what two recipients might
/// read in two ways is refused.
struct RequestDecoder: ByteToMessageDecoder {
  typealias InboundOut = HTTPServerRequestPart

  private enum State {
    case head
    case body(left: Int)
    case chunkSize
    case chunk(left: Int)
    case chunkEnd
    case trailers
  }

  /// Tells the handlers behind, once for each request, that a part of its head has come and not the whole. Empty lines before
  /// it are a part too.
  struct HeadHasBegun {}

  private var state = State.head
  /// How many bytes of the head hold no end of it.
  private var searched = 0
  private var hasBegun = false
  private static let headLimit = 64 << 10
  private static let lineLimit = 8 << 10

  mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
    switch state {
    case .head:
      guard let head = try head(&buffer, context) else { return .needMoreData }
      send(.head(head), context)
      try begin(head, context)
    case .body(let left):
      guard let part = read(left, &buffer, context) else { return .needMoreData }
      if left == part { end(context) } else { state = .body(left: left - part) }
    case .chunkSize:
      guard let line = try Self.line(&buffer) else { return .needMoreData }
      let size = try Self.chunkSize(line)
      state = size == 0 ? .trailers : .chunk(left: size)
    case .chunk(let left):
      guard let part = read(left, &buffer, context) else { return .needMoreData }
      state = left == part ? .chunkEnd : .chunk(left: left - part)
    case .chunkEnd:
      guard let line = try Self.line(&buffer) else { return .needMoreData }
      guard line.isEmpty else { throw HTTPParserError.invalidChunkSize }
      state = .chunkSize
    case .trailers:
      guard let line = try Self.line(&buffer) else { return .needMoreData }
      if line.isEmpty { end(context) }
    }
    return .continue
  }

  mutating func decodeLast(
    context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
  ) throws -> DecodingState {
    while try decode(context: context, buffer: &buffer) == .continue {}
    return .needMoreData
  }

  /// RFC 9112 §6.3, and §6.1: two lengths, or an unknown coding, are an attack.
  private mutating func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) throws {
    let codings = head.headers["transfer-encoding"]
    let lengths = head.headers["content-length"]
    if !codings.isEmpty {
      guard codings.count == 1, codings[0].isASCII, codings[0].lowercased() == "chunked", lengths.isEmpty,
        head.version == .http1_1
      else { throw HTTPParserError.unexpectedContentLength }
      state = .chunkSize
    } else if let length = lengths.first {
      guard lengths.count == 1, let number = Self.number(length, radix: 10) else {
        throw HTTPParserError.invalidContentLength
      }
      state = .body(left: number)
      if number == 0 { end(context) }
    } else {
      end(context)
    }
  }

  private mutating func end(_ context: ChannelHandlerContext) {
    state = .head
    send(.end(nil), context)
  }

  private func read(_ left: Int, _ buffer: inout ByteBuffer, _ context: ChannelHandlerContext) -> Int? {
    guard buffer.readableBytes > 0, let part = buffer.readSlice(length: min(left, buffer.readableBytes)) else {
      return nil
    }
    send(.body(part), context)
    return part.readableBytes
  }

  private func send(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
    context.fireChannelRead(Self.wrapInboundOut(part))
  }
}

extension RequestDecoder {
  /// - Returns: `nil` until all of it is there.
  private mutating func head(_ buffer: inout ByteBuffer, _ context: ChannelHandlerContext) throws -> HTTPRequestHead? {
    // Empty lines before a request are skipped (§2.2).
    let hasCome = buffer.readableBytes > 0
    while searched == 0, let length = Self.emptyLine(buffer.readableBytesView) {
      buffer.moveReaderIndex(forwardBy: length)
    }
    let bytes = buffer.readableBytesView
    guard let end = Self.end(of: bytes, from: bytes.startIndex + searched) else {
      guard bytes.count < Self.headLimit else { throw HTTPParserError.headerOverflow }
      if hasCome, !hasBegun { context.fireUserInboundEventTriggered(HeadHasBegun()) }
      hasBegun = hasBegun || hasCome
      // The end may have begun with the last two bytes. The first may be that of an empty line.
      searched = max(bytes.count - 2, bytes.isEmpty || bytes.elementsEqual("\r".utf8) ? 0 : 1)
      return nil
    }
    (searched, hasBegun) = (0, false)
    guard end.upperBound - bytes.startIndex <= Self.headLimit else { throw HTTPParserError.headerOverflow }
    // A byte is a character, until it is known what a field's value is.
    let text = String(String.UnicodeScalarView(bytes[..<end.lowerBound].map { Unicode.Scalar($0) }))
    buffer.moveReaderIndex(to: end.upperBound)
    return try Self.head(text)
  }

  /// The length of the empty line that the bytes begin with. A line may end in LF alone (§2.2).
  private static func emptyLine(_ bytes: ByteBufferView) -> Int? {
    if bytes.first == lineFeed { return 1 }
    return bytes.starts(with: "\r\n".utf8) ? 2 : nil
  }

  /// The end of a line and the empty line after it, from `start` on.
  private static func end(of bytes: ByteBufferView, from start: Int) -> Range<Int>? {
    var start = start
    while let line = bytes[start...].firstIndex(of: lineFeed) {
      start = line + 1
      if let length = emptyLine(bytes[start...]) { return line..<(start + length) }
    }
    return nil
  }

  private static let lineFeed = UInt8(ascii: "\n")

  private static func head(_ text: String) throws -> HTTPRequestHead {
    // By scalars: CR and LF together are one Character.
    let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.last == "\r" ? line.dropLast() : line
    }
    guard let first = lines.first, !text.unicodeScalars.contains("\0") else { throw HTTPParserError.invalidHeaderToken }
    var head = try requestLine(Substring(first))
    for line in lines.dropFirst() { head.headers.add(try field(Substring(line))) }
    guard head.version == .http1_0 || head.headers["host"].count == 1 else { throw HTTPParserError.invalidHeaderToken }
    return head
  }

  /// Other than in UTF-8, each byte stays a character, so that no two such values become one (RFC 9110 §5.5).
  private static func text(_ value: Substring.UnicodeScalarView) -> String {
    String(validating: value.lazy.map { UInt8(truncatingIfNeeded: $0.value) }, as: UTF8.self) ?? String(value)
  }

  /// RFC 9112 §3.
  private static func requestLine(_ line: Substring) throws -> HTTPRequestHead {
    let parts = line.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 3, let method = HTTPRequest.Method(rawValue: String(parts[0])) else {
      throw HTTPParserError.invalidMethod
    }
    guard !parts[1].isEmpty, parts[1].utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw HTTPParserError.invalidURL
    }
    guard parts[2] == "HTTP/1.1" || parts[2] == "HTTP/1.0" else { throw HTTPParserError.invalidVersion }
    return HTTPRequestHead(
      version: parts[2] == "HTTP/1.0" ? .http1_0 : .http1_1, method: HTTPMethod(rawValue: method.rawValue),
      uri: String(parts[1]))
  }

  /// RFC 9112 §5: no white space before the colon, and no line that goes on in the next.
  private static func field(_ line: Substring) throws -> (String, String) {
    guard let colon = line.firstIndex(of: ":"), HTTPField.Name(String(line[..<colon])) != nil else {
      throw HTTPParserError.invalidHeaderToken
    }
    let value = line[line.index(after: colon)...].unicodeScalars
    guard !value.contains("\r") else { throw HTTPParserError.invalidHeaderToken }
    let isSpace: (Unicode.Scalar) -> Bool = { $0 == " " || $0 == "\t" }
    let end = value.lastIndex { !isSpace($0) }.map { value.index(after: $0) } ?? value.startIndex
    return (String(line[..<colon]), text(value[..<end].drop(while: isSpace)))
  }

  /// A line within a body. It does not end in LF alone, which is for heads (§2.2).
  ///
  /// - Returns: `nil` until it ended.
  private static func line(_ buffer: inout ByteBuffer) throws -> String? {
    let bytes = buffer.readableBytesView
    guard let end = bytes.firstIndex(of: lineFeed) else {
      guard bytes.count < lineLimit else { throw HTTPParserError.headerOverflow }
      return nil
    }
    guard end > bytes.startIndex, bytes[end - 1] == UInt8(ascii: "\r") else { throw HTTPParserError.invalidChunkSize }
    let line = String(decoding: bytes[..<(end - 1)], as: UTF8.self)
    buffer.moveReaderIndex(to: end + 1)
    return line
  }

  /// RFC 9112 §7.1; extensions are ignored.
  private static func chunkSize(_ line: String) throws -> Int {
    // What ends a line for somebody else.
    guard !line.unicodeScalars.contains(where: { $0 == "\r" || $0 == "\n" }) else {
      throw HTTPParserError.invalidChunkSize
    }
    let size = line.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
    guard let number = number(String(size), radix: 16) else { throw HTTPParserError.invalidChunkSize }
    return number
  }

  private static func number(_ text: String, radix: Int) -> Int? {
    guard !text.isEmpty, text.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
    return Int(text, radix: radix)
  }
}

extension String {
  fileprivate var isASCII: Bool { utf8.allSatisfy { $0 < 0x80 } }
}

extension HTTPHeaders {
  fileprivate mutating func add(_ field: (name: String, value: String)) { add(name: field.name, value: field.value) }
}
