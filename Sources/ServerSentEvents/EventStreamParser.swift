/// A parser of event streams, which is fed with bytes as they arrive (WHATWG HTML §9.2.6).
///
/// ```swift
/// var parser = EventStreamParser()
/// for try await bytes in body {
///   try parser.feed(bytes) { event in print(event.data) }
/// }
/// ```
///
/// The parser passes an event on with the byte that ends it: a carriage return ends a line at once,
/// and a line feed behind it counts as nothing. An event that the stream does not end is dropped.
/// Bytes that are not UTF-8 become U+FFFD. The time is proportional to the bytes, however they are
/// cut into pieces.
///
/// A line is at most 1 MiB, the data of an event 4 MiB with its field names, an id 1 KiB.
///
/// A stream belongs to one connection. For the next one, create a parser with the ``lastEventID``
/// of the last. By the text of the standard, a new stream begins with an empty id, and an event
/// without one would reset the position. The browsers keep the id, and so does this parser.
public struct EventStreamParser: Sendable {
  /// The position in the stream: the id of the last block that ended, whether it was an event or
  /// only moved the position.
  public private(set) var lastEventID: String
  /// The wait before a reconnection that the server last asked for; `nil` for none.
  public private(set) var retry: Duration?

  /// The error that ended the stream. It is thrown again by each later call.
  private var failure: EventSourceError?
  /// The part of the present line that earlier pieces brought.
  private var begunLine: [UInt8] = []
  private var isFirstLine = true
  /// The last byte was a carriage return, so a line feed belongs to it.
  private var followsCarriageReturn = false
  private var block = Block()

  /// Creates a parser for one connection.
  ///
  /// - Parameter lastEventID: The position that the request of the connection named.
  public init(lastEventID: String = "") { self.lastEventID = lastEventID }

  /// Parses the next bytes of the stream, and calls `event` with each event that they end, in
  /// order.
  ///
  /// - Throws: ``EventSourceError/lineTooLong(limit:)``, ``EventSourceError/eventTooLarge(limit:)``
  ///   or ``EventSourceError/idTooLong(limit:)``, after the events before it. Then the stream
  ///   cannot be continued, and each later call throws the same error.
  public mutating func feed(
    _ bytes: some Sequence<UInt8>, _ event: (ServerSentEvent) -> Void
  ) throws(EventSourceError) {
    try readItems(of: bytes) { if case .event(let parsed) = $0 { event(parsed) } }
  }
}

extension EventStreamParser {
  /// A result of parsing.
  package enum Item: Sendable, Hashable {
    case event(ServerSentEvent)
    /// A block without data ended, with this id. It moves the position and is no event.
    case position(String)
  }

  /// The limits, in bytes.
  package enum Limit {
    package static let line = 1 << 20
    package static let event = 4 << 20
    package static let id = 1 << 10
  }

  /// The fields since the last empty line: the buffers of WHATWG HTML §9.2.6.
  private struct Block: Sendable {
    /// The *last event ID buffer*; `nil` while the block has no id, which leaves the position.
    var id: String?
    var type = ""
    /// Each line of data, with a line feed behind it.
    var data: [UInt8] = []
    /// The size of the lines of data, with their field names.
    var size = 0
    var retry: Duration?
  }

  /// Parses the next bytes, and also reports blocks that only move the position.
  package mutating func readItems(of bytes: some Sequence<UInt8>, _ body: (Item) -> Void) throws(EventSourceError) {
    if bytes.withContiguousStorageIfAvailable({ split($0, body) }) == nil {
      Array(bytes).withUnsafeBufferPointer { split($0, body) }
    }
    if let failure { throw failure }
  }

  /// Ends each line of `bytes`, and notes the rest for the next piece.
  private mutating func split(_ bytes: UnsafeBufferPointer<UInt8>, _ body: (Item) -> Void) {
    guard failure == nil, let first = bytes.first else { return }
    var start = followsCarriageReturn && first == .lineFeed ? 1 : 0
    followsCarriageReturn = false
    var ends = LineEnds(of: bytes)
    while let end = ends.next(from: start) {
      endLine(with: UnsafeBufferPointer(rebasing: bytes[start..<end]), body)
      if failure != nil { return }
      start = end + 1
      guard bytes[end] == .carriageReturn else { continue }
      if start == bytes.count {
        followsCarriageReturn = true
      } else if bytes[start] == .lineFeed {
        start += 1
      }
    }
    begin(UnsafeBufferPointer(rebasing: bytes[start...]))
  }

  /// Adds the begin of a line that a later piece ends.
  private mutating func begin(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard begunLine.count + bytes.count <= Limit.line else { return failure = .lineTooLong(limit: Limit.line) }
    begunLine.append(contentsOf: bytes)
  }

  /// Ends the line whose last bytes are `rest`.
  private mutating func endLine(with rest: UnsafeBufferPointer<UInt8>, _ body: (Item) -> Void) {
    guard !begunLine.isEmpty else {
      guard rest.count <= Limit.line else { return failure = .lineTooLong(limit: Limit.line) }
      return endLine(rest, body)
    }
    begin(rest)
    guard failure == nil else { return }
    // Moved out, since the line is read while the other fields change.
    var line: [UInt8] = []
    swap(&line, &begunLine)
    line.withUnsafeBufferPointer { endLine($0, body) }
    line.removeAll(keepingCapacity: line.capacity <= 1 << 16)
    swap(&line, &begunLine)
  }

  private mutating func endLine(_ line: UnsafeBufferPointer<UInt8>, _ body: (Item) -> Void) {
    var line = line
    if isFirstLine {
      isFirstLine = false
      // *UTF-8 decode* removes one byte order mark. It contains no line end, so the first line has
      // it.
      if line.starts(with: [0xEF, 0xBB, 0xBF]) { line = UnsafeBufferPointer(rebasing: line.dropFirst(3)) }
    }
    if line.isEmpty { endBlock(body) } else { add(EventStreamField(line), size: line.count + 1) }
  }

  private mutating func add(_ field: EventStreamField, size: Int) {
    switch field.name {
    case .data:
      block.size += size
      guard block.size <= Limit.event else { return failure = .eventTooLarge(limit: Limit.event) }
      block.data.append(contentsOf: field.value)
      block.data.append(.lineFeed)
    case .event: block.type = field.isEqual(to: "message") ? "" : String(decoding: field.value, as: UTF8.self)
    case .id:
      guard !field.value.contains(0) else { return }
      guard field.value.count <= Limit.id else { return failure = .idTooLong(limit: Limit.id) }
      block.id = String(decoding: field.value, as: UTF8.self)
    case .retry:
      guard let milliseconds = field.number else { return }
      block.retry = .milliseconds(milliseconds)
      retry = block.retry
    case nil: break
    }
  }

  /// *Dispatches the event*, if there is data. The position moves in either case.
  private mutating func endBlock(_ body: (Item) -> Void) {
    if let id = block.id { lastEventID = id }
    if block.size > 0 {
      let data = block.data.withUnsafeBufferPointer { String(decoding: $0.dropLast(), as: UTF8.self) }
      body(
        .event(
          ServerSentEvent(
            type: block.type.isEmpty ? "message" : block.type, data: data, id: lastEventID, retry: block.retry)))
    } else if block.id != nil {
      body(.position(lastEventID))
    }
    block.data.removeAll(keepingCapacity: block.data.capacity <= 1 << 16)
    (block.id, block.type, block.size, block.retry) = (nil, "", 0, nil)
  }
}
