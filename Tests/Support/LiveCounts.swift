/// The model of the trials with killed servers and clients.
public struct LiveCount: Codable, Hashable, Sendable {
  public var count: Int
}

/// The resources of the trials with killed servers and clients.
public enum LiveCounts {
  public static let all = 0..<40
  /// The numbers that screens show.
  public static let observed = 0..<8
  /// The numbers that are fetched at times, and lie on disk between.
  public static let unobserved = 8..<40
  /// The group of all of them (RFC 9875).
  public static let group = "counts"

  public static func path(_ number: Int) -> String { "counts/\(number)" }
}
