import Foundation
import NIOCore

/// A name with JSON, as an `EventSource` reads it (HTML §9.2).
struct ServerSentEvent: Sendable {
  let name: String
  let data: Data

  init(_ name: String, _ value: some Encodable) {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    self.name = name
    data = (try? encoder.encode(value)) ?? Data("null".utf8)
  }

  /// JSON on one line has no line break that would end it early.
  var buffer: ByteBuffer {
    var buffer = ByteBuffer(string: "event: \(name)\ndata: ")
    buffer.writeBytes(data)
    buffer.writeString("\n\n")
    return buffer
  }
}
