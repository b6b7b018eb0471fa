/// The behaviour of the API: a switch and a dial of the demonstration.
public struct Dials: Codable, Hashable, Sendable {
  public var outage: Bool
  /// In milliseconds.
  public var latency: Int

  /// New positions of some dials. A dial whose value is `nil` stays as it is, so that two windows
  /// can each turn one.
  public struct Change: Codable, Hashable, Sendable {
    public var outage: Bool?
    public var latency: Int?

    public init(outage: Bool? = nil, latency: Int? = nil) {
      self.outage = outage
      self.latency = latency
    }
  }
}
