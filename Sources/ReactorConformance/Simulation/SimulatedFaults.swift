/// The faults of a simulated world: probabilities from 0 to 1, and maximum latencies.
///
/// ```swift
/// var faults = SimulatedFaults.none
/// faults.responseLoss = 0.2  // one response in five is lost
/// world.currentFaults = faults
/// ```
public struct SimulatedFaults: Sendable, Hashable {
  /// The maximum latency of each direction of an exchange. Default: 300 ms.
  public var latency: Duration = .milliseconds(300)
  /// The probability that a request is lost. Default: 0.
  public var requestLoss = 0.0
  /// The probability that a response is lost after the server has processed the request. Default:
  /// 0.
  public var responseLoss = 0.0
  /// The probability that the body of a response is cut, without an error. Default: 0.
  public var bodyCut = 0.0
  /// The probability that a server answers 503 without processing the request. Default: 0.
  public var serverError = 0.0
  /// The probability, each second, that the network goes down for a while. Default: 0.
  public var outage = 0.0
  /// The probability, each second, that the wall clock is set back or ahead, by up to
  /// ``clockStep``. Default: 0.
  public var clockChange = 0.0
  /// The maximum change of the wall clock. Default: an hour.
  public var clockStep: Duration = .seconds(3_600)
  /// The maximum latency of each call of the disk. Default: 5 ms.
  public var diskLatency: Duration = .milliseconds(5)
  /// The probability that a load fails. Default: 0.
  public var loadFailure = 0.0
  /// The probability that a save or a removal fails, with or without taking effect. Default: 0.
  public var saveFailure = 0.0

  /// Creates faults with the default latencies and without failures.
  public init() {}

  /// The default latencies without failures.
  public static let none = SimulatedFaults()

  /// Returns random faults. About half of the probabilities are zero; the others are at most 0.3.
  public static func drawn(from draws: SeededDraws) -> SimulatedFaults {
    let rates = [0, 0, 0, 0.02, 0.1, 0.3]
    func rate() -> Double { draws.element(of: rates) ?? 0 }
    var faults = SimulatedFaults()
    faults.latency = .milliseconds(draws.element(of: [1, 50, 300, 3_000]) ?? 0)
    faults.requestLoss = rate()
    faults.responseLoss = rate()
    faults.serverError = rate()
    faults.bodyCut = rate()
    faults.outage = rate()
    faults.diskLatency = .milliseconds(draws.element(of: [0, 1, 5, 400]) ?? 0)
    faults.loadFailure = rate()
    faults.saveFailure = rate()
    faults.clockChange = draws.element(of: [0, 0, 0.02, 0.1]) ?? 0
    faults.clockStep = .seconds(draws.element(of: [2, 60, 3_600, 86_400 * 400]) ?? 0)
    return faults
  }
}
