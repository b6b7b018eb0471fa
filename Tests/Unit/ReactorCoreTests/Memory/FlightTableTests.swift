import Testing

@testable import ReactorCore

/// A single waiter, from joining to its end: each policy with each copy, for each kind of waiter
/// and each answer.
@Suite struct `A waiter alone` {
  enum Network: Sendable { case answers, fails, isUnreachable }

  struct Case: Sendable, CustomTestStringConvertible {
    let policy: FetchPolicy
    let copy: CopyAtHand
    let kind: FlightMachine.Waiter.Kind
    let network: Network
    let trace: String
    var testDescription: String { "\(policy), \(copy), \(kind), network \(network): \(trace)" }
  }

  @Test(arguments: cases) func `a single waiter follows its policy`(`case`: Case) {
    #expect(Self.run(`case`) == `case`.trace)
  }

  /// Performs what the flight asks for, and spells it; the copy is on disk, not in memory.
  private static func run(_ `case`: Case) -> String {
    var probe = FlightProbe()
    var trace: [String] = []
    var pending = probe.join(0, `case`.policy, `case`.kind)
    while !pending.isEmpty {
      let action = pending.removeFirst()
      trace.append(String(action.prefix { $0 != " " }))
      switch action {
      case "load": pending += probe.loaded(`case`.copy)
      case "request":
        switch `case`.network {
        case .answers: pending += probe.succeeded()
        case .fails: pending += probe.failed()
        case .isUnreachable: pending += probe.unreachable()
        }
      default: break
      }
    }
    if probe.flight.isPaused { trace.append("paused") }
    return trace.joined(separator: " ")
  }

  private static let ask = "load request use end"
  private static let askAndFail = "load request fail end"
  private static let askAndPause = "load request paused"
  private static let use = "load use end"

  /// In the order of ``CopyAtHand``: none, fresh, stale, within stale-if-error, may not stand in,
  /// within stale-while-revalidate.
  private static let rows: [(FetchPolicy, [FlightMachine.Waiter.Kind], Network, [String])] = [
    (.cacheFirst, [.caller, .stream], .answers, [ask, use, ask, ask, ask, "load use request use end"]),
    (.cacheFirst, [.background], .answers, [ask, use, ask, ask, ask, ask]),
    (
      .cacheFirst, [.caller, .stream], .fails,
      [askAndFail, use, askAndFail, "load request use end", askAndFail, "load use request fail end"]
    ),
    (
      .cacheFirst, [.background], .fails,
      [askAndFail, use, askAndFail, "load request use end", askAndFail, askAndFail]
    ),
    (
      .cacheFirst, [.caller], .isUnreachable,
      [askAndFail, use, askAndFail, "load request use end", askAndFail, "load use request fail end"]
    ),
    (
      .cacheFirst, [.stream], .isUnreachable,
      [askAndPause, use, askAndPause, "load request use paused", askAndPause, "load use request paused"]
    ),
    (
      .cacheFirst, [.background], .isUnreachable,
      [askAndFail, use, askAndFail, "load request use end", askAndFail, askAndFail]
    ),
    (.networkOnly, allKinds, .answers, everywhere("request use end")),
    (.networkOnly, allKinds, .fails, everywhere("request fail end")),
    (.networkOnly, [.caller, .background], .isUnreachable, everywhere("request fail end")),
    (.networkOnly, [.stream], .isUnreachable, everywhere("request paused")),
    (.networkFirst, allKinds, .answers, everywhere("request use end")),
    (.networkFirst, allKinds, .fails, standIn),
    (.networkFirst, [.caller, .background], .isUnreachable, standIn),
    (
      .networkFirst, [.stream], .isUnreachable,
      ["request load paused"] + Array(repeating: "request load use paused", count: 3)
        + ["request load paused", "request load use paused"]
    ),
    (.cacheOnly, allKinds, .answers, ["load fail end"] + Array(repeating: use, count: 5)),
    (.cacheOnly, allKinds, .fails, ["load fail end"] + Array(repeating: use, count: 5)),
    (.cacheOnly, allKinds, .isUnreachable, ["load fail end"] + Array(repeating: use, count: 5)),
    (.staleWhileRevalidate, [.caller, .stream], .answers, revalidated("use end", asked: ask)),
    (.staleWhileRevalidate, [.caller, .stream], .fails, revalidated("fail end", asked: askAndFail)),
    (.staleWhileRevalidate, [.caller], .isUnreachable, revalidated("fail end", asked: askAndFail)),
    (.staleWhileRevalidate, [.stream], .isUnreachable, revalidated("paused", asked: askAndPause)),
    (.staleWhileRevalidate, [.background], .answers, [ask, use, ask, ask, ask, ask]),
    (
      .staleWhileRevalidate, [.background], .fails,
      [askAndFail, use, askAndFail, askAndFail, askAndFail, askAndFail]
    ),
    (
      .staleWhileRevalidate, [.background], .isUnreachable,
      [askAndFail, use, askAndFail, askAndFail, askAndFail, askAndFail]
    ),
  ]

  private static let allKinds: [FlightMachine.Waiter.Kind] = [.caller, .stream, .background]
  private static let standIn =
    ["request load fail end"] + Array(repeating: "request load use end", count: 3)
    + ["request load fail end", "request load use end"]

  private static func everywhere(_ trace: String) -> [String] {
    Array(repeating: trace, count: CopyAtHand.allCases.count)
  }

  /// A copy that may be shown is shown, and the network is asked behind it.
  private static func revalidated(_ end: String, asked: String) -> [String] {
    let shown = "load use request \(end)"
    return [asked, use, shown, shown, asked, shown]
  }

  static let cases = rows.flatMap { policy, kinds, network, traces in
    kinds.flatMap { kind in
      zip(CopyAtHand.allCases, traces).map {
        Case(policy: policy, copy: $0, kind: kind, network: network, trace: $1)
      }
    }
  }

  @Test func `a single waiter is tested in every cell of the table`() {
    let cells: [String] = Self.cases.map { "\($0.policy) \($0.copy) \($0.kind) \($0.network)" }
    #expect(Set(cells).count == 270)
  }
}
