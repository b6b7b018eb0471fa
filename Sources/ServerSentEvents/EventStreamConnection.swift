package import Foundation
package import HTTPTypes
package import ReactorCore

/// One response with an event stream: its head, and what arrives afterwards.
package struct EventStreamConnection: Sendable {
  /// The head. Its status is a success; 204 means that the server ends the stream for good.
  package let response: HTTPResponse
  /// The URL that has answered: after redirects, the last one's.
  package let url: URL
  package let items: Items

  /// A part of the stream that arrived.
  package enum Item: Sendable, Hashable {
    case event(ServerSentEvent)
    /// A block without data, which moves the position to this id.
    case position(String)
    /// The wait before a reconnection, as the server has asked for it.
    case retry(Duration)
    /// Bytes that ended none of these, such as a comment: a sign of life. One for each piece.
    case life
  }

  /// The parts of the stream, in order, for one reader. The end of the stream and the release of
  /// the iterator end the exchange.
  ///
  /// - Throws: the limits of ``EventStreamParser``, behind the items before them, and
  ///   ``EventSourceError/request(_:)`` if the body ends early, with `cancelled` included.
  package struct Items: AsyncSequence, Sendable {
    let body: ResponseBody
    let lastEventID: String

    package func makeAsyncIterator() -> Iterator {
      Iterator(body: body.makeAsyncIterator(), parser: EventStreamParser(lastEventID: lastEventID))
    }

    package struct Iterator: AsyncIteratorProtocol {
      fileprivate var body: ResponseBody.Iterator?
      fileprivate var parser: EventStreamParser
      /// The items of the last piece, of which `taken` were returned.
      private var items: [Item] = []
      private var taken = 0
      /// The error behind the items.
      private var failure: EventSourceError?

      fileprivate init(body: ResponseBody.Iterator, parser: EventStreamParser) {
        self.body = body
        self.parser = parser
      }

      package mutating func next(isolation actor: isolated (any Actor)?) async throws(EventSourceError) -> Item? {
        while taken == items.count {
          items.removeAll(keepingCapacity: items.count < 1_024)
          taken = 0
          if let failure { throw failure }
          guard let piece = try await piece(actor) else { return nil }
          read(piece)
        }
        taken += 1
        return items[taken - 1]
      }

      package mutating func next() async throws(EventSourceError) -> Item? { try await next(isolation: #isolation) }

      private mutating func piece(_ actor: isolated (any Actor)?) async throws(EventSourceError) -> ArraySlice<UInt8>? {
        do {
          let piece = try await body?.next(isolation: actor)
          if piece == nil { body = nil }
          return piece
        } catch {
          body = nil
          let error = (error as? ReactorError) ?? (error is CancellationError ? .cancelled : .network(error))
          throw .request(error)
        }
      }

      private mutating func read(_ piece: ArraySlice<UInt8>) {
        let retry = parser.retry
        var found: [Item] = []
        do throws(EventSourceError) {
          try parser.readItems(of: piece) { item in
            switch item {
            case .event(let event): found.append(.event(event))
            case .position(let id): found.append(.position(id))
            }
          }
        } catch {
          failure = error
          body = nil
        }
        if let new = parser.retry, new != retry { found.append(.retry(new)) }
        items = found.isEmpty && failure == nil ? [.life] : found
      }
    }
  }
}

extension Backend {
  /// Requests the event stream of `resource`, and returns at the head of the response. It is sent
  /// once, without retries.
  ///
  /// The request has `Accept: text/event-stream` and `Cache-Control: no-cache` (WHATWG HTML
  /// §9.2.2), unless the resource says otherwise, and `Last-Event-ID` if there is a position that a
  /// header field can contain.
  ///
  /// - Throws: ``EventSourceError/notAnEventStream(contentType:)``;
  ///   ``EventSourceError/request(_:)`` for a status that is not a success, with the status, and
  ///   for the other errors of a fetch.
  package func connect(
    toEventsOf resource: Resource, lastEventID: String = "", clock: any Clock<Duration>
  ) async throws(EventSourceError) -> EventStreamConnection {
    let stream: Backend.Stream
    do throws(ReactorError) {
      stream = try await self.stream(for: Self.eventStream(of: resource, lastEventID: lastEventID), clock: clock)
    } catch {
      throw .request(error)
    }
    let type = stream.response.headerFields[.contentType]
    guard stream.response.status == .noContent || Self.isEventStream(type) else {
      throw .notAnEventStream(contentType: type)
    }
    return EventStreamConnection(
      response: stream.response, url: stream.url,
      items: EventStreamConnection.Items(body: stream.body, lastEventID: lastEventID))
  }

  static func eventStream(of resource: Resource, lastEventID: String) -> Resource {
    var resource = resource
    if resource.headers[.accept] == nil { resource.headers[.accept] = "text/event-stream" }
    if resource.headers[.cacheControl] == nil { resource.headers[.cacheControl] = "no-cache" }
    // Without a line end, which ends a field of a stream too. A null character would be ignored.
    if let name = HTTPField.Name("Last-Event-ID") {
      let canBeSent = !lastEventID.isEmpty && HTTPField.isValidValue(lastEventID)
      resource.headers[name] = canBeSent ? lastEventID : nil
    }
    return resource
  }

  /// Returns `true` for `text/event-stream`, whatever its parameters are: an event stream is always
  /// UTF-8.
  static func isEventStream(_ contentType: String?) -> Bool {
    let type = contentType?.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
    return type == "text/event-stream"
  }
}
