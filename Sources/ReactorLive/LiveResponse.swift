import Foundation
import HTTPCaching
import HTTPTypes
package import ReactorCore

/// The request for a stream, or for a long poll.
package struct LiveRequest: Sendable {
  /// The place behind which it begins; empty for none.
  package var lastEventID: String
  /// The time for which the server may hold its only answer back (RFC 7240 §4.3); `nil` for a
  /// stream.
  package var wait: Duration?
}

/// The response to the request for a stream, whose body has yet to arrive.
package struct LiveResponse: Sendable {
  var status: Int
  var contentType: String?
  var body: ResponseBody
  /// The place behind which the stream begins, as the server says it (Mercure); `nil` if it does
  /// not.
  var lastEventID: String?

  package init(status: Int, contentType: String?, body: ResponseBody, lastEventID: String? = nil) {
    (self.status, self.contentType, self.body, self.lastEventID) = (status, contentType, body, lastEventID)
  }

  init(_ stream: Backend.Stream) {
    let fields = stream.response.headerFields
    self.init(
      status: stream.response.status.code, contentType: fields[.contentType], body: stream.body,
      lastEventID: HTTPField.Name("Last-Event-ID").flatMap { fields[$0] })
  }

  /// A Boolean value that indicates whether the media type is `text/event-stream`, whatever its
  /// parameters.
  var isEventStream: Bool {
    let type = contentType?.split(separator: ";", maxSplits: 1).first
    return type?.trimmingCharacters(in: .whitespaces).lowercased() == "text/event-stream"
  }
}

extension LayerContext {
  /// Returns a function that reads a reference of an event: the URL of its keys, or `nil` if it is
  /// outside of the layer's API.
  ///
  /// - Parameter base: the URL of the stream, to which references are relative.
  func urlReader(relativeTo base: String) -> @Sendable (String) -> String? {
    let stream = URL(string: base)
    let api = KeySet(paths: [NormalURL.spelling(of: backend?.baseURL.absoluteString ?? base)])
    return { [weak self] reference in
      guard let self, let url = URL(string: reference, relativeTo: stream) else { return nil }
      let key = key(ofURL: url.absoluteString)
      return api.contains(key) ? key.url : nil
    }
  }
}
