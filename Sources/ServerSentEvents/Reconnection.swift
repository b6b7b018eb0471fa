package import Foundation
import HTTPTypes
public import ReactorCore

/// The state of an event source between its connections. It decides about the next one, and does no
/// I/O.
package struct Reconnection: Sendable {
  /// The position to continue behind; empty for none.
  package private(set) var lastEventID: String
  /// The failed attempts since the last connection that lived.
  package private(set) var failures = 0
  private let policy: RetryPolicy
  /// The `retry` of the server, within its bounds.
  private var serverDelay: Duration?
  private var hasConnected = false
  /// The events of the present connection.
  private var events = 0

  package init(_ policy: RetryPolicy = .reconnecting, lastEventID: String = "") {
    self.policy = policy
    self.lastEventID = lastEventID
  }

  /// The end of a connection, or of an attempt to make one.
  package enum Outcome: Sendable {
    /// The response was 204.
    case noContent
    /// There was no event stream.
    case refused(EventSourceError)
    /// The stream has ended after `life`, with an error or without.
    case ended(EventSourceError?, life: Duration)
  }

  package enum Decision: Sendable {
    case reconnect(after: Duration)
    case end
    case fail(EventSourceError)
  }

  /// Notes a response with an event stream.
  package mutating func connected() {
    hasConnected = true
    events = 0
  }

  /// Notes an item of the stream.
  package mutating func received(_ item: EventStreamConnection.Item) {
    switch item {
    case .event(let event):
      events += 1
      lastEventID = event.id
    case .position(let id): lastEventID = id
    case .retry(let delay): serverDelay = min(max(delay, .milliseconds(100)), .seconds(600))
    case .life: break
    }
  }

  /// Returns the decision about the next connection.
  ///
  /// - Parameters:
  ///   - now: the wall clock, for a date in `Retry-After`.
  ///   - random: the position of the wait between zero and its ceiling, in 0...1.
  package mutating func decision(after outcome: Outcome, now: Date, random: Double) -> Decision {
    switch outcome {
    case .noContent: return .end
    case .ended(let error, let life):
      if let error, !Self.isOfNetwork(error) { return .fail(error) }
      // A server that accepts and closes at once is asked ever less often. A server that sends an
      // event and closes wants to be polled.
      let isAlive = life >= .seconds(10) || (error == nil && events > 0)
      failures = isAlive ? 0 : failures + 1
      return again(error ?? Self.ended, random)
    case .refused(.notAnEventStream(let type)):
      // After a success, it is the page of a network that wants a sign-in.
      guard hasConnected else { return .fail(.notAnEventStream(contentType: type)) }
      failures += 1
      return again(.notAnEventStream(contentType: type), random, longest: .seconds(300))
    case .refused(.request(.server(let response, let body))):
      return decision(after: response, .request(.server(response, body: body)), now, random)
    case .refused(let error):
      guard case .request(let cause) = error, RetryPolicy.mayPass(.failure(cause)) else { return .fail(error) }
      failures += 1
      return again(error, random)
    }
  }

  private mutating func decision(
    after response: HTTPResponse, _ error: EventSourceError, _ now: Date, _ random: Double
  ) -> Decision {
    switch response.status.code {
    case 410 where !lastEventID.isEmpty:
      // The server has forgotten the position.
      lastEventID = ""
    case 408, 425, 429, 500...599: break
    default: return .fail(error)
    }
    failures += 1
    let asked = RetryPolicy.retryAfter(in: response.headerFields, now: now) ?? .zero
    guard case .reconnect(let delay) = again(error, random) else { return .fail(error) }
    return .reconnect(after: max(min(asked, policy.longestRetryAfter.upToADay), delay))
  }

  private func again(_ error: EventSourceError, _ random: Double, longest: Duration = .zero) -> Decision {
    guard failures < max(policy.attempts, 1) else { return .fail(error) }
    var policy = policy
    policy.firstDelay = serverDelay ?? policy.firstDelay
    policy.longestDelay = max(policy.longestDelay, policy.firstDelay, longest)
    return .reconnect(after: policy.delay(after: max(failures, 1), random: random))
  }

  /// A failure of the network during a stream may pass, whatever it is. Limits of the stream come
  /// again with the same event.
  private static func isOfNetwork(_ error: EventSourceError) -> Bool {
    guard case .request(let cause) = error else { return false }
    if case .cancelled = cause { return false }
    return true
  }

  /// The error of a policy with a limit of attempts, whose server closes the connections.
  private static let ended = EventSourceError.request(
    .network(TransportError.connectionFailed("the server ended the event stream")))
}

extension RetryPolicy {
  /// The policy of ``EventSource``: any number of attempts, 2 seconds at first and up to a minute,
  /// and a `Retry-After` of up to ten minutes.
  ///
  /// The field `retry` of a stream replaces `firstDelay`, within 0.1 seconds and 10 minutes.
  public static let reconnecting: RetryPolicy = {
    var policy = RetryPolicy(attempts: .max, firstDelay: .seconds(2))
    policy.longestDelay = .seconds(60)
    policy.longestRetryAfter = .seconds(600)
    return policy
  }()
}
