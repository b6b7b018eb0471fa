public import Foundation
public import HTTPTypes
public import ReactorCore
import Synchronization

/// A transport that answers as the test says, and records what it was asked.
///
/// ```swift
/// let transport = ScriptedTransport()
/// transport.answer("/articles", with: .json("[1]"), .response(.notModified))   // in this order, the last one for good
/// ```
///
/// It behaves as a real one does: it is called concurrently, reports progress, and ends at once with `CancellationError` when its
/// task is cancelled.
public final class ScriptedTransport: Transport {
  public typealias Handler = @Sendable (HTTPRequest, Data?) async throws -> Answer

  /// A request as it was received.
  public struct Received: Sendable {
    public let request: HTTPRequest
    public let body: Data?
    /// With the query.
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
  private let cancellations = Tally()
  /// Counts down with each request, and up with its end.
  private let ended = Tally()
  private let handler: Handler?

  /// A transport that answers what ``answer(_:with:)`` scripts, and throws ``Unscripted`` for the rest.
  public init() { handler = nil }

  /// A transport that gives every request to `handler`, unless its path is scripted.
  public init(handler: @escaping Handler) { self.handler = handler }

  /// Sets what requests of `path` get: the answers in their order, the last one from then on.
  ///
  /// - Parameter path: as in the request. With a query it stands for that query alone and goes first; without, for all.
  public func answer(_ path: String, with answers: Answer...) {
    state.withLock { $0.scripts[path] = answers }
  }

  /// The requests received, in order.
  public var requests: [Received] { state.withLock { $0.requests } }
  /// How many requests were received.
  public var requestCount: Int { state.withLock { $0.requests.count } }
  /// How many are unanswered now.
  public var inFlight: Int { state.withLock { $0.inFlight } }
  /// How many were unanswered at once, at most.
  public var maximumInFlight: Int { state.withLock { $0.maximumInFlight } }
  /// How many were cancelled before they were answered.
  public var cancellationCount: Int { cancellations.value }

  /// Returns once `count` requests were received, counted from the beginning.
  ///
  /// - Throws: `CancellationError`, at once when the task is cancelled.
  public func waitForRequests(count: Int = 1) async throws { try await arrivals.wait(for: count) }

  /// Returns once `count` requests were cancelled, counted from the beginning.
  ///
  /// - Throws: `CancellationError`, at once when the task is cancelled.
  public func waitForCancellations(count: Int = 1) async throws { try await cancellations.wait(for: count) }

  /// Returns once no request is unanswered: at once where none is.
  ///
  /// - Throws: `CancellationError`, at once when the task is cancelled.
  public func waitUntilIdle() async throws { try await ended.wait(for: 0) }

  public func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    let scripted = state.withLock { $0.receive(Received(request: request, body: body)) }
    ended.add(-1)
    arrivals.add(1)
    defer {
      state.withLock { $0.inFlight -= 1 }
      ended.add(1)
    }
    return try await withTaskCancellationHandler {
      let answer = if let scripted { scripted } else { try await unscripted(request, body) }
      try await pass(answer)
      progress(TransferProgress(stage: .waiting, sent: Int64(body?.count ?? 0), toSend: Int64(body?.count ?? 0)))
      return try await deliver(answer, sent: body, progress: progress)
    } onCancel: {
      cancellations.add(1)
    }
  }

  private func unscripted(_ request: HTTPRequest, _ body: Data?) async throws -> Answer {
    guard let handler else { throw Unscripted(method: request.method, path: request.path ?? "") }
    return try await handler(request, body)
  }

  /// Waits at the answer's gate, and for its delay.
  private func pass(_ answer: Answer) async throws {
    if answer.ignoresCancellation {
      await answer.gate?.waitIgnoringCancellation()
      // Cut short where it is cancelled.
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
    case .response(let response, let body):
      var transfer = TransferProgress(
        sent: Int64(sent?.count ?? 0), toSend: Int64(sent?.count ?? 0), expected: Int64(body.count))
      progress(transfer)
      try await answer.bodyDelay?.pass()
      let cut = answer.cut.map { min(max($0, 0), body.count) }
      transfer.received = Int64(cut ?? body.count)
      progress(transfer)
      if let cut { throw TransportError.connectionFailed("cut after \(cut) of \(body.count) bytes") }
      return (response, body)
    }
  }
}

extension ScriptedTransport.State {
  /// Records the request and takes what is scripted for it.
  fileprivate mutating func receive(_ received: ScriptedTransport.Received) -> ScriptedTransport.Answer? {
    requests.append(received)
    inFlight += 1
    maximumInFlight = max(maximumInFlight, inFlight)
    return scripts.next(for: received.path)
  }
}
