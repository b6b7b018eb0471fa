/// What goes wrong in a simulated world, as probabilities in 0…1, and how long things take at most.
public struct SimulatedFaults: Sendable, Hashable {
  /// Of each way of an exchange. Default: 300 ms.
  public var latency: Duration = .milliseconds(300)
  /// That a request does not arrive.
  public var requestLoss = 0.0
  /// That a response does not, after the server has done what was asked.
  public var responseLoss = 0.0
  /// That a response's body ends in the midst, as if it were whole.
  public var bodyCut = 0.0
  /// That a server answers 503 and does nothing.
  public var serverError = 0.0
  /// That the network is gone for a while, each second.
  public var outage = 0.0
  /// That somebody sets the wall clock, each second: back or ahead, by up to ``clockStep``. Default: never.
  public var clockChange = 0.0
  /// Default: an hour.
  public var clockStep: Duration = .seconds(3_600)
  /// Of each call of the disk. Default: 5 ms.
  public var diskLatency: Duration = .milliseconds(5)
  /// That a load fails.
  public var loadFailure = 0.0
  /// That a save or a removal fails, having done nothing or all of it.
  public var saveFailure = 0.0

  public init() {}

  /// Nothing goes wrong; what takes time still takes it.
  public static let none = SimulatedFaults()

  /// A world in which some of it goes wrong, and often little.
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
