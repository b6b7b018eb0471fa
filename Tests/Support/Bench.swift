public import Foundation
public import ReactorCore
public import ReactorTesting
import Testing

/// A layer on scripted parts: time moves when the test moves it, and the network answers as the
/// test says.
public final class Bench: Sendable {
  public let clock: TestClock
  public let transport: ScriptedTransport
  public let reachability: ScriptedReachability
  public let power: ScriptedPowerSaving
  public let persistence: (any Persistence)?
  public let layer: ModelLayer
  public let log: EventRecorder
  public let notes: Reactor<Note>

  /// - Parameters:
  ///   - exceptions: what the test does that the rules of an ``EventRecorder`` do not know.
  ///   - configure: changes the configuration. Defaults: no eviction, no retries, and no memory of
  ///     outages.
  public init(
    persistence: (any Persistence)? = MemoryPersistence(), clock: TestClock = TestClock(),
    transport: ScriptedTransport = ScriptedTransport(), scope: Scope = .shared,
    except exceptions: Set<EventRecorder.Exception> = [], configure: (inout ReactorConfiguration) -> Void = { _ in }
  ) {
    power = ScriptedPowerSaving()
    var configuration = ReactorConfiguration()
    configuration.clock = clock
    configuration.now = clock.wallClock
    configuration.keepUnusedFor = .never
    configuration.lowPower.source = power
    configuration.retry = .never
    configuration.remembersOutages = false
    configure(&configuration)
    self.clock = clock
    self.transport = transport
    self.persistence = persistence
    reachability = ScriptedReachability(true)
    layer = ModelLayer(
      baseURL: Self.url, transport: transport, persistence: persistence, reachability: reachability, scope: scope,
      configuration: configuration)
    log = EventRecorder(layer, except: exceptions)
    notes = layer.reactor()
  }

  /// No loopback host, so that reachability counts.
  public static let url = URL(string: "https://api.example.com/v1") ?? URL(filePath: "/")

  /// Another layer over the same disk, server and time: the program started again.
  public func restarted(configure: (inout ReactorConfiguration) -> Void = { _ in }) -> Bench {
    Bench(persistence: persistence, clock: clock, transport: transport, configure: configure)
  }
}

extension Bench {
  /// Everything that still waits: empty at the end of a test.
  public var stillWaiting: [String] {
    var waiting: [String] = []
    if transport.inFlight > 0 { waiting.append("\(transport.inFlight) requests") }
    if clock.sleeperCount > 0 { waiting.append("\(clock.sleeperCount) sleepers") }
    return waiting
  }

  /// Returns once nothing is under way, as the end of a test proves.
  public func waitUntilNothingWaits() async throws {
    try await transport.waitUntilIdle()
    try await clock.waitUntilNobodySleeps()
    try await reachability.waitUntilNobodyListens()
    try await power.waitUntilNobodyListens()
  }
}
