public import ReactorCore

extension Backend {
  /// Requests `resource` once, and returns the events of its response, until the response ends.
  ///
  /// ```swift
  /// let chat = try Resource("chat", method: .post, json: prompt)
  /// for try await event in backend.events(for: chat) {
  ///   guard event.data != "[DONE]" else { break }
  ///   show(event.data)
  /// }
  /// ```
  ///
  /// The request is sent with the first `next` of each iterator, and is not repeated: a response
  /// that is cut off throws an error behind the events that have arrived. The server's own mark of
  /// an end, such as `[DONE]`, is an event like any other. Leaving the loop, or cancelling its
  /// task, ends the exchange; a cancelled task gets ``EventSourceError/request(_:)`` with
  /// `cancelled`.
  ///
  /// For a feed that continues after an interruption, use ``EventSource``.
  ///
  /// - Parameters:
  ///   - resource: The resource to request, with `Accept: text/event-stream` unless it has the
  ///     field. Its `Resource.timeout` ends with the head of the response.
  ///   - clock: The clock that measures the timeout.
  public func events(
    for resource: Resource, clock: any Clock<Duration> = ContinuousClock()
  ) -> some AsyncSequence<ServerSentEvent, EventSourceError> & Sendable {
    ResponseEvents(backend: self, resource: resource, clock: clock)
  }
}

/// The events of one response.
private struct ResponseEvents: AsyncSequence, Sendable {
  let backend: Backend
  let resource: Resource
  let clock: any Clock<Duration>

  func makeAsyncIterator() -> Iterator { Iterator(request: self) }

  struct Iterator: AsyncIteratorProtocol {
    /// `nil` once it is sent.
    var request: ResponseEvents?
    var items: EventStreamConnection.Items.Iterator?

    mutating func next(isolation actor: isolated (any Actor)?) async throws(EventSourceError) -> ServerSentEvent? {
      if let request {
        self.request = nil
        items = try await request.backend.connect(toEventsOf: request.resource, clock: request.clock)
          .items.makeAsyncIterator()
      }
      while let item = try await items?.next(isolation: actor) {
        if case .event(let event) = item { return event }
      }
      items = nil
      return nil
    }

    mutating func next() async throws(EventSourceError) -> ServerSentEvent? { try await next(isolation: #isolation) }
  }
}
