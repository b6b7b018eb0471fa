/// How the API behaves: a switch and a dial of the demonstration.
public struct Dials: Codable, Hashable, Sendable {
  public var outage: Bool
  /// In milliseconds.
  public var latency: Int

  public init(outage: Bool, latency: Int) {
    self.outage = outage
    self.latency = latency
  }
}
