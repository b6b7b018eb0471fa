import HTTPTypes

@testable import HTTPCaching
@testable import ReactorCore

/// The states of a copy, by name: the columns of the policy table.
enum CopyAtHand: String, Sendable, CaseIterable {
  case none, fresh, stale, withinStaleIfError, mayNotStandIn, withinStaleWhileRevalidate

  var status: CopyStatus? {
    switch self {
    case .none: nil
    case .fresh:
      CopyStatus(isFresh: true, allowsStale: true, isWithinStaleWhileRevalidate: true, isWithinStaleIfError: true)
    case .stale: Self.outdated()
    case .withinStaleIfError: Self.outdated(isWithinStaleIfError: true)
    case .mayNotStandIn:
      Self.outdated(allowsStale: false, isWithinStaleWhileRevalidate: true, isWithinStaleIfError: true)
    case .withinStaleWhileRevalidate: Self.outdated(isWithinStaleWhileRevalidate: true)
    }
  }

  private static func outdated(
    allowsStale: Bool = true, isWithinStaleWhileRevalidate: Bool = false, isWithinStaleIfError: Bool = false
  ) -> CopyStatus {
    CopyStatus(
      isFresh: false, allowsStale: allowsStale, isWithinStaleWhileRevalidate: isWithinStaleWhileRevalidate,
      isWithinStaleIfError: isWithinStaleIfError)
  }
}

extension FlightMachine.Action {
  /// One word, with the waiter's number where there is one.
  var text: String {
    switch self {
    case .load: "load"
    case .request: "request"
    case .use(let waiter): "use \(waiter.id)"
    case .useStale(let waiter): "use stale \(waiter.id)"
    case .fail(let waiter, let error): "fail \(waiter.id) \(error.reason)"
    case .end: "end"
    }
  }
}

/// A flight to which things happen, seen as words.
struct FlightProbe {
  var flight = FlightMachine(id: 1)
  /// The present state of the key's copy.
  var copy = CopyAtHand.none

  mutating func join(
    _ id: UInt64, _ policy: FetchPolicy, _ kind: FlightMachine.Waiter.Kind = .caller
  ) -> [String] {
    let copy = copy.status
    return flight.join(FlightMachine.Waiter(id: id, kind: kind, resource: "notes", policy: policy)) { _ in copy }.map(
      \.text)
  }

  mutating func leave(_ id: UInt64) -> [String] { flight.leave(id).map(\.text) }

  mutating func loaded(_ copy: CopyAtHand) -> [String] {
    self.copy = copy
    return flight.loaded { _ in copy.status }.map(\.text)
  }

  mutating func succeeded() -> [String] {
    copy = .fresh
    return flight.succeeded().map(\.text)
  }

  mutating func failed(_ error: ReactorError = .timedOut) -> [String] {
    let copy = copy.status
    return flight.failed(error) { _ in copy }.map(\.text)
  }

  mutating func waitedEnough(_ id: UInt64) -> [String] {
    let copy = copy.status
    return flight.waitedEnough(id) { _ in copy }.map(\.text)
  }

  mutating func unreachable() -> [String] {
    let copy = copy.status
    return flight.unreachable { _ in copy }.map(\.text)
  }

  mutating func reconnected() -> [String] { flight.reconnected().map(\.text) }

  mutating func restarted(id: UInt64) -> [String] {
    let copy = copy.status
    let (flight, actions) = flight.restarted(id: id) { _ in copy }
    self.flight = flight
    return actions.map(\.text)
  }

  var waiters: [UInt64] { flight.waiters.inOrder.map(\.id) }
}
