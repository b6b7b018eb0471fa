public import Foundation
public import HTTPTypes
public import ReactorCore
import Synchronization

/// A transport that returns scripted answers, and records the requests.
///
/// ```swift
/// let transport = ScriptedTransport()
/// // The answers are used in order, and the last one repeats.
/// transport.answer("/articles", with: .json("[1]"), .response(.notModified))
/// ```
///
/// It behaves like a real transport: calls run concurrently, report progress, and end at once with
/// `CancellationError` when their task is cancelled.
public final class ScriptedTransport: Transport {
  /// A closure that answers a request and its body. The call throws the errors of the closure.
  public typealias Handler = @Sendable (HTTPRequest, Data?) async throws -> Answer

  /// A request as it was received.
  public struct Received: Sendable {
    /// The request, with all its header fields.
    public let request: HTTPRequest
    /// The body; `nil` if the request had no body.
    public let body: Data?
    /// The path, with the query.
    public var path: String { request.path ?? "" }
  }

  fileprivate struct State {
    var scripts = Scripts<Answer>()
    var requests: [Received] = []
    var inFlight = 0
    var maximumInFlight = 0
  }

  private let state = Mutex(State())
  private let arrivals = Tally()
  let cancellations = Tally()
  /// Counts down with each request, and up with its end.
  private let ended = Tally()
  private let handler: Handler?

  /// Creates a transport with the answers of ``answer(_:with:)``. It throws ``Unscripted`` for all
  /// other requests.
  public init() { handler = nil }

  /// Creates a transport that passes every request to `handler`, unless its path is scripted.
  ///
  /// ```swift
  /// let transport = ScriptedTransport { request, _ in .json("[]") }
  /// ```
  public init(handler: @escaping Handler) { self.handler = handler }

  /// Sets the answers to requests of `path`. They are used in order, and the last one repeats.
  ///
  /// ```swift
  /// transport.answer("/articles?page=2", with: .json("[2]"))
  /// ```
  ///
  /// - Parameters:
  ///   - path: The path as in the request. With a query, it matches only that query and takes
  ///     precedence. Without one, it matches any query.
  ///   - answers: The answers, which replace earlier ones.
  public func answer(_ path: String, with answers: Answer...) {
    state.withLock { $0.scripts[path] = answers }
  }

  /// Sets the answers to the pages of a list. Each links to the next in its `Link` field, and to
  /// the previous.
  ///
  /// ```swift
  /// transport.answer("/v1/stories", withPages: .json("[1, 2]"), .json("[3]"))
  /// ```
  ///
  /// The first page answers `path`, also with any other query. The others have the query item
  /// `page`, from 2.
  ///
  /// - Parameters:
  ///   - path: The path as in the request.
  ///   - pages: The answers, in the order of the pages. Each repeats.
  public func answer(_ path: String, withPages pages: Answer...) {
    state.withLock { state in
      for page in PageTarget.pages(of: path, count: pages.count) {
        let answer = page.links.reduce(pages[page.index]) { $0.link($1.target, rel: $1.relation) }
        state.scripts[page.target] = [answer]
      }
    }
  }

  /// The received requests, in order.
  ///
  /// ```swift
  /// #expect(transport.requests.map(\.path) == ["/articles"])
  /// ```
  public var requests: [Received] { state.withLock { $0.requests } }
  /// The number of received requests.
  public var requestCount: Int { state.withLock { $0.requests.count } }
  /// The number of requests in flight.
  public var inFlight: Int { state.withLock { $0.inFlight } }
  /// The maximum number of requests that were in flight at the same time.
  ///
  /// ```swift
  /// #expect(transport.maximumInFlight == 1)  // the callers shared one request
  /// ```
  public var maximumInFlight: Int { state.withLock { $0.maximumInFlight } }
  /// The number of requests that were cancelled before they were answered.
  public var cancellationCount: Int { cancellations.value }

  /// Returns once `count` requests were received, counted from the beginning.
  ///
  /// ```swift
  /// try await transport.waitForRequests(count: 2)
  /// ```
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  public func waitForRequests(count: Int = 1) async throws { try await arrivals.wait(for: count) }

  /// Returns once `count` requests were cancelled, counted from the beginning.
  ///
  /// ```swift
  /// let screen = Task { try await stories.fetch("stories") }
  /// try await transport.waitForRequests()
  /// screen.cancel()
  /// try await transport.waitForCancellations()
  /// ```
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  public func waitForCancellations(count: Int = 1) async throws { try await cancellations.wait(for: count) }

  /// Returns once no request is in flight.
  ///
  /// ```swift
  /// task.cancel()
  /// try await transport.waitUntilIdle()
  /// ```
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  public func waitUntilIdle() async throws { try await ended.wait(for: 0) }

  /// Answers the request with its scripted answer, or with the handler's.
  ///
  /// - Throws: The error of the answer or of the handler; ``Unscripted``, if there is no answer;
  ///   `CancellationError`, as soon as the task is cancelled.
  public func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    let scripted = receive(request, body)
    defer { release() }
    return try await withTaskCancellationHandler {
      let answer = if let scripted { scripted } else { try await unscripted(request, body) }
      try await pass(answer)
      progress(TransferProgress(stage: .waiting, sent: Int64(body?.count ?? 0), toSend: Int64(body?.count ?? 0)))
      return try await deliver(answer, sent: body, progress: progress)
    } onCancel: {
      cancellations.add(1)
    }
  }

  /// Records the request, which is in flight until ``release()``, and returns its scripted answer.
  func receive(_ request: HTTPRequest, _ body: Data?) -> Answer? {
    let scripted = state.withLock { $0.receive(Received(request: request, body: body)) }
    ended.add(-1)
    arrivals.add(1)
    return scripted
  }

  /// Records that a request is no longer in flight.
  func release() {
    state.withLock { $0.inFlight -= 1 }
    ended.add(1)
  }

  func unscripted(_ request: HTTPRequest, _ body: Data?) async throws -> Answer {
    guard let handler else { throw Unscripted(method: request.method, path: request.path ?? "") }
    return try await handler(request, body)
  }

  /// Waits at the answer's gate, then for its delay.
  func pass(_ answer: Answer) async throws {
    if answer.ignoresCancellation {
      await answer.gate?.waitIgnoringCancellation()
      // Cancellation ends the delay early.
      try? await answer.delay?.pass()
    } else {
      try await answer.gate?.wait()
      try Task.checkCancellation()
      try await answer.delay?.pass()
    }
  }

  private func deliver(
    _ answer: Answer, sent: Data?, progress: @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    switch answer.outcome {
    case .failure(let error): throw error
    case .stream(let response, let body): return (response, try await whole(body))
    case .response(let response, let body):
      var transfer = TransferProgress(
        sent: Int64(sent?.count ?? 0), toSend: Int64(sent?.count ?? 0), expected: Int64(body.count))
      progress(transfer)
      try await answer.bodyDelay?.pass()
      let cut = answer.cut.map { min(max($0, 0), body.count) }
      transfer.received = Int64(cut ?? body.count)
      progress(transfer)
      if let cut {
        throw TransportError.connectionFailed("the scripted body was cut after \(cut) of \(body.count) bytes")
      }
      return (response, body)
    }
  }

  /// Returns all bytes of a body that is sent piece by piece, once it has ended.
  private func whole(_ body: ScriptedBody) async throws -> Data {
    var (data, index) = (Data(), 0)
    while true {
      switch try await body.event(at: index) {
      case .piece(let piece): data.append(piece)
      case .end: return data
      case .loss: throw TransportError.connectionFailed("the scripted body was cut after \(data.count) bytes")
      }
      index += 1
    }
  }
}

extension ScriptedTransport.State {
  /// Records the request, and returns the scripted answer to it.
  fileprivate mutating func receive(_ received: ScriptedTransport.Received) -> ScriptedTransport.Answer? {
    requests.append(received)
    inFlight += 1
    maximumInFlight = max(maximumInFlight, inFlight)
    return scripts.next(for: received.path)
  }
}
