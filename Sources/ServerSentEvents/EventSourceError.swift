public import ReactorCore

/// The reason why an event stream ended with an error.
///
/// Its `description` is a sentence for logs and developers. It shows no query, data or id, and of
/// the header fields only the media type.
@nonexhaustive public enum EventSourceError: Error, Sendable {
  /// A line of the stream is longer than `limit` bytes.
  case lineTooLong(limit: Int)
  /// The data of one event, with the names of its fields, is larger than `limit` bytes.
  case eventTooLarge(limit: Int)
  /// An event's id is longer than `limit` bytes. A server would not accept it as a header field.
  case idTooLong(limit: Int)
  /// A field of an event that is to be encoded contains a line end or, as an id, a null character.
  case invalidField(String)
  /// The response is a success, but not an event stream. The text is its `Content-Type`.
  case notAnEventStream(contentType: String?)
  /// The request failed. A refusal of the server is `server`, with its status and body.
  case request(ReactorError)
}

extension EventSourceError: CustomStringConvertible {
  /// The failure and the remedy, in one line.
  public var description: String {
    switch self {
    case .lineTooLong(let limit):
      "a line of the event stream is longer than \(limit) bytes; check that the server sends text/event-stream"
    case .eventTooLarge(let limit):
      "an event is larger than \(limit) bytes; send a URL in the event instead of the data"
    case .idTooLong(let limit): "the id of an event is longer than \(limit) bytes; send a shorter one"
    case .invalidField(let name): "the field \(name) of the event contains a line end or a null character; remove it"
    case .notAnEventStream(let type):
      "the response is \(type.map { String($0.prefix(100)) } ?? "of no stated type"), not text/event-stream; check the resource, and its Accept"
    case .request(let error): error.description
    }
  }
}
