/// An event of an event stream (WHATWG HTML §9.2, *Server-sent events*).
///
/// ```swift
/// for try await event in EventSource(backend, "prices") where event.type == "price" {
///   show(try JSONDecoder().decode(Price.self, from: Data(event.data.utf8)))
/// }
/// ```
public struct ServerSentEvent: Sendable, Hashable {
  /// The type of the event. The default of the format is `message`.
  public var type: String
  /// The data: the lines of the field `data`, joined with a line feed.
  public var data: String
  /// The position in the stream after this event: the id of the event, or of the last one before it
  /// that had one. Empty if there was none.
  ///
  /// ``EventSource`` sends it as `Last-Event-ID` to continue behind the event.
  public var id: String
  /// The wait before a reconnection that the server asks for in this event, in milliseconds on the
  /// wire; `nil` for none.
  public var retry: Duration?

  /// Creates an event, for a server or for a test.
  public init(type: String = "message", data: String, id: String = "", retry: Duration? = nil) {
    self.type = type
    self.data = data
    self.id = id
    self.retry = retry
  }
}
