public import Foundation
public import HTTPCaching
public import HTTPTypes
import Synchronization

extension ModelLayer {
  /// Wraps the work of a layer for traces and metrics: fetches that memory cannot answer, their
  /// requests, and each attempt.
  ///
  /// Set ``ReactorConfiguration/instrument``. Each method runs in the task that does the work,
  /// around it: the work, down to the transport, sees the task-local values that the method binds.
  /// A memory hit calls none of them; ``ModelLayer/statistics`` counts it.
  ///
  /// ReactorObservability has one for swift-log, swift-metrics and swift-distributed-tracing.
  public protocol Instrument: Sendable {
    /// Runs a fetch that memory cannot answer.
    ///
    /// - Parameters:
    ///   - fetch: the fetch.
    ///   - body: the work, to call once. It returns the result.
    func fetch(_ fetch: InstrumentedFetch, _ body: () async -> InstrumentedFetch.Result) async

    /// Runs the request of a flight, on behalf of all that wait for it. A flight that the disk
    /// answers makes no request.
    ///
    /// - Parameters:
    ///   - flight: the flight.
    ///   - body: the work, to call once. It returns the error if there is one.
    func flight(_ flight: InstrumentedFlight, _ body: () async -> ReactorError?) async

    /// Sends one attempt of a request through the middlewares and the transport.
    ///
    /// - Parameters:
    ///   - attempt: the attempt.
    ///   - send: the work, to call once with the attempt's request, or with fields added to it.
    /// - Returns: the result of `send`.
    /// - Throws: the error of `send`.
    func attempt(
      _ attempt: InstrumentedAttempt, _ send: (HTTPRequest) async throws -> (HTTPResponse, Data)
    ) async throws -> (HTTPResponse, Data)

    /// Reports that an outage began or ended; see ``ReactorConfiguration/remembersOutages``. It
    /// must return quickly.
    func stateChanged(_ event: ReactorEvent)
  }

  /// A fetch that memory cannot answer.
  public struct InstrumentedFetch: Sendable {
    /// The key. Its description is the method and the redacted URL.
    public let key: RecordKey
    /// The name of the model's type.
    public let model: String
    /// The policy of the fetch.
    public let policy: FetchPolicy

    /// The result of a fetch.
    public struct Result: Sendable {
      /// The source of the value; `nil` if the fetch has failed.
      public let source: Source?
      /// A Boolean value that indicates whether the value is fresh.
      public let isFresh: Bool
      /// The error; `nil` if it succeeded.
      public let error: ReactorError?
      /// The flight that the fetch has waited for; `nil` if it has waited for none.
      public let flight: InstrumentedFlight?
      /// A Boolean value that indicates whether the flight was under way already.
      public let hasJoined: Bool
    }

    /// The source of a fetch's value.
    @nonexhaustive public enum Source: String, Sendable {
      /// Memory, which another fetch has filled meanwhile.
      case memory
      /// The disk.
      case persistence
      /// A response that another process has shared.
      case fleet
      /// The server.
      case network
      /// A stale value in place of an answer that did not come.
      case standIn = "stand_in"
    }
  }

  /// A flight: the work for one key, which all its callers share.
  public final class InstrumentedFlight: Sendable {
    /// The key. Its description is the method and the redacted URL.
    public let key: RecordKey
    /// The name of the model's type.
    public let model: String
    /// A Boolean value that indicates whether the flight's first request has no waiter.
    public let isInBackground: Bool

    private struct State {
      var parties = 1
      var isAnswered = false
      var isShared = false
      var attachment: (any Sendable)?
    }

    private let state = Mutex(State())

    init(key: RecordKey, model: String, isInBackground: Bool) {
      self.key = key
      self.model = model
      self.isInBackground = isInBackground
    }

    /// The number of fetches and streams that have waited for the flight so far.
    public var parties: Int { state.withLock(\.parties) }
    /// A Boolean value that indicates whether another process's response has answered the flight.
    public var isShared: Bool { state.withLock(\.isShared) }
    /// A value of the instrument's own, such as the context of a span. Any thread may use it.
    public var attachment: (any Sendable)? {
      get { state.withLock(\.attachment) }
      set { state.withLock { $0.attachment = newValue } }
    }

    func join() { state.withLock { $0.parties += 1 } }
    func answer() { state.withLock { $0.isAnswered = true } }
    func share() { state.withLock { $0.isShared = true } }

    /// Returns the source of a value that the flight has brought.
    func source(isFresh: Bool) -> InstrumentedFetch.Source {
      let (isAnswered, isShared) = state.withLock { ($0.isAnswered, $0.isShared) }
      guard !isAnswered else { return isShared ? .fleet : .network }
      return isFresh ? .persistence : .standIn
    }
  }

  /// An attempt of a request.
  public struct InstrumentedAttempt: Sendable {
    /// The key. Its description is the method and the redacted URL.
    public let key: RecordKey
    /// The request, before the middlewares.
    public let request: HTTPRequest
    /// One for the first attempt, two for the first retry.
    public let number: Int
    /// A Boolean value that indicates whether the request has validators.
    public let isConditional: Bool
  }
}
