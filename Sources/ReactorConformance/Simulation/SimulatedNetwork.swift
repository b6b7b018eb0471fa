public import Foundation
public import HTTPTypes
public import ReactorCore
import ReactorTesting
import Synchronization

/// A network with latency, loss, outages, errors and cut bodies, in front of a server that is a
/// function.
///
/// Responses overtake each other as their latencies decide. A cancelled request ends at once. The
/// server has processed it or not, depending on the moment.
public final class SimulatedNetwork: Transport {
  /// A closure that answers a request and its body. It is called for each request that arrives.
  /// Calls never overlap in a simulation, which runs on one thread.
  public typealias Server = @Sendable (HTTPRequest, Data?) -> (HTTPResponse, Data)

  private struct State {
    var server: Server = { _, _ in (HTTPResponse(status: .notFound), Data()) }
    var isDown = false
    var inFlight = 0
  }

  private let state = Mutex(State())
  private let draws: SeededDraws
  private let clock: TestClock
  private let faults: Mutex<SimulatedFaults>

  init(_ draws: SeededDraws, _ clock: TestClock, _ faults: SimulatedFaults) {
    self.draws = draws
    self.clock = clock
    self.faults = Mutex(faults)
  }

  /// Sets the server. Without one, every request gets a 404.
  ///
  /// ```swift
  /// world.network.serve { request, _ in
  ///   (HTTPResponse(status: .ok), Data("[]".utf8))
  /// }
  /// ```
  public func serve(_ server: @escaping Server) { state.withLock { $0.server = server } }

  /// A Boolean value that indicates whether the network is down. Every exchange then fails with
  /// `TransportError.connectionFailed(_:request:)`.
  public var isDown: Bool {
    get { state.withLock { $0.isDown } }
    set { state.withLock { $0.isDown = newValue } }
  }

  /// The number of requests in flight.
  public var inFlight: Int { state.withLock { $0.inFlight } }

  func setFaults(_ new: SimulatedFaults) { faults.withLock { $0 = new } }

  /// Sends the request to the server, with the faults of the world.
  ///
  /// - Throws: `TransportError.connectionFailed(_:request:)` for a loss or an outage;
  ///   `CancellationError`, as soon as the task is cancelled.
  public func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    state.withLock { $0.inFlight += 1 }
    defer { state.withLock { $0.inFlight -= 1 } }
    let faults = faults.withLock(\.self)
    try await travel(faults.latency, faults.requestLoss)
    let server = state.withLock(\.server)
    let (response, data) =
      draws.chance(faults.serverError) ? (HTTPResponse(status: .serviceUnavailable), Data()) : server(request, body)
    let isCut = draws.chance(faults.bodyCut) && data.count > 1
    progress(TransferProgress(received: Int64(data.count / 2), expected: Int64(data.count)))
    try await travel(faults.latency, faults.responseLoss)
    return (response, isCut ? data.prefix(draws.number(in: 1...data.count - 1)) : data)
  }

  private func travel(_ latency: Duration, _ loss: Double) async throws {
    let isLost = draws.chance(loss)
    try await clock.sleep(for: draws.duration(upTo: latency))
    guard !isLost, !isDown else { throw TransportError.connectionFailed("lost in the simulated network") }
  }
}
