public import Foundation
public import HTTPTypes
import Synchronization

extension Backend {
  /// A response whose body arrives piece by piece.
  public struct Stream: Sendable {
    /// The status, which is a success, and the header fields.
    public let response: HTTPResponse
    /// The URL that has answered: after redirects, the last one's.
    public let url: URL
    /// The body. Its errors are ``ReactorError``.
    public let body: ResponseBody
  }

  /// Sends the request for `resource`, and returns at the head of the response.
  ///
  /// ```swift
  /// let stream = try await backend.stream(for: Resource("chat", method: .post, json: prompt))
  /// for try await piece in stream.body { show(piece) }
  /// ```
  ///
  /// The request passes the middlewares as any other: it is signed, and sent once more with a new
  /// credential after a 401. They see the head with an empty body, and ``logging`` reports the
  /// head. Nothing is cached or retried, and the request is sent once for each call of a
  /// middleware's `next`. Releasing ``Stream/body`` ends the exchange.
  ///
  /// - Parameters:
  ///   - resource: The resource to request. Its ``Resource/timeout``, like the transport's, is the
  ///     limit of the time until the head.
  ///   - clock: The clock that measures ``Resource/timeout``, and ten seconds in which the body of
  ///     an error is read.
  /// - Throws: ``ReactorError/server(_:body:)`` for a status that is not a success, with the first
  ///   64 KiB of its body; ``ReactorError/streamingUnsupported``;
  ///   ``ReactorError/invalidResource(_:)``; ``ReactorError/cancelled``, as soon as the task is
  ///   cancelled; otherwise the errors of a fetch.
  public func stream(
    for resource: Resource, clock: any Clock<Duration> = ContinuousClock()
  ) async throws(ReactorError) -> Stream {
    var request = try request(for: resource)
    guard let transport = transport as? any StreamingTransport else { throw .streamingUnsupported }
    let failed = FailedRequest(request)
    let failure: @Sendable (any Error) -> ReactorError = { error in
      failed.attached(to: ReactorError(Refreshing.redacted(error), wrap: ReactorError.network))
    }
    do {
      let form: EncodedForm? = if let form = resource.form { try await EncodedForm.encoding(form) } else { nil }
      if let form { request.headerFields[.contentType] = form.contentType }
      let deadline = resource.timeout.flatMap { $0 > .zero ? $0 : nil } ?? .never
      let stream = try await withDeadline(deadline, clock) { [request] in
        try await opened(request, body: form?.body ?? resource.body, over: transport, clock)
      }
      return Stream(response: stream.response, url: stream.url, body: stream.body.mappingErrors(failure))
    } catch {
      throw failure(error)
    }
  }

  private func opened(
    _ request: HTTPRequest, body: Data?, over transport: any StreamingTransport, _ clock: any Clock<Duration>
  ) async throws -> Stream {
    let (aside, trail) = (BodyAside(), RedirectTrail())
    let (response, data) = try await exchange(request, body: body, trail: trail) { request, body in
      aside.put(nil)
      let (response, body) = try await transport.stream(request, body: body)
      guard response.status.kind == .successful else {
        return (response, try await body.prefix(64 << 10, within: .seconds(10), on: clock))
      }
      aside.put(body)
      return (response, Data())
    }
    guard response.status.kind == .successful else { throw ReactorError.server(response, body: data) }
    // A middleware may have answered by itself.
    let whole = data.isEmpty ? nil : ResponseBody(data)
    return Stream(
      response: response, url: trail.latestHops.last?.request.url ?? request.url ?? baseURL,
      body: whole ?? aside.take() ?? ResponseBody(data))
  }
}

/// The body of the latest call of the transport, while its head passes the middlewares.
private final class BodyAside: Sendable {
  private let body = Mutex<ResponseBody?>(nil)

  /// Replaces the body. The exchange of the earlier one ends.
  func put(_ new: ResponseBody?) {
    // Released without the lock, since the release ends an exchange.
    let old = body.withLock { body in
      defer { body = new }
      return body
    }
    withExtendedLifetime(old) {}
  }

  func take() -> ResponseBody? { body.withLock { $0.take() } }
}
