import Foundation
import HTTPTypes
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One task of a `URLSession` whose body is read while it arrives.
///
/// It has a session of its own, which it invalidates at its end. In a shared session on Linux, six
/// streams would occupy all connections to a host. The task is never suspended: on Linux,
/// `resume()` would send the request again and repeat the body.
final class URLSessionStream: URLSessionExchange {
  private struct State {
    var task: URLSessionTask?
    /// Retained until the end.
    var owner: URLSessionOwner?
    var isOver = false
    /// A Boolean value that indicates whether a part of the request's body has left.
    var hasSent = false
    var response: HTTPResponse?
    var received = 0
  }

  /// The bytes of a body that may wait to be read.
  private static let maximumUnread = 1 << 20

  private let state: Mutex<State>
  /// The head, as soon as it has arrived.
  private let head = OneShot<Result<HTTPResponse, any Error>>()
  private let method: HTTPRequest.Method
  private let body: UnpacedBody

  private init(_ owner: URLSessionOwner, _ method: HTTPRequest.Method, _ body: UnpacedBody) {
    state = Mutex(State(owner: owner))
    (self.method, self.body) = (method, body)
  }

  /// Sends a request in a session that `owner` owns, and returns the response at its head.
  static func open(
    _ request: HTTPRequest, body: Data?, in owner: URLSessionOwner
  ) async throws -> (HTTPResponse, ResponseBody) {
    let urlRequest = try URLRequest(request, body: body)
    let (body, pieces) = UnpacedBody.make(limit: maximumUnread)
    let stream = URLSessionStream(owner, request.method, body)
    // The session retains the stream until its end.
    body.whenReleased { [weak stream] in stream?.cancel() }
    let response = try await withTaskCancellationHandler {
      stream.start(owner.task(urlRequest, for: stream))
      return try await stream.head.value.get()
    } onCancel: {
      stream.cancel()
    }
    return (response, ResponseBody(pieces))
  }

  private func start(_ task: URLSessionTask) {
    let isOver = state.withLock { state in
      if !state.isOver { state.task = task }
      return state.isOver
    }
    // Resumed in any case: a task that was never resumed stays in its session's registry.
    task.resume()
    if isOver { task.cancelLater() }
  }

  private func cancel() { end(CancellationError()) }

  func connectionLost() { end(URLError(.networkConnectionLost)) }

  func sent(_ count: Int64) { if count > 0 { state.withLock { $0.hasSent = true } } }

  func received(_ response: HTTPResponse) {
    // An interim response; the final one follows (RFC 9110 §15.2).
    guard response.status.kind != .informational else { return }
    guard !response.hasInvalidLength else { return end(URLError(.badServerResponse)) }
    state.withLock { $0.response = response }
    head.settle(.success(response.decoded()))
  }

  func received(_ data: Data) {
    let isOver = state.withLock { state in
      state.received += data.count
      return state.isOver
    }
    guard !isOver else { return }
    do { try body.add(ArraySlice(data)) } catch { end(error) }
  }

  func completed(_ error: (any Error)?, late: HTTPResponse?) {
    let (response, received, hasSent) = state.withLock { ($0.response, $0.received, $0.hasSent) }
    if let error { return end(URLSessionFailure.refined(error, response: response, hasSent: hasSent)) }
    guard let response else {
      guard let late else { return end(URLError(.badServerResponse)) }
      self.received(late)
      return end(nil)
    }
    let isShort = response.announcedLength(of: method).map { received < $0 } ?? false
    end(isShort ? URLError(.networkConnectionLost) : nil)
  }

  /// Ends the exchange, and its session. Only the first call counts.
  private func end(_ error: (any Error)?) {
    let ended = state.withLock { state -> State? in
      guard !state.isOver else { return nil }
      defer { (state.isOver, state.task, state.owner) = (true, nil, nil) }
      return state
    }
    guard let ended else { return }
    let error = error.map(URLSessionFailure.mapped)
    if let error { head.settle(.failure(error)) }
    body.end(error)
    ended.task?.cancelLater(releasing: ended.owner)
  }
}
