public import ServerSentEvents
public import Testing

/// A conformance suite for parsers of event streams (WHATWG HTML §9.2).
///
/// ```swift
/// @Test func `my parser reads every stream`() {
///   EventStreamConformance { pieces in
///     var parser = MyParser()
///     let events = pieces.flatMap { parser.feed($0) }
///     return .init(
///       events: events.map { ServerSentEvent(type: $0.name, data: $0.text, id: $0.id) })
///   }.run()
/// }
/// ```
///
/// The suite gives each stream to the parser in one piece, cut in two at every byte, and byte by
/// byte. The events must be the same. The rows are those of the page *The rules of event streams*
/// of ServerSentEvents.
///
/// A violated rule is recorded as an issue with its name, at the caller's line. The other rules are
/// still checked.
public struct EventStreamConformance: Sendable {
  private let parse: @Sendable (_ pieces: [[UInt8]]) throws -> Parsed

  /// The result of parsing a stream.
  public struct Parsed: Sendable {
    /// The events, in order. Their `retry` is not compared.
    public var events: [ServerSentEvent]
    /// The position behind the stream; `nil` if the parser has none.
    public var lastEventID: String?
    /// The wait that the server last asked for, in milliseconds; `nil` if there was none, or if the
    /// parser has none. A limit of the parser is its own.
    public var retry: Int64?

    /// Creates a result. A position of `nil` is not compared, nor is the wait then.
    public init(events: [ServerSentEvent], lastEventID: String? = nil, retry: Int64? = nil) {
      self.events = events
      self.lastEventID = lastEventID
      self.retry = retry
    }
  }

  /// Creates a suite.
  ///
  /// - Parameter parse: Parses one stream, from its first piece to its last, with a new parser.
  public init(_ parse: @escaping @Sendable (_ pieces: [[UInt8]]) throws -> Parsed) { self.parse = parse }

  /// Checks every rule.
  public func run(sourceLocation: SourceLocation = #_sourceLocation) {
    for row in Row.all { check(row, sourceLocation) }
  }

  private func check(_ row: Row, _ sourceLocation: SourceLocation) {
    let bytes = row.bytes
    var cuts = (1..<max(bytes.count, 1)).map { [Array(bytes[..<$0]), Array(bytes[$0...])] }
    cuts += [[bytes], bytes.map { [$0] }]
    for pieces in cuts {
      do {
        let parsed = try parse(pieces)
        guard let difference = row.difference(from: parsed) else { continue }
        Issue.record("\(row.name), in \(pieces.count) pieces: \(difference)", sourceLocation: sourceLocation)
      } catch {
        Issue.record("\(row.name), in \(pieces.count) pieces: threw \(error)", sourceLocation: sourceLocation)
      }
      // One cut is enough to show it.
      return
    }
  }
}
