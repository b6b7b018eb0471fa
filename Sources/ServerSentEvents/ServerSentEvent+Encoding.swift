extension ServerSentEvent {
  /// The bytes of the event, for a server that sends it: lines in UTF-8 that end with a line feed,
  /// and an empty line.
  ///
  /// Data with a carriage return, a line feed or both becomes several lines `data`, which a client
  /// joins with line feeds. An empty ``id`` and the type `message` write no field, so a client
  /// keeps its position.
  ///
  /// - Throws: ``EventSourceError/invalidField(_:)`` if the type or the id contains a line end, or
  ///   the id a null character. A client could not read them back.
  public var encoded: [UInt8] {
    get throws(EventSourceError) {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(data.utf8.count + 64)
      if !id.isEmpty {
        guard !id.utf8.contains(where: { $0 == 0 || Self.endsLine($0) }) else { throw .invalidField("id") }
        Self.append("id: ", id.utf8, to: &bytes)
      }
      if !type.isEmpty, type != "message" {
        guard !type.utf8.contains(where: Self.endsLine) else { throw .invalidField("event") }
        Self.append("event: ", type.utf8, to: &bytes)
      }
      if let retry { Self.append("retry: ", String(max(0, retry.wholeMilliseconds)).utf8, to: &bytes) }
      for line in Self.lines(of: data) { Self.append("data: ", line, to: &bytes) }
      bytes.append(.lineFeed)
      return bytes
    }
  }

  /// Returns the bytes of a comment, which clients ignore. A server sends one from time to time, so
  /// that neither a proxy nor the client takes a quiet connection for a dead one.
  ///
  /// - Parameter text: The text, of any number of lines. Empty: the shortest heartbeat.
  public static func comment(_ text: String = "") -> [UInt8] {
    var bytes: [UInt8] = []
    for line in lines(of: text) { append(line.isEmpty ? ":" : ": ", line, to: &bytes) }
    bytes.append(.lineFeed)
    return bytes
  }

  /// Returns the lines of `text`, which a CR, an LF or both end (WHATWG HTML §9.2.5). In UTF-8, a
  /// CRLF is two elements, and one character of a `String`.
  private static func lines(of text: String) -> [Substring.UTF8View] {
    let bytes = text.utf8[...]
    guard bytes.contains(where: endsLine) else { return [bytes] }
    var (lines, start, index) = ([Substring.UTF8View](), bytes.startIndex, bytes.startIndex)
    while index < bytes.endIndex {
      let byte = bytes[index]
      let next = bytes.index(after: index)
      if endsLine(byte) {
        lines.append(bytes[start..<index])
        start =
          byte == .carriageReturn && next < bytes.endIndex && bytes[next] == .lineFeed ? bytes.index(after: next) : next
        index = start
      } else {
        index = next
      }
    }
    return lines + [bytes[start...]]
  }

  private static func endsLine(_ byte: UInt8) -> Bool { byte == .lineFeed || byte == .carriageReturn }

  private static func append(_ name: StaticString, _ value: some Sequence<UInt8>, to bytes: inout [UInt8]) {
    name.withUTF8Buffer { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: value)
    bytes.append(.lineFeed)
  }
}

extension UInt8 {
  static let lineFeed = UInt8(ascii: "\n")
  static let carriageReturn = UInt8(ascii: "\r")
}

extension Duration {
  /// The duration in milliseconds, rounded down; within the bounds of an `Int64`.
  var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflows) = seconds.multipliedReportingOverflow(by: 1_000)
    guard !overflows else { return seconds < 0 ? .min : .max }
    let (sum, exceeds) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
    return exceeds ? (seconds < 0 ? .min : .max) : sum
  }
}
