#if Valkey
  public import Foundation
  import NIOCore

  /// A reply of a server that speaks RESP, the protocol of Redis and Valkey, in version 2 or 3.
  public indirect enum ValkeyReply: Sendable, Hashable {
    /// A simple, bulk or verbatim string. Its bytes may be no text.
    case string(Data)
    /// An error, such as `WRONGPASS invalid username-password pair`.
    case error(String)
    /// An integer.
    case integer(Int64)
    /// A number of RESP3, as its text.
    case number(String)
    /// A Boolean value of RESP3.
    case boolean(Bool)
    /// An array or a set.
    case array([ValkeyReply])
    /// A map of RESP3, as its keys and values in turn.
    case map([ValkeyReply])
    /// An unsolicited message, such as one from a subscription.
    case push([ValkeyReply])
    /// Nothing.
    case null
  }

  extension ValkeyReply {
    /// The elements of an array or a push; `nil` for every other reply.
    public var elements: [ValkeyReply]? {
      switch self {
      case .array(let elements), .push(let elements), .map(let elements): elements
      default: nil
      }
    }

    /// The bytes of a string; `nil` for every other reply.
    public var bytes: Data? { if case .string(let bytes) = self { bytes } else { nil } }

    /// The text of a string; `nil` for every other reply.
    public var text: String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    /// The number of an integer, or of a string of decimal digits; `nil` for every other reply.
    public var number: UInt64? {
      switch self {
      case .integer(let number): UInt64(exactly: number)
      case .string(let bytes): String(data: bytes, encoding: .ascii).flatMap { UInt64($0) }
      default: nil
      }
    }
  }

  /// An error in the bytes that a server has sent. The connection ends.
  struct RESPError: Error, Hashable, CustomStringConvertible {
    var description: String
  }

  /// A decoder of RESP2 and RESP3 replies.
  ///
  /// It holds at most ``limit`` bytes of a reply that is not complete. Replies within replies are
  /// at most eight deep.
  struct RESPDecoder: NIOSingleStepByteToMessageDecoder {
    typealias InboundOut = ValkeyReply

    /// The greatest size of a reply in bytes.
    let limit: Int
    private static let depthLimit = 8
    private static let lineLimit = 65_536

    init(limit: Int) { self.limit = limit }

    mutating func decode(buffer: inout ByteBuffer) throws -> ValkeyReply? {
      var copy = buffer
      guard let reply = try reply(&copy, depth: 0) else {
        guard buffer.readableBytes <= limit else {
          throw RESPError(description: "a reply is larger than \(limit) bytes")
        }
        return nil
      }
      buffer = copy
      return reply
    }

    mutating func decodeLast(buffer: inout ByteBuffer, seenEOF: Bool) throws -> ValkeyReply? {
      try decode(buffer: &buffer)
    }

    /// Returns the next reply; `nil` if it is not complete.
    private func reply(_ buffer: inout ByteBuffer, depth: Int) throws -> ValkeyReply? {
      guard depth < Self.depthLimit else {
        throw RESPError(description: "a reply is more than \(Self.depthLimit) deep")
      }
      guard let type = buffer.readInteger(as: UInt8.self) else { return nil }
      guard let line = try line(&buffer) else { return nil }
      switch type {
      case UInt8(ascii: "+"): return .string(Data(line.readableBytesView))
      case UInt8(ascii: "-"): return .error(String(buffer: line))
      case UInt8(ascii: ":"):
        guard let number = Int64(String(buffer: line)) else {
          throw RESPError(description: "an integer is not a number")
        }
        return .integer(number)
      case UInt8(ascii: ","), UInt8(ascii: "("): return .number(String(buffer: line))
      case UInt8(ascii: "#"):
        guard let flag = ["t": true, "f": false][String(buffer: line)] else {
          throw RESPError(description: "a Boolean is neither t nor f")
        }
        return .boolean(flag)
      case UInt8(ascii: "_"): return .null
      case UInt8(ascii: "$"): return try bulk(&buffer, line).map { $0.map(ValkeyReply.string) ?? .null }
      case UInt8(ascii: "!"):
        return try bulk(&buffer, line).map { $0.map { .error(String(decoding: $0, as: UTF8.self)) } ?? .null }
      // Three letters name the format, and a colon follows.
      case UInt8(ascii: "="):
        return try bulk(&buffer, line).map { $0.map { .string(Data($0.dropFirst(4))) } ?? .null }
      case UInt8(ascii: "*"), UInt8(ascii: "~"):
        return try elements(&buffer, line, depth: depth).map { $0.map(ValkeyReply.array) ?? .null }
      case UInt8(ascii: ">"):
        return try elements(&buffer, line, depth: depth).map { $0.map(ValkeyReply.push) ?? .null }
      case UInt8(ascii: "%"):
        return try elements(&buffer, line, depth: depth, perElement: 2).map { $0.map(ValkeyReply.map) ?? .null }
      // Attributes of the reply that follows.
      case UInt8(ascii: "|"):
        guard try elements(&buffer, line, depth: depth, perElement: 2) != nil else { return nil }
        return try reply(&buffer, depth: depth + 1)
      default: throw RESPError(description: "a reply begins with byte \(type)")
      }
    }

    /// Returns the rest of the line without its end; `nil` if it is not complete.
    private func line(_ buffer: inout ByteBuffer) throws -> ByteBuffer? {
      guard let end = buffer.readableBytesView.prefix(Self.lineLimit).firstIndex(of: UInt8(ascii: "\r")) else {
        guard buffer.readableBytes < Self.lineLimit else {
          throw RESPError(description: "a line is longer than \(Self.lineLimit) bytes")
        }
        return nil
      }
      let length = end - buffer.readerIndex
      guard buffer.readableBytes >= length + 2 else { return nil }
      let line = buffer.readSlice(length: length)
      guard buffer.readInteger(as: UInt8.self) == UInt8(ascii: "\r"),
        buffer.readInteger(as: UInt8.self) == UInt8(ascii: "\n")
      else { throw RESPError(description: "a line does not end with CR LF") }
      return line
    }

    /// Returns the bytes of a string; `.some(nil)` for null, `nil` if it is not complete.
    private func bulk(_ buffer: inout ByteBuffer, _ line: ByteBuffer) throws -> Data?? {
      let length = try count(line)
      guard length >= 0 else { return .some(nil) }
      guard buffer.readableBytes >= length + 2 else { return nil }
      let bytes = Data(buffer.readableBytesView.prefix(length))
      buffer.moveReaderIndex(forwardBy: length)
      guard buffer.readInteger(as: UInt16.self) == 0x0D0A else {
        throw RESPError(description: "a string does not end with CR LF")
      }
      return bytes
    }

    private func elements(
      _ buffer: inout ByteBuffer, _ line: ByteBuffer, depth: Int, perElement: Int = 1
    ) throws -> [ValkeyReply]?? {
      let count = try count(line)
      guard count >= 0 else { return .some(nil) }
      var elements: [ValkeyReply] = []
      for _ in 0..<(count * perElement) {
        guard let element = try reply(&buffer, depth: depth + 1) else { return nil }
        elements.append(element)
      }
      return elements
    }

    /// Returns a length, which is -1 for null and otherwise at most ``limit``.
    private func count(_ line: ByteBuffer) throws -> Int {
      guard let count = Int(String(buffer: line)), count >= -1, count <= limit else {
        throw RESPError(description: "a length is not a number from -1 to \(limit)")
      }
      return count
    }
  }
#endif
